"""The loop, a generator that asks: `run` is the order of a run, `attempts` and `retries` how the model is asked, `calls`
what becomes of each call, `compacting` when the past is
summed up, `journal` what is written down, `request` what a model is asked, `jobs` what is done for a
run, `asks` its questions, `plan` what a run works with, `events` what watchers see.
"""

from suture.loop.compacting import compact
from suture.loop.plan import Closing, Ended, Flow, Pending, Plan, Status, idempotency_key, pending_of
from suture.loop.request import Request
from suture.loop.retries import RetryPolicy
from suture.loop.run import run

__all__ = [
    "Closing",
    "Ended",
    "Flow",
    "Pending",
    "Plan",
    "Request",
    "RetryPolicy",
    "Status",
    "compact",
    "idempotency_key",
    "pending_of",
    "run",
]
