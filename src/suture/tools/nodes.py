"""A JSON schema walked beside a value: which of its nodes speak of an item or a key, alternatives side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Node: TypeAlias = Mapping[str, object]

_ALTERNATIVES = ("anyOf", "oneOf", "allOf")


def flat(nodes: Sequence[Node], root: Node) -> list[Node]:
    """The nodes, with references inside the schema followed and alternatives side by side."""
    found: list[Node] = []
    stack, seen = list(reversed(nodes)), set[int]()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        found.append(node)
        more = [*_referred(node, root)]
        for keyword in _ALTERNATIVES:
            more += _schemas(node.get(keyword))
        stack.extend(reversed(more))
    return found


def below(nodes: Sequence[Node], step: int | str) -> list[Node]:
    """The schemas of one item or key, of nodes that are flat."""
    found: list[Node] = []
    for node in nodes:
        if isinstance(step, int):
            first = _schemas(node.get("prefixItems"))
            found += [first[step]] if step < len(first) else _schemas([node.get("items")])
            continue
        properties = node.get("properties")
        if isinstance(properties, Mapping) and step in properties:
            found += _schemas([properties[step]])
        else:
            found += _schemas([node.get("additionalProperties")])
    return found


def objects_among(nodes: Sequence[Node]) -> list[Node]:
    """The nodes that an object may fit."""
    return [node for node in nodes if "object" in types_of(node) or ("type" not in node and "properties" in node)]


def names_of(objects: Sequence[Node]) -> list[str]:
    """The keys that object schemas name, in order."""
    found: dict[str, None] = {}
    for node in objects:
        properties = node.get("properties")
        found.update(dict.fromkeys(properties if isinstance(properties, Mapping) else ()))
    return list(found)


def names_in(schema: Node) -> frozenset[str]:
    """The keys that a schema names anywhere."""
    found: set[object] = set()
    stack: list[object] = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, Mapping):
            stack.extend(node.values())
            required = node.get("required")
            found.update(names_of([node]), required if isinstance(required, list) else ())
    return frozenset(name for name in found if isinstance(name, str))


def types_of(node: Node) -> list[str]:
    """The types that a node names itself."""
    match node.get("type"):
        case str() as name:
            return [name]
        case list() as names:
            return [name for name in names if isinstance(name, str)]
        case _:
            return []


def _referred(node: Node, root: Node) -> list[Node]:
    """The node that a reference inside the schema names."""
    reference = node.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#"):
        return []
    found: object = root
    for step in reference.removeprefix("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, Mapping) else None
    return _schemas([found])


def _schemas(value: object) -> list[Node]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
