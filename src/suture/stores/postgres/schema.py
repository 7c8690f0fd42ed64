"""The tables of a PostgreSQL store, and how a database is brought to them.

Everything lies in a schema of its own. What people and programs may name as they like (ids, kinds, times, marks, owners)
is kept as the bytes of its UTF-8, since a text of PostgreSQL holds no NUL and sorts as its collation wants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from psycopg.sql import SQL, Identifier

from suture.errors import StoreError

if TYPE_CHECKING:
    from psycopg import Connection

VERSIONS: Final = (
    """
    CREATE TABLE about (program text NOT NULL, version int NOT NULL);
    INSERT INTO about VALUES ('suture', 0);

    CREATE TABLE deleted (
        one bool PRIMARY KEY DEFAULT true CHECK (one),
        entries bigint NOT NULL,             -- how many were deleted with their sessions
        epoch bigint NOT NULL                -- the latest of theirs; a session made anew begins behind it
    );
    INSERT INTO deleted (entries, epoch) VALUES (0, 0);

    CREATE TABLE sessions (
        key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id bytea NOT NULL UNIQUE,
        head bigint NOT NULL DEFAULT 0,
        chain bytea NOT NULL DEFAULT '',
        seal bytea NOT NULL,                 -- of id, head and chain, under the key of the store; blank without one
        marks bytea NOT NULL DEFAULT '{}',   -- the open ones, as JSON: each with the seq that opened it
        waits text NOT NULL DEFAULT 'idle',  -- the status that they give while no claim is in force
        epoch bigint NOT NULL DEFAULT 0,
        owner bytea,                         -- of the last epoch; null when it was released
        ttl float8 NOT NULL DEFAULT 0,
        expires float8 NOT NULL DEFAULT 0,
        meta bytea NOT NULL DEFAULT '{}',    -- JSON
        pairs bigint[] NOT NULL DEFAULT '{}', -- a hash of each pair in meta
        created float8 NOT NULL,
        updated float8 NOT NULL
    ) WITH (fillfactor = 70);                -- an append changes no index of this table, so its row stays in its page
    CREATE INDEX sessions_by_status ON sessions (waits, id);
    CREATE INDEX sessions_claimed ON sessions (id) WHERE owner IS NOT NULL;
    CREATE INDEX sessions_by_meta ON sessions USING gin (pairs);

    CREATE TABLE entries (
        session bigint NOT NULL,
        seq bigint NOT NULL,
        id bytea NOT NULL,
        kind bytea NOT NULL,
        at bytea NOT NULL,
        body bytea NOT NULL,
        epoch bigint NOT NULL,
        opens bytea,                         -- a JSON list; null when empty, as for closes
        closes bytea,
        chain bytea NOT NULL,
        erased bytea,                        -- the hash of the body that was erased
        PRIMARY KEY (session, seq),
        UNIQUE (session, id)
    );
    """,
)

_LOOK = """
    SELECT count(c.oid), to_regclass(%(about)s) IS NOT NULL, n.oid IS NOT NULL
    FROM (SELECT 1) AS one LEFT JOIN pg_namespace AS n ON n.nspname = %(schema)s
        LEFT JOIN pg_class AS c ON c.relnamespace = n.oid
    GROUP BY n.oid"""

# One number for all of suture, beside which the schema's own stands; others' advisory locks use other pairs.
_MIGRATION = 0x73757472


class Found(NamedTuple):
    """What is in the schema: `version` is 0 when nothing is."""

    version: int
    has_schema: bool


def bring_up(db: Connection[Any], schema: str, name: str) -> None:
    """Bring the schema to the last version; two processes may do so at once. `name` is that of the store in errors.

    Raises:
        StoreError: it holds another program's tables, or a newer suture's. It was left as it is.
    """
    if look(db, schema, name).version == len(VERSIONS):
        return
    with db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", (_MIGRATION, schema))
        found = look(db, schema, name)
        if not found.has_schema:
            db.execute(SQL("CREATE SCHEMA {}").format(Identifier(schema)))
        for version, script in enumerate(VERSIONS[found.version :], found.version + 1):
            db.execute(script)
            db.execute("UPDATE about SET version = %s", (version,))


def look(db: Connection[Any], schema: str, name: str) -> Found:
    """What is in the schema.

    Raises:
        StoreError: another program's tables, or a newer suture's.
    """
    about = SQL("{}.about").format(Identifier(schema)).as_string(db)
    row = db.execute(_LOOK, {"schema": schema, "about": about}).fetchone()
    count, has_about, has_schema = row or (0, False, False)
    if not count:
        return Found(0, has_schema)
    version = _version(db) if has_about else None
    if version is None:
        raise StoreError(
            f"{name}: the schema {schema!r} holds the tables of another program and was left as it is. "
            "Choose another one with ?schema=... at the end of the URL."
        )
    if version > len(VERSIONS):
        raise StoreError(
            f"{name}: the tables in the schema {schema!r} are of a newer suture (version {version}; this one knows "
            f"{len(VERSIONS)}) and were left as they are. Update suture, or choose another schema."
        )
    return Found(version, has_schema)


def _version(db: Connection[Any]) -> int | None:
    """The version of our tables; None when they are somebody else's."""
    columns = db.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass('about') AND attnum > 0 ORDER BY attnum"
    ).fetchall()
    if [column for (column,) in columns] != ["program", "version"]:
        return None
    row = db.execute("SELECT version FROM about WHERE program::text = 'suture'").fetchone()
    return row[0] if row else None
