"""The quickstarts: what they show runs, against a server on loopback, with the vendors' real SDKs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from llmock.scenarios import Reply, ToolCall
from llmock.testing import LLMockServer

import suture
from suture.formats import FORMATS, format_of

DOCS = Path(__file__).parent.parent.parent / "docs"
CALL = {
    "quickstart-openai": ToolCall("weather", {"city": "Bern"}),
    "quickstart-anthropic": ToolCall("refund", {"order": 42, "total": 19.9}),
}
CHECKS = {
    "reference/python": """
assert roles == ["user", "assistant", "tool", "user"]
assert done == [("CALL_UNANSWERED", "messages[1].tool_calls[0]", "none")]
assert healed.changed and healed.format == "openai-chat" and not healed.hints and not healed.refused
assert len(refused) == 1 and suture.refusal(findings[0])
assert sorted(moved.history) == ["messages"]
assert (cause.rule, cause.command, cause.relay) == ("OAI-CALL-UNANSWERED", "suture heal FILE --format openai-chat --in-place", "")
assert "ANT-ADJ-RESULT" in ids
assert (check.status, check.call.name, check.call.arguments) == ("fixed", "refund", {"order": 42})
assert fits[0] == "openai-chat"
""",
    "quickstart-openai": """
assert (result.status, result.text) == ("completed", "It is said."), result
assert "It rains in Bern." in [message.text for message in session.messages]
assert outcome.status == "completed"
""",
    "quickstart-anthropic": """
assert (result.status, len(result.pending)) == ("awaiting_approval", 1), result
assert "refunded 19.9 for order 42" in [message.text for message in session.messages]
assert session.messages[-1].text == other.text == "It is said."
""",
    "come-back-after-a-crash": """
from suture.testing import ScriptedModel

session = suture.Session(suture.open_store("memory:"), "s")
session.add(suture.User.of("Send."))
session.add(suture.Assistant((suture.ToolCall("c1", "send_gift", {"to": "42"}),)))
agent = suture.Agent(ScriptedModel([{"text": "Done."}]), tools=[send_gift], session=session)
assert agent.resume().text == "Done."
assert list(SENT.values()) == ["sent to 42"]
assert found(session.messages[1].calls[0], type("Ctx", (), {"idempotency_key": next(iter(SENT))})) == "sent to 42"
settle_all(session)
assert signal.is_set
""",
    "edit-a-session": """
assert kept == ["Refund order 43.", "Gladly."]
assert (open_ids, discarded) == (["c1", "c2"], ["c1"])
assert [message.text for message in session][-1] == "refunded 19.90"
assert [message.id for message in session][:3] == ["u1", "a1", "a2"]
assert session.orphaned_tool_call_ids() == []
""",
    "check-and-review-calls": """
assert texts == ["The call was not run: over the limit of this user; ask for less", "paid 90.0 with card ****1111"], texts
assert ordered == ["ordered 12 tea"], ordered
""",
}


@pytest.mark.parametrize("page", CHECKS)
def test_the_snippets_of_a_page_run(page: str, tmp_path: Path) -> None:
    """All Python of the page, top to bottom in one process in an empty folder, does what the page says."""
    text = (DOCS / f"{page if '/' in page else f'how-to/{page}'}.md").read_text(encoding="utf-8")
    script = tmp_path / "page.py"
    script.write_text("\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)) + CHECKS[page], encoding="utf-8")
    with LLMockServer() as server:
        if page in CALL:
            server.state.scenarios.add(Reply(tool_calls=(CALL[page],)), Reply(text="It is said.", times=None))
        keys = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY"), "a key")
        urls = {"OPENAI_BASE_URL": server.base_url("openai"), "ANTHROPIC_BASE_URL": server.base_url("anthropic")}
        done = subprocess.run(
            [sys.executable, str(script)],
            cwd=tmp_path, env=os.environ | keys | urls, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "kind", [suture.Healed, suture.Change, suture.Finding, suture.Cause, suture.Rule, suture.CallCheck]
)
def test_the_reference_names_every_field(kind: type[msgspec.Struct]) -> None:
    """What a function returns is on the page, whole."""
    text = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    assert [name for name in kind.__struct_fields__ if f"`{name}`" not in text] == []


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.stem)
def test_the_links_of_the_documentation_lead_somewhere(page: Path) -> None:
    """Each relative link is a file or folder."""
    for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), link


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_the_page_of_a_format_names_its_dialects(format: str) -> None:
    """Each word that may stand behind the colon is on the page; a page for each format."""
    page = (DOCS / "reference" / "formats" / f"{format}.md").read_text(encoding="utf-8")
    assert [word for word in format_of(format).dialects if f"`{word}`" not in page] == []
