"""What SQLite may refuse, and what is said of it: the cause in words, and what to do next."""

from __future__ import annotations

from pathlib import Path

import apsw

from suture.errors import Corrupt, StoreError

_LOCKED = (
    "another process kept the database locked for {seconds:g} s, so nothing was changed. Find it with `fuser -v` on "
    "the file; end it or let it finish, then try again; or open the store with a longer busy_timeout."
)

# Each names what to do next. The first that fits counts, so the general one stands last.
_CAUSES: dict[type[Exception], tuple[type[StoreError], str]] = {
    apsw.BusyError: (StoreError, _LOCKED),
    apsw.NotADBError: (StoreError, "this is no SQLite database, and was left as it is. Choose another path."),
    apsw.CorruptError: (Corrupt, "the database is damaged. Restore a backup, or try `.recover` of the sqlite3 program."),
    apsw.FullError: (StoreError, "the disk is full, so nothing was written. Free some space, then try again."),
    apsw.ReadOnlyError: (StoreError, "only reading is possible here. Make the file and its directory writable to append."),
    apsw.CantOpenError: (StoreError, "the file cannot be opened. Check that it and its directory may be read and written."),
    apsw.IOError: (StoreError, "the disk failed, so nothing was changed. Check it, then try again."),
    apsw.TooBigError: (StoreError, "a body is larger than SQLite holds, so nothing was written. Keep it in a file."),
    apsw.Error: (StoreError, "SQLite refused, so nothing was changed; the reason stands in brackets."),
    OverflowError: (StoreError, "a number is larger than SQLite holds, so nothing was changed."),
    UnicodeEncodeError: (StoreError, "a text holds half a surrogate pair. Use whole characters."),
    UnicodeDecodeError: (Corrupt, "a text in the database is no UTF-8. Restore a backup."),
}
REFUSALS = tuple(_CAUSES)


def in_words(error: Exception, path: Path, busy_timeout: float) -> StoreError:
    """The error of ours for one of `REFUSALS`; `busy_timeout` is how many seconds a locked file was waited for."""
    kind, text = next(words for cause, words in _CAUSES.items() if isinstance(error, cause))
    return kind(f"{path}: {text.format(seconds=busy_timeout)} ({error})")
