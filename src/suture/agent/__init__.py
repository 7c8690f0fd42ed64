"""Agents: their face (`agent`), what one is made of (`parts`), and who answers a run's questions (`threads`, `tasks`)."""

from suture.agent.agent import Agent, AsyncAgent, AsyncStream, Stream
from suture.agent.parts import ContextUsage
from suture.agent.result import Result
from suture.agent.signal import Signal

__all__ = ["Agent", "AsyncAgent", "AsyncStream", "ContextUsage", "Result", "Signal", "Stream"]
