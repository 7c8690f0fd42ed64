"""One door: everything a user needs comes from `suture`, typed, documented, and light to import."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import suture
from suture import errors

DOOR = [
    "Agent",
    "Approval",
    "Assistant",
    "AsyncAgent",
    "AsyncSession",
    "Audio",
    "CallChange",
    "CallCheck",
    "Cause",
    "Change",
    "Child",
    "Compaction",
    "ContextUsage",
    "File",
    "Finding",
    "Healed",
    "Image",
    "Message",
    "Model",
    "Opaque",
    "Part",
    "Problem",
    "Reasoning",
    "Request",
    "Result",
    "RetryPolicy",
    "Rule",
    "Session",
    "Signal",
    "StartedCall",
    "Store",
    "System",
    "Text",
    "Tool",
    "ToolCall",
    "ToolCallRepair",
    "ToolContext",
    "ToolResult",
    "Usage",
    "User",
    "Verified",
    "check_call",
    "convert",
    "diagnose",
    "dump_messages",
    "errors",
    "explain",
    "fill_orphans",
    "heal",
    "load_messages",
    "open_approvals",
    "open_model",
    "open_store",
    "prune_orphans",
    "refusal",
    "rules",
    "tool",
    "unknown_outcomes",
    "verify",
]
HEAVY = {
    "apsw",
    "anthropic",
    "openai",
    "psycopg",
    "starlette",
    "rich",
    "click",
    "pydantic",
    "docstring_parser",
    "jsonschema_rs",
    "json_repair",
}
TREE = """
SutureError
  HistoryError: UnknownFormat AmbiguousFormat UnhealableHistory NotJson
  StoreError: Conflict Fenced Corrupt SessionNotFound
  SessionError: SessionBusy AwaitingApproval NoSuchApproval AmbiguousCall AlreadyDecided NoSuchMessage InvalidEdit
  ModelError: RateLimited Overloaded Timeout TransportError IncompleteStream InvalidAnswer InvalidRequest
  ModelError: AuthenticationError ContentRefused ContextOverflow
  ToolError: InvalidTool InvalidSchema
  BudgetError
  SchemaError
  CompactionError
  ConfigurationError
  MissingExtra
"""


def test_the_door_has_these_names() -> None:
    """The public names are those listed here, and the errors."""
    assert sorted(suture.__all__) == sorted({*DOOR, *errors.__all__})


@pytest.mark.parametrize("name", sorted({*DOOR, *errors.__all__}))
def test_every_name_is_there_and_documented(name: str) -> None:
    """Each name loads on touch; each class and function says what you get."""
    value = getattr(suture, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert (inspect.getdoc(value) or "").strip(), name


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A typo fails as it does anywhere."""
    with pytest.raises(AttributeError, match="has no attribute 'sesion'"):
        suture.sesion  # noqa: B018


def test_type_checkers_see_what_loads_lazily() -> None:
    """The names under TYPE_CHECKING are those of the lazy table."""
    tree = ast.parse(Path(suture.__file__).read_text(encoding="utf-8"))
    typed = {
        alias.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names if alias.asname
    }
    assert typed == set(DOOR) - {"errors"}


def test_import_is_light() -> None:
    """`import suture` loads no SDK, database, validator, terminal library or parser."""
    script = "import sys, suture; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert not HEAVY & set(loaded.stdout.split())


def test_the_error_tree_is_as_drawn() -> None:
    """Each class hangs where the decisions put it; the drawing in errors.py names each."""
    for line in TREE.strip().splitlines()[1:]:
        parent, _, children = line.strip().partition(":")
        assert issubclass(getattr(errors, parent), errors.SutureError)
        for child in children.split():
            assert getattr(errors, child).__bases__[0] is getattr(errors, parent), child
    assert errors.__doc__ is not None
    assert all(name in errors.__doc__ for name in errors.__all__)


LEAVES = [name for name in errors.__all__ if not getattr(errors, name).__subclasses__()]


@pytest.mark.parametrize("name", LEAVES)
def test_an_error_says_what_to_do_next(name: str) -> None:
    """The default message of each error that is raised as such is a sentence on what happened and one on what to do."""
    words = " ".join((inspect.getdoc(getattr(errors, name)) or "").partition("\n\n")[0].split())
    assert len(re.findall(r"[.:](?: |$)", words)) >= 2, words


@pytest.mark.parametrize("name", errors.__all__)
def test_an_error_says_what_happened(name: str) -> None:
    """Raised without words, an error carries those of its class; with words, those."""
    error = getattr(errors, name)
    assert str(error()).strip()
    assert str(error("mine")) == "mine"
