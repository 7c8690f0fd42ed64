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
from random import Random
from typing import Any

from suture.errors import UnhealableHistory
from suture.formats import FORMATS
from suture.healing import Healed, diagnose, heal
from suture.testing.histories import KEYS, broken_history, sound_history
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
