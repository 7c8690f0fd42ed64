"""The tables of a SQLite store, and how a file is brought to them; its header says whose they are."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import apsw

from suture.errors import StoreError

APPLICATION_ID: Final = 0x73757472  # "sutr"

VERSIONS: Final = (
    """
    CREATE TABLE deleted (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        entries INTEGER NOT NULL,            -- how many were deleted with their sessions
        epoch INTEGER NOT NULL               -- the latest of theirs; a session made anew begins behind it
    ) STRICT;
    INSERT INTO deleted VALUES (1, 0, 0);

    CREATE TABLE sessions (
        key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        head INTEGER NOT NULL DEFAULT 0,
        chain BLOB NOT NULL DEFAULT x'',
        epoch INTEGER NOT NULL DEFAULT 0,
        owner TEXT,                          -- of the last epoch; null when it was released
        ttl REAL NOT NULL DEFAULT 0,
        expires REAL NOT NULL DEFAULT 0,
        meta BLOB NOT NULL,
        created REAL NOT NULL,
        updated REAL NOT NULL
    ) STRICT;

    CREATE TABLE entries (
        session INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        at TEXT NOT NULL,
        body BLOB NOT NULL,
        epoch INTEGER NOT NULL,
        opens BLOB,                          -- a JSON list; null when empty, as for closes
        closes BLOB,
        chain BLOB NOT NULL,
        erased BLOB,                         -- the hash of the body that was erased
        PRIMARY KEY (session, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX entries_by_id ON entries (session, id);

    CREATE TABLE marks (
        session INTEGER NOT NULL,
        mark TEXT NOT NULL,
        seq INTEGER NOT NULL,
        PRIMARY KEY (session, mark)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX marks_by_mark ON marks (mark);
    """,
    """
    -- Of id, head and chain, under the key of the store; blank without one.
    ALTER TABLE sessions ADD COLUMN seal BLOB NOT NULL DEFAULT x'';
    """,
    """
    -- The status that the open marks make of a session while nobody runs it.
    ALTER TABLE sessions ADD COLUMN waits TEXT NOT NULL DEFAULT 'idle';
    UPDATE sessions SET waits = coalesce((
        SELECT CASE min(CASE substr(mark, 1, instr(mark || ':', ':') - 1)
                WHEN 'run' THEN 1 WHEN 'approval' THEN 2 WHEN 'started' THEN 3
                WHEN 'inbox' THEN 4 WHEN 'decided' THEN 4 WHEN 'settled' THEN 4 ELSE 5 END)
            WHEN 1 THEN 'abandoned' WHEN 2 THEN 'awaiting_approval' WHEN 3 THEN 'unknown_outcome'
            WHEN 4 THEN 'inbox_waiting' ELSE 'idle' END
        FROM marks WHERE session = sessions.key), 'idle');
    CREATE INDEX sessions_by_waits ON sessions (waits, id);
    CREATE INDEX sessions_claimed ON sessions (id) WHERE owner IS NOT NULL;
    DROP INDEX marks_by_mark;

    -- With rowids, since a row without one leaves its page when it is longer than a quarter of that.
    DROP INDEX entries_by_id;
    ALTER TABLE entries RENAME TO former;
    CREATE TABLE entries (
        session INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        at TEXT NOT NULL,
        body BLOB NOT NULL,
        epoch INTEGER NOT NULL,
        opens BLOB,
        closes BLOB,
        chain BLOB NOT NULL,
        erased BLOB,
        PRIMARY KEY (session, seq)
    ) STRICT;
    INSERT INTO entries SELECT * FROM former ORDER BY session, seq;
    DROP TABLE former;
    CREATE UNIQUE INDEX entries_by_id ON entries (session, id);
    """,
    """
    -- New ids sort behind all others, so by id first what many sessions write at the same time stands on one page.
    DROP INDEX entries_by_id;
    CREATE UNIQUE INDEX entries_by_id ON entries (id, session);
    """,
)


def is_current(db: apsw.Connection) -> bool:
    """Whether the file has the tables of this version."""
    return _identity(db) == (APPLICATION_ID, len(VERSIONS))


def require_ours(db: apsw.Connection, path: Path) -> None:
    """Return when the tables are ours and known here.

    Raises:
        StoreError: they are another program's, or a newer suture's.
    """
    application, version = _identity(db)
    if application != APPLICATION_ID:
        raise StoreError(f"{path} is the database of another program and was left as it is. Choose another path.")
    if version > len(VERSIONS):
        raise StoreError(
            f"{path} was written by a newer suture (schema {version}; this one knows {len(VERSIONS)}) "
            "and was left as it is. Update suture, or choose another path."
        )


def bring_up(db: apsw.Connection, path: Path) -> None:
    """Bring the tables to the last version, in the transaction that is on.

    Raises:
        StoreError: as `require_ours` does.
    """
    application, version = _identity(db)
    if (application, version) != (0, 0) or db.execute("SELECT count(*) FROM sqlite_schema").get:
        require_ours(db, path)
    for script in VERSIONS[version:]:
        db.execute(script).fetchall()
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {len(VERSIONS)}").fetchall()


def _identity(db: apsw.Connection) -> tuple[int, int]:
    """The application id and the schema version in the file's header."""
    return db.execute("PRAGMA application_id").get, db.execute("PRAGMA user_version").get
