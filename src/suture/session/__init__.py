"""Sessions: a handle for plain code (`plain`), its async skin (`tasks`), what waits across a store (`across`), and whether
a log is as it was written (`verifying`).
"""

from suture.session.across import as_read, open_approvals, unknown_outcomes
from suture.session.chains import Problem
from suture.session.clock import new_id, now
from suture.session.family import Child
from suture.session.plain import Session
from suture.session.tasks import AsyncSession
from suture.session.verifying import Verified, verify
from suture.session.waiting import Approval, StartedCall

__all__ = [
    "Approval",
    "AsyncSession",
    "Child",
    "Problem",
    "Session",
    "StartedCall",
    "Verified",
    "as_read",
    "new_id",
    "now",
    "open_approvals",
    "unknown_outcomes",
    "verify",
]
