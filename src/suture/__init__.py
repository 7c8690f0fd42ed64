"""Durable, self-healing sessions for LLM agents.

Everything a user needs is importable from here; what is heavy loads when it is first touched.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from suture import errors
from suture.errors import *  # noqa: F403

if TYPE_CHECKING:
    from suture.agent import Agent as Agent
    from suture.agent import AsyncAgent as AsyncAgent
    from suture.agent import ContextUsage as ContextUsage
    from suture.agent import Result as Result
    from suture.agent import Signal as Signal
    from suture.call_repair import ToolCallRepair as ToolCallRepair
    from suture.compaction import Compaction as Compaction
    from suture.healing import Cause as Cause
    from suture.healing import Change as Change
    from suture.healing import Finding as Finding
    from suture.healing import Healed as Healed
    from suture.healing import Rule as Rule
    from suture.healing import convert as convert
    from suture.healing import diagnose as diagnose
    from suture.healing import dump_messages as dump_messages
    from suture.healing import explain as explain
    from suture.healing import heal as heal
    from suture.healing import load_messages as load_messages
    from suture.healing import refusal as refusal
    from suture.healing import rules as rules
    from suture.loop import RetryPolicy as RetryPolicy
    from suture.messages import Assistant as Assistant
    from suture.messages import Audio as Audio
    from suture.messages import File as File
    from suture.messages import Image as Image
    from suture.messages import Message as Message
    from suture.messages import Opaque as Opaque
    from suture.messages import Part as Part
    from suture.messages import Reasoning as Reasoning
    from suture.messages import System as System
    from suture.messages import Text as Text
    from suture.messages import ToolCall as ToolCall
    from suture.messages import ToolResult as ToolResult
    from suture.messages import Usage as Usage
    from suture.messages import User as User
    from suture.models import Model as Model
    from suture.models import Request as Request
    from suture.models import open_model as open_model
    from suture.repair import fill_orphans as fill_orphans
    from suture.repair import prune_orphans as prune_orphans
    from suture.session import Approval as Approval
    from suture.session import AsyncSession as AsyncSession
    from suture.session import Child as Child
    from suture.session import Problem as Problem
    from suture.session import Session as Session
    from suture.session import StartedCall as StartedCall
    from suture.session import Verified as Verified
    from suture.session import open_approvals as open_approvals
    from suture.session import unknown_outcomes as unknown_outcomes
    from suture.session import verify as verify
    from suture.stores import Store as Store
    from suture.stores import open_store as open_store
    from suture.tools import CallChange as CallChange
    from suture.tools import CallCheck as CallCheck
    from suture.tools import Tool as Tool
    from suture.tools import ToolContext as ToolContext
    from suture.tools import check_call as check_call
    from suture.tools import tool as tool

_HOMES = {
    "suture.agent": ("Agent", "AsyncAgent", "ContextUsage", "Result", "Signal"),
    "suture.call_repair": ("ToolCallRepair",),
    "suture.compaction": ("Compaction",),
    "suture.healing": (
        "Cause",
        "Change",
        "Finding",
        "Healed",
        "Rule",
        "convert",
        "diagnose",
        "dump_messages",
        "explain",
        "heal",
        "load_messages",
        "refusal",
        "rules",
    ),
    "suture.loop": ("RetryPolicy",),
    "suture.messages": (
        "Assistant",
        "Audio",
        "File",
        "Image",
        "Message",
        "Opaque",
        "Part",
        "Reasoning",
        "System",
        "Text",
        "ToolCall",
        "ToolResult",
        "Usage",
        "User",
    ),
    "suture.models": ("Model", "Request", "open_model"),
    "suture.repair": ("fill_orphans", "prune_orphans"),
    "suture.session": (
        "Approval",
        "AsyncSession",
        "Child",
        "Problem",
        "Session",
        "StartedCall",
        "Verified",
        "open_approvals",
        "unknown_outcomes",
        "verify",
    ),
    "suture.stores": ("Store", "open_store"),
    "suture.tools": ("CallChange", "CallCheck", "Tool", "ToolContext", "check_call", "tool"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__version__ = "0.1.0"
__all__ = sorted([*_HOME, *errors.__all__, "errors"])


def __getattr__(name: str) -> object:
    module = _HOME.get(name)
    if module is None:
        raise AttributeError(f"module 'suture' has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
