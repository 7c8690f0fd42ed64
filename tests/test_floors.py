"""The house stands: what each room may import, held against every import there is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "suture"

# ARCHITECTURE.md draws this table. A room is a module, or a package with all that is in it.
FLOORS = [
    {"errors", "canonical", "messages", "entries"},
    {"stand_ins", "pairing", "repair", "replay", "arguments", "tools", "formats", "compaction"},
    {"loop", "call_repair", "healing"},
    {"stores", "models"},
    {"session", "agent", "testing"},
    {"cli"},
]

# The edges inside a floor; every other import inside one is a fault.
INSIDE = {
    "canonical": {"errors"},
    "messages": {"canonical", "errors"},
    "entries": {"messages", "canonical", "errors"},
    "pairing": {"stand_ins"},
    "repair": {"pairing"},
    "replay": {"pairing", "repair"},
    "compaction": {"replay"},
    "tools": {"arguments"},
    "formats": {"arguments"},
    "loop": {"call_repair", "healing"},
    "agent": {"session"},
}

# Floors 0 to 2 do no I/O, read no clock, draw no random number and start no task.
IMPURE = {
    "os",
    "io",
    "time",
    "datetime",
    "random",
    "secrets",
    "uuid",
    "socket",
    "threading",
    "asyncio",
    "subprocess",
    "pathlib",
}

FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
ROOTS = {"__init__", "__main__"}


def room_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if room_of(path) not in ROOTS)


def is_module(name: str) -> bool:
    path = SOURCE.parent.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every module that a file imports, those inside functions and under TYPE_CHECKING too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: imports name the whole path"
            yield node.lineno, node.module or ""
            inside = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from ((node.lineno, name) for name in inside if node.module == "suture" or is_module(name))


def test_every_room_has_a_floor() -> None:
    """A new module is put on a floor before it is imported."""
    assert {room_of(path) for path in modules()} == set(FLOOR_OF)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_floor_imports_what_lies_below_it(path: Path) -> None:
    """Imports go down, or along an edge that the table names."""
    room = room_of(path)
    for line, name in imports(path):
        top, _, rest = name.partition(".")
        other = rest.split(".")[0]
        if top != "suture" or other in ("", room):
            continue
        if room == "cli" and other not in FLOOR_OF:
            continue  # doors use what a user can import: names of the package itself
        below = FLOOR_OF[other] < FLOOR_OF[room]
        assert below or other in INSIDE.get(room, ()), f"{path.name}:{line}: {room} imports {other}"


@pytest.mark.parametrize(
    "path", [path for path in modules() if FLOOR_OF[room_of(path)] <= 2], ids=lambda path: str(path.relative_to(SOURCE))
)
def test_rules_and_machine_are_pure(path: Path) -> None:
    """The same input gives the same output: no clock, no file, no thread, no chance below the edges."""
    used = {name.partition(".")[0] for _, name in imports(path)}
    assert not used & IMPURE


# Passes that serve one provider's own ways, each with the part of its format that says what those are.
PROVIDERS_OWN = {
    "servers": "suture.formats.anthropic",
    "own_items": "suture.formats.openai_responses",
    "thought_fields": "suture.formats.chat",
    "calls": "suture.formats.chat",
}


def test_passes_know_no_provider() -> None:
    """What a target takes is data (`Limits`); the few passes for what one provider alone has are named here."""
    neutral = {"base", "limits", "rule", "wire", "wording", "pictures", "media", "handoff", "codes"}
    for path in sorted((SOURCE / "healing").glob("*.py")):
        for line, name in imports(path):
            parts = name.split(".")
            if parts[:2] != ["suture", "formats"] or len(parts) == 2 or parts[2] in neutral:
                continue
            own = PROVIDERS_OWN.get(path.stem)
            assert own, f"{path.name}:{line} imports {name}"
            assert name.startswith(own), f"{path.name}:{line} imports {name}"


def test_backends_import_the_base_and_not_the_package() -> None:
    """A store or model can be loaded alone, whatever the package re-exports."""
    for package in ("stores", "models"):
        for path in (SOURCE / package).rglob("*.py"):
            if path.name != "__init__.py":
                assert f"suture.{package}" not in {name for _, name in imports(path)}, path


def test_there_are_no_circles() -> None:
    """Neither rooms nor the modules in them import each other in a circle."""
    names = {
        ".".join(("suture", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): path
        for path in modules()
    }
    by_module = {
        name: {other for _, other in imports(path) if other in names and other != name} for name, path in names.items()
    }
    list(TopologicalSorter(by_module).static_order())
    rooms: dict[str, set[str]] = {}
    for name, others in by_module.items():
        room = name.split(".")[1]
        rooms.setdefault(room, set()).update(other.split(".")[1] for other in others if other.split(".")[1] != room)
    list(TopologicalSorter(rooms).static_order())


def test_every_edge_of_the_table_is_there() -> None:
    """An edge that nobody uses any more leaves the table."""
    found: dict[str, set[str]] = {}
    for path in modules():
        room = room_of(path)
        others = {name.split(".")[1] for _, name in imports(path) if name.startswith("suture.")}
        found.setdefault(room, set()).update(one for one in others if FLOOR_OF.get(one) == FLOOR_OF[room] and one != room)
    assert {room: others for room, others in found.items() if others} == INSIDE
