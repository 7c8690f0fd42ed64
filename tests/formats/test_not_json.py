"""Values that are no JSON, wherever they stand in a history of whichever format: a sentence with the place, and no other error."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from suture.errors import NotJson, SutureError
from suture.formats import FORMATS, format_of
from suture.formats.base import Choice, Offer
from suture.healing import convert, diagnose, heal
from suture.testing.histories import KEYS, sound_history

ODD: list[object] = [b"x", float("nan"), float("inf"), {1, 2}, datetime(2026, 1, 1, tzinfo=UTC), Decimal(1), {1: 2}, {None: 1}, {(1,): 1}, object(), 1j]  # fmt: skip
PLAIN: list[object] = [None, True, 7, 1.5, 10**30, "", [], {}, [[]], {"x": {"y": []}}, "cut \ud83d"]
every = pytest.mark.parametrize("format", list(FORMATS))


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a value, with each of its keys or indexes."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


def changed(request: Any, odd: list[object]) -> Iterator[tuple[Any, object]]:
    """The request with an odd value in each of its places, one after another."""
    count = len(list(places(request)))
    for at in range(count):
        for value in odd:
            fresh = copy.deepcopy(request)
            holder, key = list(places(fresh))[at]
            holder[key] = value
            # A type that is a list or an object is met by the reading of mixed histories, which has its own tests.
            if key != "type" or not isinstance(value, list | dict):
                yield fresh, value


def calls(format: str) -> dict[str, Any]:
    """A short request with a call, a result, system text and a tool."""
    form = format_of(format)
    history = next(one for seed in range(99) if "result 0.0" in str(one := sound_history(format, Random(seed), 1)))
    return form.with_choice(
        form.with_offers({KEYS[format]: history}, [Offer("search", "d", {"type": "object"})]), Choice("auto")
    )


def does(format: str) -> list[Callable[[Any], object]]:
    target = "anthropic" if format != "anthropic" else "openai-chat"
    return [lambda one: heal(one, format), lambda one: diagnose(one, format), lambda one: convert(one, format, target)]


@every
def test_no_other_error_comes_out(format: str) -> None:
    """Whatever a value is, an error is one of suture's."""
    for request, value in changed(calls(format), [*ODD, *PLAIN]):
        for do in does(format):
            try:
                do(request)
            except SutureError:
                continue
            except Exception as error:
                raise AssertionError(f"{value!r} in {request}: {error!r}") from error


@every
@pytest.mark.parametrize("value", [odd for odd in ODD if not isinstance(odd, dict)], ids=lambda odd: type(odd).__name__)
def test_it_is_said_where(format: str, value: object) -> None:
    """The error names the place; words are said of what stands in a call as of any other."""
    request = calls(format)
    key = KEYS[format]
    request[key][0]["x"] = {"y": [value]}
    for do in does(format):
        with pytest.raises(NotJson) as caught:
            do(request)
        assert str(caught.value).startswith(f"{key}[0].x.y[0]: ")


@pytest.mark.parametrize(
    ("format", "part"),
    [
        ("gemini", {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"data": b"x"}}}]}),
        ("gemini", {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"data": b"x"}}}]}),
        ("bedrock", {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "f", "input": {"bytes": b"x"}}}]}),
        ("bedrock", {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [{"json": {"bytes": b"x"}}]}}]}),
    ],
)  # fmt: skip
def test_bytes_are_for_media_alone(format: str, part: dict[str, Any]) -> None:
    """An SDK takes pictures as bytes, and what a call or a result holds as JSON."""
    for do in does(format):
        with pytest.raises(NotJson, match="bytes is not JSON"):
            do([part])
