"""Replay: the fold (`state`), the calls it keeps (`calls`), and what may be sent (`view`)."""

from suture.replay.calls import Block, Call, CallStatus, TurnBlock, own
from suture.replay.state import LogFinding, State
from suture.replay.view import shown

__all__ = ["Block", "Call", "CallStatus", "LogFinding", "State", "TurnBlock", "own", "shown"]
