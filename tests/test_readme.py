"""The README: what it shows runs, what it names is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_snippets_of_the_readme_run(tmp_path: Path) -> None:
    """All Python of the README, top to bottom in one process in an empty folder, does what its comments say."""
    checks = """
assert [one["role"] for one in healed.history] == ["user", "assistant", "tool", "user"], healed.history
assert [one.code for one in healed.changes] == ["CALL_UNANSWERED"]
assert result.status == "awaiting_approval"
assert session.messages[-1].text == "The gift is on its way."
assert [message.text for message in branch][:1] == ["Send the executive box to customer 42."]
assert session.messages[0].text == "Send the executive box to Sarah."
assert history["messages"][0]["role"] == "user"
assert suture.verify(store, "order-42").ok
assert suture.open_approvals(store) == []
assert pieces == ["You said: hello"]
"""
    script = tmp_path / "readme.py"
    script.write_text("\n".join(BLOCKS) + checks, encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", sorted(set(re.findall(r"^\.venv/bin/suture (\w+)", README, re.MULTILINE))))
def test_the_commands_of_the_readme_exist(command: str) -> None:
    """Each command that the README writes has a help page."""
    done = subprocess.run([sys.executable, "-m", "suture", command, "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_the_error_of_the_readme_is_explained() -> None:
    """The first command says which rule it is, and the command that mends it."""
    error = re.findall(r"suture explain <<'EOF'\n(.*?)^EOF$", README, re.DOTALL | re.MULTILINE)[0]
    done = subprocess.run(
        [sys.executable, "-m", "suture", "explain"], input=error, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout.split()[0]) == (0, "OAI-CALL-UNANSWERED")
    assert "run: suture heal FILE --format openai-chat --in-place" in done.stdout


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`?make (\w+)`?", README))))
def test_the_targets_of_the_readme_exist(target: str) -> None:
    """Each make target that the README names is in the Makefile."""
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(([^)#:]+)\)", README))))
def test_the_links_of_the_readme_lead_somewhere(path: str) -> None:
    """Each relative link is a file or folder."""
    assert (ROOT / path).exists()
