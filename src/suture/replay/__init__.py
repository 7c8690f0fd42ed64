"""Replay: the fold (`state`) into what a log says (`facts`), the conversation that it makes (`conversation`, in order in
`timeline`, of `calls`), what is done about a call (`controls`), what edits do (`editing`), where a compaction parts it
(`boundary`), and what may be sent (`view`).
"""

from suture.replay.boundary import contradicts_itself
from suture.replay.calls import Block, Call, CallStatus, TurnBlock, named, own
from suture.replay.conversation import LogFinding
from suture.replay.editing import edited, fields_of, matched, refusal
from suture.replay.state import State
from suture.replay.view import shown, stand_in_for

__all__ = [
    "Block",
    "Call",
    "CallStatus",
    "LogFinding",
    "State",
    "TurnBlock",
    "contradicts_itself",
    "edited",
    "fields_of",
    "matched",
    "named",
    "own",
    "refusal",
    "shown",
    "stand_in_for",
]
