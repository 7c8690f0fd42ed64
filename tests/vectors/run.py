"""Holds any program to the vectors: the violating request goes to its stdin, the healed one is expected on its stdout.

    python tests/vectors/run.py --command 'my-healer --format {format}' [--only TEXT] [--strict] [--timeout SECONDS]

Needs nothing but Python. Exit status: 0 all passed, 1 some failed, 2 nothing could be run.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def same(expected: Any, actual: Any, given: str, *, strict: bool) -> bool:
    """Whether the values are equal; without `strict` a text that was put in may be any that is not blank."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        keys = expected.keys() == actual.keys()
        return keys and all(same(expected[key], actual[key], given, strict=strict) for key in expected)
    if isinstance(expected, list) and isinstance(actual, list):
        pairs = zip(expected, actual, strict=False)
        return len(expected) == len(actual) and all(same(left, right, given, strict=strict) for left, right in pairs)
    if type(expected) is not type(actual):
        return False
    if expected == actual:
        return True
    new = isinstance(expected, str) and json.dumps(expected)[1:-1] not in given
    return not strict and new and bool(actual.strip())


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
    return None if same(vector["healed"], healed, given, strict=strict) else f"got {json.dumps(healed)[:300]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--command", required=True, help="the program; {format} and {target} are filled in")
    parser.add_argument("--only", default="", help="only vectors whose path holds this text")
    parser.add_argument("--strict", action="store_true", help="compare the words that were put in, too")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one vector")
    options = parser.parse_args()
    failed = passed = 0
    for path in sorted(HERE.glob("*/*.json")):
        vector = json.loads(path.read_text("utf-8"))
        if "violating" not in vector or options.only not in str(path):
            continue
        wrong = problem(vector, options.command, strict=options.strict, timeout=options.timeout)
        failed, passed = failed + (wrong is not None), passed + (wrong is None)
        if wrong:
            print(f"FAILED {path.parent.name}/{path.stem}: {wrong}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0 if passed else 2


if __name__ == "__main__":
    sys.exit(main())
