"""What a run tells the operator's log, under the name `suture`: what happened, never what was said.

Arguments, results, messages and the texts of providers, which may quote any of them, stay out of it.
"""

from __future__ import annotations

import logging

from suture.loop.events import (
    ApprovalNeeded,
    CallCorrected,
    CompactionFailed,
    CompactionFinished,
    Event,
    Finished,
    RequestMended,
    Retrying,
    ToolFinished,
    ToolStarting,
)

_LOG = logging.getLogger("suture")
_LOG.addHandler(logging.NullHandler())  # a program that sets up no logging sees none of ours on its terminal


def log_start(session_id: str, model: str) -> None:
    """A run begins."""
    _LOG.info("session %s: a run begins, with %s", session_id, model)


def log_broken(session_id: str, error: BaseException) -> None:
    """A run ends by an exception, whose words are for whoever gets it."""
    _LOG.info("session %s: the run ends by an exception (%s)", session_id, type(error).__name__)


def log_event(session_id: str, event: Event) -> None:
    """What of an event an operator needs; nothing of most."""
    match event:
        case ToolStarting(key, call, attempt):
            _LOG.info("session %s: call %s (%s) starts, attempt %d", session_id, key, call.name, attempt)
        case CallCorrected(key, _, call, by):
            _LOG.info("session %s: call %s (%s) was corrected by the %s", session_id, key, call.name, by)
        case ToolFinished(key, result):
            _LOG.info("session %s: call %s is answered%s", session_id, key, ", as an error" if result.error else "")
        case ApprovalNeeded(key):
            _LOG.info("session %s: call %s waits for a person", session_id, key)
        case RequestMended(changes):
            codes = ", ".join(sorted({change.code for change in changes}))
            _LOG.info("session %s: left out of the request: %s", session_id, codes)
        case Retrying(attempt, error, delay):
            kind = type(error).__name__
            _LOG.warning(
                "session %s: attempt %d of the model failed (%s), again in %.1f s", session_id, attempt, kind, delay
            )
        case CompactionFinished(_, before, after):
            _LOG.info("session %s: compacted from about %d tokens to %d", session_id, before, after)
        case CompactionFailed(error):
            _LOG.warning("session %s: could not be compacted (%s)", session_id, type(error.__cause__ or error).__name__)
        case Finished(status):
            _LOG.info("session %s: the run ends: %s", session_id, status)
        case _:
            pass
