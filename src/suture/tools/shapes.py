"""The schemas that pydantic makes: as a model is shown them, and the keys that no part of them names.

Every object is closed unless its class takes any key (`extra="allow"`): a key that was meant for a field and
misspelt would else be dropped without a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from suture.tools.nodes import Node, below, flat, names_in, names_of, objects_among
from suture.tools.words import told, unknown_key

Path = tuple[int | str, ...]

# Below these keywords stand values, not schemas.
_VALUES = frozenset(("default", "const", "enum", "examples"))
# Below these stand names, each with a schema.
_NAMES = frozenset(("properties", "$defs", "patternProperties"))


def shown_schema(schema: Node, descriptions: Mapping[str, str]) -> dict[str, object]:
    """The schema as a model sees it: an object at the top, closed, without titles, its parameters described."""
    tidy = _tidy(_unfolded(schema))
    assert isinstance(tidy, dict)
    tidy.pop("description", None)  # the tool has its own
    properties = tidy.get("properties")
    if isinstance(properties, dict):
        tidy["properties"] = {name: _described(node, descriptions.get(name)) for name, node in properties.items()}
    return tidy


def _unfolded(schema: Node) -> Node:
    """A schema that refers to itself, with the object at the top."""
    match schema:
        case {"$ref": str(reference), "$defs": dict(definitions)}:
            return {**definitions[reference.removeprefix("#/$defs/")], "$defs": definitions}
        case _:
            return schema


def _tidy(node: object) -> object:
    match node:
        case list():
            return [_tidy(item) for item in node]
        case dict():
            tidy = {key: _tidy_under(key, item) for key, item in node.items() if not _is_noise(key, item)}
            if "properties" in tidy:
                tidy.setdefault("additionalProperties", False)
            return tidy
        case _:
            return node


def _is_noise(key: str, item: object) -> bool:
    return key == "title" and isinstance(item, str)


def _tidy_under(key: str, item: object) -> object:
    if key in _VALUES:
        return item
    if key in _NAMES and isinstance(item, dict):
        return {name: _tidy(node) for name, node in item.items()}
    return _tidy(item)


def _described(node: object, description: str | None) -> object:
    if not description or not isinstance(node, dict) or "description" in node:
        return node
    return {**node, "description": description}


# Unknown keys ---------------------------------------------------------------------------------


def unknown_keys(schema: Node, arguments: Mapping[str, object]) -> dict[Path, str]:
    """A sentence for each key, at any depth, that no object which may stand there has; by the path of the key."""
    unknown = list(_unknown([schema], arguments, (), schema))
    names = names_in(schema) if unknown else ()
    return {
        path: unknown_key([*told(path[:-1], names), path[-1]], known, before)
        for before, (path, known) in enumerate(unknown)
    }


def known_keys(schema: Node, path: Sequence[int | str]) -> list[str]:
    """The keys that the object at a path may have."""
    nodes: list[Node] = [schema]
    for step in path:
        nodes = below(flat(nodes, schema), step)
    return names_of(objects_among(flat(nodes, schema)))


def _unknown(nodes: Sequence[Node], value: object, path: Path, root: Node) -> Iterator[tuple[Path, list[str]]]:
    here = flat(nodes, root)
    match value:
        case Mapping():
            objects = objects_among(here)
            known = names_of(objects)
            closed = bool(objects) and all(node.get("additionalProperties") is False for node in objects)
            for key, item in value.items():
                if closed and key not in known:
                    yield (*path, key), known
                else:
                    yield from _unknown(below(here, key), item, (*path, key), root)
        case list():
            for index, item in enumerate(value):
                yield from _unknown(below(here, index), item, (*path, index), root)
