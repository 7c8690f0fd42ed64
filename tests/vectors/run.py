"""Holds any program to the vectors: the violating request goes to its stdin, the healed one is expected on its stdout.

    python tests/vectors/run.py --command 'my-healer --format {format}' [--only TEXT] [--strict] [--timeout SECONDS]

Needs nothing but Python. Exit status: 0 all passed, 1 some failed, 2 nothing could be run.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


NOTHING: Any = object()


def read(path: Path) -> dict[str, Any]:
    """The vector of a file, its long texts written out."""
    vector: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return {key: _long(value) for key, value in vector.items()}


def _long(value: Any) -> Any:
    """The value, where `{"$repeat": [TEXT, N]}` is that text N times over."""
    if isinstance(value, dict):
        if value.keys() == {"$repeat"}:
            text, times = value["$repeat"]
            return text * times
        return {key: _long(one) for key, one in value.items()}
    return [_long(one) for one in value] if isinstance(value, list) else value


def differences(expected: Any, actual: Any, given: str, path: str = "", *, strict: bool) -> Iterator[str]:
    """Each place where the values differ, in order, with what was expected there and what came.

    Without `strict` a text that was put in may be any that is not blank.
    """
    if isinstance(expected, dict) and isinstance(actual, dict):
        pairs = [(f".{key}", expected.get(key, NOTHING), actual.get(key, NOTHING)) for key in {**expected, **actual}]
    elif isinstance(expected, list) and isinstance(actual, list):
        longest = range(max(len(expected), len(actual)))
        pairs = [(f"[{at}]", _item(expected, at), _item(actual, at)) for at in longest]
    else:
        new = isinstance(expected, str) and json.dumps(expected)[1:-1] not in given
        is_like_it = not strict and new and isinstance(actual, str) and bool(actual.strip())
        if type(expected) is not type(actual) or (expected != actual and not is_like_it):
            yield f"{path.lstrip('.') or 'all of it'}: expected {_shown(expected)}, got {_shown(actual)}"
        return
    for step, left, right in pairs:
        yield from differences(left, right, given, path + step, strict=strict)


def _item(values: list[Any], at: int) -> Any:
    return values[at] if at < len(values) else NOTHING


def _shown(value: Any) -> str:
    return "nothing" if value is NOTHING else json.dumps(value, ensure_ascii=False)[:200]


def problem(vector: dict[str, Any], command: str, *, strict: bool, timeout: float) -> str | None:
    """Why the program does not heal the vector; None when it does."""
    target = vector.get("target", vector["format"])
    filled = [word.replace("{format}", vector["format"]).replace("{target}", target) for word in shlex.split(command)]
    given = json.dumps(vector["violating"])
    try:
        done = subprocess.run(filled, input=given, capture_output=True, text=True, timeout=timeout, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    try:
        healed = json.loads(done.stdout)
    except ValueError:
        return f"exit {done.returncode}, no JSON on stdout: {(done.stderr or done.stdout).strip()[:200]}"
    return next(differences(vector["healed"], healed, given, strict=strict), None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--command", required=True, help="the program; {format} and {target} are filled in")
    parser.add_argument("--only", default="", help="only vectors whose path holds this text")
    parser.add_argument("--strict", action="store_true", help="compare the words that were put in, too")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one vector")
    options = parser.parse_args()
    program = next(iter(shlex.split(options.command)), "")
    if shutil.which(program) is None:
        print(f"There is no program {program!r}, or it cannot be run. Nothing was tried.")
        return 2
    failed = passed = 0
    for path in sorted(HERE.glob("*/*.json")):
        vector = read(path)
        if "violating" not in vector or options.only not in str(path.relative_to(HERE)):
            continue
        if sys.stderr.isatty():
            print(f"\r\033[K{passed + failed}: {path.parent.name}/{path.stem}", end="", file=sys.stderr, flush=True)
        wrong = problem(vector, options.command, strict=options.strict, timeout=options.timeout)
        failed, passed = failed + (wrong is not None), passed + (wrong is None)
        if wrong:
            print(f"FAILED {path.parent.name}/{path.stem}: {vector['why']}\n    {wrong}")
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0 if passed else 2


if __name__ == "__main__":
    sys.exit(main())
