"""The page on the log's format says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from suture.entries import KINDS, Entry, read
from suture.stores import JsonlStore
from suture.stores.base import link
from suture.stores.jsonl.lines import VERSION, EntryLine, decoded, entry_of
from suture.stores.sqlite.schema import VERSIONS

PAGE = (Path(__file__).parent.parent.parent / "docs" / "reference" / "log-format.md").read_text(encoding="utf-8")
LINES = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0]


def rows(heading: str) -> list[list[str]]:
    """The cells of the table under that heading, its head aside."""
    part = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("| `")]


def test_every_kind_is_listed_with_its_fields() -> None:
    """The table has each kind of ours, and each field of its body."""
    told = {kind.strip("`"): words for kind, words in rows("Kinds")}
    assert told.keys() == KINDS.keys()
    for kind, body in KINDS.items():
        assert set(body.__struct_fields__) <= set(re.findall(r"`(\w+)`", told[kind])), kind


def test_every_field_of_an_entry_is_listed() -> None:
    """The table of an entry has its fields, but for what only a store that encrypts shows."""
    told = {field for cells in rows("An entry") for field in re.findall(r"`(\w+)`", cells[0])}
    assert told == set(Entry.__struct_fields__) - {"sealed"}


def test_the_lines_of_the_page_are_a_log(tmp_path: Path) -> None:
    """A store reads them, without damage; their chain is the one that the page describes."""
    JsonlStore(tmp_path / "sessions").close()
    (tmp_path / "sessions" / "support-42.jsonl").write_text(LINES, encoding="utf-8")
    store = JsonlStore(tmp_path / "sessions")
    info = store.info("support-42")
    assert info is not None
    assert (info.head, info.damage, info.meta, info.epoch) == (3, (), {"user": "ada"}, 1)
    assert info.status == "unknown_outcome"
    lines = [decoded(line.encode()) for line in LINES.splitlines()]
    assert None not in lines
    chain = b""
    for entry in (entry_of(line) for line in lines if isinstance(line, EntryLine)):
        chain = link(chain, "support-42", entry.seq, entry)
        assert chain == entry.chain
        assert read(entry) is not None


def test_the_versions_of_the_page_are_the_code() -> None:
    """Its last table ends with the versions that are written now."""
    part = PAGE.split("## Versions\n")[1]
    numbers = [int(cells.split("|")[2]) for cells in part.splitlines() if re.match(r"\|[^|]*\| \d", cells)]
    assert numbers == [*range(1, VERSION + 1), *range(1, len(VERSIONS) + 1)]
