"""Sessions: a handle for plain code (`plain`), its async skin (`tasks`), and what waits across a store (`across`)."""

from suture.session.across import open_approvals, unknown_outcomes
from suture.session.clock import new_id, now
from suture.session.family import Child
from suture.session.plain import Session
from suture.session.tasks import AsyncSession
from suture.session.waiting import Approval, StartedCall

__all__ = [
    "Approval",
    "AsyncSession",
    "Child",
    "Session",
    "StartedCall",
    "new_id",
    "now",
    "open_approvals",
    "unknown_outcomes",
]
