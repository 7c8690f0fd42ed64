"""The page on writing tools: what it shows runs, and does what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parent.parent.parent / "docs" / "how-to" / "write-a-tool.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

CHECKS = """
from suture.messages import ToolCall
from suture.testing import ScriptedModel
from suture.tools import prepare, result_of


def answer(tool, arguments):
    ready = prepare(ToolCall("c", tool.name, arguments), {tool.name: tool})
    return result_of(ready.call, tool.handler(**tool.bind(ready.call.arguments, None))).text


assert answer(find_orders, {"customer": "7"}) == '[{"customer":"7","id":42,"status":"open"}]'
assert find_orders.parameters["properties"]["customer"]["description"] == "The customer's number."
assert find_orders.parameters["properties"]["status"]["description"] == "Which of them."
assert answer(send_gift, {"to": "7", "total": 5}) == "sent to 7"
assert answer(weather, {"city": "Bern"}) == answer(by_hand, {"city": "Bern"}) == "It rains in Bern."
assert (answer(search, {"words": "30 days"}), search.name, search.description) == ('["Returns"]', "search", "Search the handbook.")
assert (close_ticket.name, close_ticket.description) == ("close_ticket", "Close a ticket.")
assert answer(deliver, {"order": 1, "day": " Monday "}) == "order 1 comes on Monday"
refused = prepare(ToolCall("c", "deliver", {"order": 1, "day": "Sunday"}), {"deliver": deliver})
assert "we do not deliver on Sundays" in refused.reason
assert answer(sales, {"year": 2026}) == '{"total":1200}'

model = ScriptedModel([{"calls": [{"id": "c1", "name": "close_ticket", "arguments": {"ticket": 3}}]}, {"text": "Done."}])
agent = suture.Agent(model, tools=[CloseTicket, find_orders])
assert agent.run("Close ticket 3.").text == "Done."
print("\\n".join(mistakes))
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What all Python of the page, and the checks behind it, print in a process of their own."""
    folder = tmp_path_factory.mktemp("page")
    script = folder / "page.py"
    script.write_text("\n".join(BLOCKS) + CHECKS, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_snippets_of_the_page_run(printed: str) -> None:
    """Top to bottom in one process in an empty folder, each tool answers as its text says."""
    assert len(BLOCKS) >= 7
    assert printed


def test_the_mistakes_of_the_page_read_as_shown(printed: str) -> None:
    """The comments show what the model would read, word for word."""
    shown = re.findall(r"^# (.*)$", PAGE[PAGE.index("mistakes = ") :], re.MULTILINE)
    assert printed.splitlines() == shown[:3]


def test_every_option_of_a_tool_is_on_the_page() -> None:
    """An option that nobody can find is none."""
    import inspect

    import suture

    options = set(inspect.signature(suture.tool).parameters) - {"source", "parameters"}
    assert {name for name in options if f"`{name}`" not in PAGE} == set()
