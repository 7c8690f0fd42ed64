"""Agents: what a run is made of (`agent`), and who answers its questions (`threads`, `tasks`)."""

from suture.agent.agent import Agent, AsyncAgent, AsyncStream, Result, Stream
from suture.agent.signal import Signal

__all__ = ["Agent", "AsyncAgent", "AsyncStream", "Result", "Signal", "Stream"]
