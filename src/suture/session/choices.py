"""What a session may be given: its id, whether it heals, and where the ids of its messages come from."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from suture.canonical import require_json
from suture.errors import ConfigurationError, InvalidEdit
from suture.session.clock import new_id

Ids: TypeAlias = Literal["uuid7", "uuid4"] | Callable[[], str]

# Turns healing off for every session of a process.
HEAL = "SUTURE_HEAL"


def is_on(given: object, what: str) -> bool:
    """A switch, however it is written: true, 1 and their texts are on; false, 0, their texts and None are off.

    Raises:
        ConfigurationError: it is anything else; a text such as "no" is never on because it is not blank.
    """
    word = given.strip().lower() if isinstance(given, str) else given
    if word is None or (isinstance(word, bool | int | str) and word in (False, "false", "0")):
        return False
    if isinstance(word, bool | int | str) and word in (True, "true", "1"):
        return True
    raise ConfigurationError(f"{what} is true or false, 1 or 0, not {given!r:.80}.")


def heals(given: object) -> bool:
    """Whether a session heals: unless it is told not to, or the environment says so for all."""
    return is_on(given, "heal") and is_on(os.environ.get(HEAL) or True, HEAL)


def usable_id(given: object) -> str:
    """The id of a session; a new UUID for None.

    Raises:
        ConfigurationError: it is no text.
    """
    if given is None:
        return str(uuid.uuid4())
    if not isinstance(given, str):
        raise ConfigurationError(f"The id of a session is a text, not {given!r:.80}. Give str(...) of it.")
    return given


def usable_meta(given: object) -> Mapping[str, object] | None:
    """What is merged into the meta of a session; None for nothing.

    Raises:
        ConfigurationError: it is no mapping.
        NotJson: it holds what is no JSON.
    """
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"The meta of a session is a mapping such as {{'user': 'ada'}}, not {given!r:.80}.")
    require_json(given, "meta")
    return given


def usable_position(given: object) -> int | None:
    """Where a session is forked; None for its end.

    Raises:
        InvalidEdit: it is no number.
    """
    if given is None or (isinstance(given, int) and not isinstance(given, bool)):
        return given
    raise InvalidEdit(f"A position to fork at is a number, the seq of an entry in `session.entries()`, not {given!r:.80}.")


def source_of_ids(given: object) -> Callable[[], str]:
    """Where the ids of messages come from.

    Raises:
        ConfigurationError: it is no source; a message in a session always has an id.
    """
    if given == "uuid7":
        return new_id
    if given == "uuid4":
        return lambda: str(uuid.uuid4())
    if callable(given):
        return lambda: _own_id(given)
    raise ConfigurationError(f"ids is 'uuid7', 'uuid4' or a function that returns a new id, not {given!r:.80}.")


def _own_id(source: Callable[[], object]) -> str:
    id = source()
    if not isinstance(id, str) or not id:
        raise ConfigurationError(f"The source of ids {source!r:.80} returned {id!r:.80}, which is no id. An id is a text.")
    return id
