"""Every error that suture raises.

SutureError
├── HistoryError      UnknownFormat  AmbiguousFormat  UnhealableHistory  NotJson
├── StoreError        Conflict  Fenced  Corrupt  SessionNotFound  WrongKey
├── SessionError      SessionBusy  AwaitingApproval  NoSuchApproval  AmbiguousCall
│                     AlreadyDecided  NoSuchMessage  InvalidEdit
├── ModelError        RateLimited  Overloaded  Timeout  TransportError  IncompleteStream
│                     InvalidAnswer  InvalidRequest  AuthenticationError  ContentRefused  ContextOverflow
├── ToolError         InvalidTool  InvalidSchema
└── BudgetError  SchemaError  CompactionError  ConfigurationError  MissingExtra

A class says in its docstring what happened and what to do next; that docstring is its default
message. A tool that fails is not an error: it is a result that the model reads.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence

__all__ = [
    "AlreadyDecided",
    "AmbiguousCall",
    "AmbiguousFormat",
    "AuthenticationError",
    "AwaitingApproval",
    "BudgetError",
    "CompactionError",
    "ConfigurationError",
    "Conflict",
    "ContentRefused",
    "ContextOverflow",
    "Corrupt",
    "Fenced",
    "HistoryError",
    "IncompleteStream",
    "InvalidAnswer",
    "InvalidEdit",
    "InvalidRequest",
    "InvalidSchema",
    "InvalidTool",
    "MissingExtra",
    "ModelError",
    "NoSuchApproval",
    "NoSuchMessage",
    "NotJson",
    "Overloaded",
    "RateLimited",
    "SchemaError",
    "SessionBusy",
    "SessionError",
    "SessionNotFound",
    "StoreError",
    "SutureError",
    "Timeout",
    "ToolError",
    "TransportError",
    "UnhealableHistory",
    "UnknownFormat",
    "WrongKey",
]


class SutureError(Exception):
    """suture could not do what was asked."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or inspect.cleandoc(type(self).__doc__ or ""))


# Histories ------------------------------------------------------------------------------------


class HistoryError(SutureError):
    """The history cannot be read. Check that the file holds what was meant."""


class UnknownFormat(HistoryError):
    """The history is in no format that suture knows. Name it with format=... and check its shape."""


class AmbiguousFormat(HistoryError):
    """The history fits more than one format. Name the right one with format=....

    Attributes:
        formats: the names of those that it fits.
    """

    def __init__(self, message: str | None = None, formats: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.formats = tuple(formats)


class UnhealableHistory(HistoryError):
    """The history still breaks a rule after healing. `findings` holds what is left; mend that by hand.

    Attributes:
        findings: what the provider would still refuse, as `diagnose` reports it.
    """

    def __init__(self, message: str | None = None, findings: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.findings = tuple(findings)


class NotJson(HistoryError, ValueError):
    """A value is not JSON. Pass only None, booleans, finite numbers, texts, lists, and dicts with text keys."""


# Stores ---------------------------------------------------------------------------------------


class StoreError(SutureError):
    """The store could not be read or written. Nothing was half written; the message names the cause."""


class Conflict(StoreError):
    """Somebody else appended first. Read what is new, then decide again."""


class Fenced(StoreError):
    """Another runner has taken this session over. Stop: nothing more of this run may be written."""


class Corrupt(StoreError):
    """Stored data cannot be read. The message names the place; nothing was changed."""


class SessionNotFound(StoreError):
    """The store holds no session of that id. `suture sessions --store URL` lists those it has."""


class WrongKey(StoreError):
    """The session was written under another key, or without one. Open the store with the key that it was written under."""


# Sessions -------------------------------------------------------------------------------------


class SessionError(SutureError):
    """The session does not allow this now."""


class SessionBusy(SessionError):
    """Another process is running this session. Send it a message with `steer`, or stop it with `interrupt`."""


class AwaitingApproval(SessionError):
    """Calls wait for a person. Decide them with `approve` or `deny`, then `resume`.

    Attributes:
        calls: the keys of the calls that wait.
    """

    def __init__(self, message: str | None = None, calls: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.calls = tuple(calls)


class NoSuchApproval(SessionError):
    """No call of that name waits for a decision. `open_approvals()` lists those that do."""


class AmbiguousCall(SessionError):
    """Several calls have that id. Name one by its key, which `open_approvals()` shows.

    Attributes:
        keys: the keys of the calls that the id fits.
    """

    def __init__(self, message: str | None = None, keys: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.keys = tuple(keys)


class AlreadyDecided(SessionError):
    """The call was decided the other way before. The first decision in the log stands."""


class NoSuchMessage(SessionError):
    """The session has no message of that id. Its messages carry theirs: look at `session.messages`."""


class InvalidEdit(SessionError):
    """The edit would break what the log promises, so nothing was written. The message says what would be allowed."""


# Models ---------------------------------------------------------------------------------------


class ModelError(SutureError):
    """The model did not answer.

    Attributes:
        retry_after: seconds after which the provider asks to be tried again, or None.
    """

    def __init__(self, message: str | None = None, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RateLimited(ModelError):
    """The provider refuses more requests for now. Wait `retry_after` seconds, then resume."""


class Overloaded(ModelError):
    """The provider is overloaded. Resume later."""


class Timeout(ModelError):
    """The model did not answer in time. Resume, or give it longer."""


class TransportError(ModelError):
    """The connection to the provider broke. Resume when the network is back."""


class IncompleteStream(ModelError):
    """The reply ended before its last event, so none of it was kept. Resume to ask again."""


class InvalidAnswer(ModelError):
    """The model's answer cannot be used, so none of it was kept. The message says why; resume to ask again."""


class InvalidRequest(ModelError):
    """The provider refused the request as malformed. `suture check` says which rule it breaks."""


class AuthenticationError(ModelError):
    """The provider refused the key. Set a valid one."""


class ContentRefused(ModelError):
    """The provider refused the content. Change what was said, since asking again brings the same answer."""


class ContextOverflow(ModelError):
    """The conversation is longer than the model's window. Compact it, then resume."""


# Tools and the rest ---------------------------------------------------------------------------


class ToolError(SutureError):
    """A tool cannot be used as it is defined."""


class InvalidTool(ToolError):
    """A tool is defined in a way that cannot work. The message names the tool and the mend."""


class InvalidSchema(ToolError):
    """A tool's parameter schema is no JSON schema. The message names the place."""


class BudgetError(SutureError):
    """A budget cannot be kept. The message says what is missing; raise the budget or leave it out."""


class SchemaError(SutureError):
    """The answer does not fit the schema that was asked for. Ask again, or loosen the schema."""


class CompactionError(SutureError):
    """The summary could not be made, so nothing was compacted. The session goes on as it is; compact it later."""


class ConfigurationError(SutureError):
    """The parts were put together in a way that cannot work. The message says what to change."""


class MissingExtra(SutureError, ImportError):
    """An optional part is not installed. The message names the extra to install."""
