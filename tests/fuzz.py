"""Heals broken histories of every wire format, one after another, and looks for what must never happen: `make fuzz N=...`.

Each history depends on its number alone, so a finding is repeated with `--start NUMBER --format F` and N=1.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

from suture.canonical import scrub, scrubbed
from suture.errors import SutureError, UnhealableHistory
from suture.formats import FORMATS
from suture.healing import Healed, convert, diagnose, heal, load_messages
from suture.testing.histories import KEYS, broken_history, junk_history, sound_history
from tests.formats.mistral_judge import refusal
from tests.judges import sdk_problems, structural_problems


def findings(format: str, history: list[dict[str, Any]]) -> list[str]:
    """What is wrong with how the history heals."""
    before = copy.deepcopy(history)
    try:
        healed = heal(history, format)
    except UnhealableHistory as error:
        return [f"unhealable: {error}"]
    except Exception as error:  # noqa: BLE001  whatever it is, it is a finding
        return [f"raised {type(error).__name__}: {error}"]
    found = ["the input was changed"] if history != before else []
    found += [f"left: {each}" for each in diagnose(healed.history, format) if each.severity == "REJ" and not each.hint]
    found += [f"no rule is behind a change: {change}" for change in healed.changes if not change.rules]
    again = heal(healed.history, format)
    if again.history is not healed.history:
        found.append(f"healing again changes it: {[str(change) for change in again.changes]}")
    found += [f"a judge refuses it: {problem}" for problem in refused(format, healed.history)]
    return found + lost(history, healed)


def strange_errors(format: str, history: object) -> list[str]:
    """What is raised over a history that may hold anything, other than suture's own errors, and what a healed one leaves."""
    target = "mistral" if format != "mistral" else "anthropic"
    found: list[str] = []

    def healed() -> None:
        once = heal(history, format).history
        left = [each for each in diagnose(once, format) if each.severity == "REJ" and not each.hint]
        if left or heal(once, format).history is not once:
            found.append(f"healed, and not for good: {left}")

    for act in (
        healed,
        lambda: heal(history),
        lambda: diagnose(history, format),
        lambda: load_messages(history, format),
        lambda: convert(history, format, target),
    ):
        try:
            act()
        except SutureError:
            pass
        except Exception as error:  # noqa: BLE001  whatever it is, it is a finding
            found.append(f"raised {type(error).__name__}: {error}")
    return found


def refused(format: str, history: Any) -> list[str]:
    """What judges that share no code with suture refuse."""
    found = structural_problems(format, {KEYS[format]: history})
    if format in ("openai-chat", "anthropic"):
        found += sdk_problems(format, history)
    if format == "mistral" and (problem := refusal(history)) is not None and history:
        found.append(problem)
    return found


def lost(history: object, healed: Healed) -> list[str]:
    """The real results that are neither in the healed history nor in the report."""
    shown = json.dumps([healed.history, [change.detail for change in healed.changes]])
    results = {text for text in texts_of(history) if text.startswith("result ")}
    return [f"a result is gone: {text!r}" for text in sorted(results) if text not in shown]


def texts_of(value: object) -> list[str]:
    """Every text in a JSON value."""
    found: list[str] = []
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, dict):
            stack.extend(one.values())
        elif isinstance(one, list):
            stack.extend(one)
    return found


# What is no words of anybody's: how a message is put together, and what leads back to its provider.
_APPARATUS = frozenset(
    (
        *("type", "role", "id", "tool_call_id", "tool_use_id", "call_id", "toolUseId", "status", "name", "execution"),
        *("mimeType", "mime_type", "media_type", "format", "signature", "thoughtSignature", "thought_signature"),
        *("encrypted_content", "redactedContent"),
    )
)


def unsaid(history: object, other: Healed) -> list[str]:
    """What somebody said, called or showed in a history that is neither in what it became nor in the report."""
    values = [other.history, *[change.detail for change in other.changes]]
    inside = list(_values(values))
    texts = "\n".join(value for value in inside if isinstance(value, str))
    return [
        f"gone without a word: {said!r}"
        for said in _said(history)
        if not (scrub(said).strip() in texts or repr(said)[1:-1] in texts or as_json(said) in inside)
    ]


def _said(value: object) -> Iterator[str]:
    """Every text in a history that says something."""
    if isinstance(value, dict):
        sealed = _APPARATUS | {"data"} if value.get("type") == "redacted_thinking" else _APPARATUS
        for key, item in value.items():
            if key not in sealed:
                yield from _said(item)
    elif isinstance(value, list):
        for item in value:
            yield from _said(item)
    elif isinstance(value, str) and value.strip() not in ("", "null"):
        yield value.partition(";base64,")[2] if value.startswith("data:") else value


def _values(value: object) -> Iterator[object]:
    """Every value in a value, also inside of texts that are JSON themselves."""
    yield value
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _values(item)
    elif isinstance(value, str) and value[:1] in ("{", "[") and (inner := as_json(value)) is not None:
        yield from _values(inner)


def as_json(text: str) -> object:
    """The value of a JSON text; None when it is none."""
    try:
        return scrubbed(json.loads(text))
    except ValueError:
        return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("count", type=int, nargs="?", default=20_000, help="histories of all formats together")
    parser.add_argument("--start", type=int, default=0, help="the number of the first one")
    parser.add_argument("--format", choices=list(FORMATS), help="only this format")
    parser.add_argument("--most", type=int, default=20, help="findings after which to stop")
    options = parser.parse_args()
    formats = [options.format] if options.format else list(FORMATS)
    began, bad, changed = time.monotonic(), 0, Counter[str]()
    for number in range(options.start, options.start + max(1, options.count // len(formats))):
        for format in formats:
            sound = sound_history(format, Random(f"sound {format}:{number}"))
            problems = findings(format, broken_history(format, Random(f"{format}:{number}")))
            if heal(sound, format).history is not sound:
                problems.append(f"a sound history was changed: {heal(sound, format).changes}")
            problems += strange_errors(format, junk_history(format, Random(f"junk {format}:{number}")))
            changed[format] += 1
            for problem in problems:
                bad += 1
                print(f"{format} {number}: {problem}", flush=True)
            if bad >= options.most:
                print("Too many findings; stopped.")
                return 1
        if number % 500 == 499 and sys.stderr.isatty():
            print(f"\r{sum(changed.values())} histories, {bad} findings", end="", file=sys.stderr, flush=True)
    print(f"{sum(changed.values())} histories in {time.monotonic() - began:.0f} s: {bad} findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
