"""Replay: the fold (`state`), the calls it keeps (`calls`), and what may be sent (`view`)."""

from suture.replay.calls import Call, CallStatus, TurnBlock, own
from suture.replay.state import LogFinding, State

__all__ = ["Call", "CallStatus", "LogFinding", "State", "TurnBlock", "own"]
