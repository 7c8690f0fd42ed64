"""The page on forks and verifying: what it shows runs, and prints what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parent.parent.parent / "docs" / "how-to" / "fork-and-verify.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SAID = [
    "['Which box for Sarah?', 'The executive box.']",
    "['Which box for Sarah?', 'The small box.']",
    "['ERASED']",
    "True 3 1",
    "True",
]


def test_the_page_does_as_it_says(tmp_path: Path) -> None:
    """Top to bottom in one process in an empty folder."""
    script = tmp_path / "page.py"
    script.write_text("\n".join(BLOCKS), encoding="utf-8")
    done = subprocess.run([sys.executable, "-W", "error", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == SAID
