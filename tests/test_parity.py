"""The sync and the async skins agree: the same names, the same parameters, the same meaning."""

from __future__ import annotations

import inspect

import pytest

import suture
from suture.agent import AsyncStream, Stream

PAIRS = [(suture.Session, suture.AsyncSession), (suture.Agent, suture.AsyncAgent), (Stream, AsyncStream)]

# Names that only one skin has, each for its reason.
ONE_SIDED = {
    "plain": "the sync session under the async skin",
    "id": "an attribute of the sync session, made when it is",
    "store": "an attribute of the sync session, made when it is",
    "of": "makes the async skin of a sync session",
    "open": "what every method of the sync session does first",
    "append_result": "a step of `append_message`, which the async skin takes apart",
    "drafted": "a step of `append_message`, which the async skin takes apart",
    "recorded_as": "a step of `append_message`, which the async skin takes apart",
    "has_to_catch_up": "what the async skin asks behind each write",
    "is_behind": "what a look at the state asks",
    "know": "what the async skin tells behind each write",
    "last_read": "what the properties of the async skin answer from",
    "last_whole": "what the properties of the async skin answer from",
}


def public(cls: type) -> dict[str, object]:
    return {name: inspect.getattr_static(cls, name) for name in dir(cls) if not name.startswith("_")}


def parameters(function: object) -> list[tuple[str, object, object]]:
    return [
        (one.name, one.kind, one.default)
        for one in inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    ]


@pytest.mark.parametrize(("plain", "skin"), PAIRS, ids=lambda cls: cls.__name__)
def test_the_skins_have_the_same_names(plain: type, skin: type) -> None:
    """Whatever one can do the other can, under the same name."""
    assert {*public(plain)} - {*public(skin)} - ONE_SIDED.keys() == set()
    assert {*public(skin)} - {*public(plain)} - ONE_SIDED.keys() == set()


@pytest.mark.parametrize(("plain", "skin"), PAIRS, ids=lambda cls: cls.__name__)
def test_the_skins_take_the_same_parameters(plain: type, skin: type) -> None:
    """Parameters have the same names, kinds and defaults in the same order; a property is one on both sides."""
    for name, own in public(plain).items():
        other = public(skin).get(name)
        if name in ONE_SIDED or not callable(own):
            assert isinstance(own, property) == isinstance(other, property), name
            continue
        assert parameters(own) == parameters(other), name


def test_what_reads_or_writes_is_awaited() -> None:
    """Every method of the async session is a coroutine; properties answer from what was last read, and `on_message` only
    remembers whom to call.
    """
    for name, member in public(suture.AsyncSession).items():
        if inspect.isfunction(member) and name != "on_message":
            assert inspect.iscoroutinefunction(member), name


@pytest.mark.parametrize("name", ["__iter__", "__len__", "__repr__"])
def test_both_sessions_count_and_iterate(name: str) -> None:
    """`len`, iteration and `repr` work on both."""
    assert all(getattr(cls, name, None) is not getattr(object, name, None) for cls in PAIRS[0])
