"""The loop: a generator that asks. `run` holds order and meaning, `asks` the questions, `events` what watchers see."""

from suture.loop.asks import Request
from suture.loop.run import Closing, Ended, Pending, Plan, idempotency_key, pending_of, run

__all__ = ["Closing", "Ended", "Pending", "Plan", "Request", "idempotency_key", "pending_of", "run"]
