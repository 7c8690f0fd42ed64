"""What a schema lets stand at a place in arguments: alternatives, each of schemas that all have to hold.

What is not understood (a reference that is no path in this schema, `true`, too many alternatives) lets anything stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from suture.tools.nodes import Node, types_of

if TYPE_CHECKING:
    import jsonschema_rs

# Schemas that all have to hold; none, where anything may stand.
Group: TypeAlias = tuple[Node, ...]
Groups: TypeAlias = tuple[Group, ...]

_ANYTHING: Group = ()
_MOST = 256
_HERE = "urn:suture:parameters"


class Alternatives:
    """The alternatives of one schema, each looked up once. Its nodes and groups are told apart by identity."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self._pointers, self.is_readable = _pointers(root)
        self._of_node: dict[int, Groups] = {}
        self._below: dict[tuple[int, int | str], tuple[Groups, Groups]] = {}
        self._validators: dict[int, jsonschema_rs.Validator | None] = {}

    def fits(self, value: object, groups: Groups) -> bool:
        """Whether a value may stand where the groups, as they are written, say what may."""
        return any(all(self._takes(node, value) for node in group) for group in groups)

    def _takes(self, node: Node, value: object) -> bool:
        if id(node) not in self._validators:
            self._validators[id(node)] = self._validator(node)
        validator = self._validators[id(node)]
        return validator is None or bool(validator.is_valid(value))

    def _validator(self, node: Node) -> jsonschema_rs.Validator | None:
        """What checks by one node; None when that cannot be compiled alone, and so anything is taken."""
        import jsonschema_rs

        try:
            registry = jsonschema_rs.Registry([(_HERE, dict(self.root))])
            return jsonschema_rs.validator_for({"$ref": _HERE + self._pointers[id(node)]}, registry=registry)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
            return None

    # What is written, taken apart

    def taken_apart(self, groups: Groups) -> Groups:
        """The groups with every reference followed, and one group for each way through `anyOf` and `oneOf`."""
        return _bounded(way for group in groups for way in self._ways(group))

    def _ways(self, group: Group) -> Groups:
        found: Groups = (_ANYTHING,)
        for node in group:
            found = _joined(found, self._of(node))
        return found

    def _of(self, node: object) -> Groups:
        if not isinstance(node, Mapping):
            return () if node is False else (_ANYTHING,)
        if (known := self._of_node.get(id(node))) is not None:
            return known
        self._of_node[id(node)] = (_ANYTHING,)  # where it leads back to itself
        found: Groups = ((node,),)
        for held in [*_referred(node, self.root), *_listed(node.get("allOf"))]:
            found = _joined(found, self._of(held))
        for keyword in ("anyOf", "oneOf"):
            if branches := _listed(node.get(keyword)):
                found = _joined(found, _bounded(way for branch in branches for way in self._of(branch)))
        self._of_node[id(node)] = found
        return found

    # What stands inside

    def below(self, groups: Groups, step: int | str) -> tuple[Groups, Groups]:
        """What may stand at an item or a key of groups that are taken apart: as written, and taken apart."""
        key = (id(groups), step if isinstance(step, str) else min(step, _longest_prefix(groups)))
        if key not in self._below:
            kind = "object" if isinstance(step, str) else "array"
            found = (held for group in taking(groups, kind) if (held := _held(group, step)) is not None)
            written = tuple({tuple(map(id, one)): one for one in found}.values())
            self._below[key] = (written, self.taken_apart(written))
        return self._below[key]


# Groups ---------------------------------------------------------------------------------------


def types_in(group: Group) -> set[str] | None:
    """The types that every schema of a group allows; None when all are."""
    found: set[str] | None = None
    for node in group:
        if names := types_of(node) or implied_types(node):
            own = {*names, *(["integer"] if "number" in names else []), *(["null"] if node.get("nullable") is True else [])}
            found = own if found is None else found & own
    return found


def taking(groups: Iterable[Group], kind: str) -> list[Group]:
    """The groups that a value of a type may fit."""
    return [group for group in groups if (types := types_in(group)) is None or kind in types]


def implied_types(node: Node) -> list[str]:
    """The types of a node that names none."""
    if isinstance(options := node.get("enum"), list):
        return [type_of(option) for option in options]
    if "const" in node:
        return [type_of(node["const"])]
    return ["object"] if "properties" in node else ["array"] if "items" in node or "prefixItems" in node else []


def type_of(value: object) -> str:
    """The JSON type of a value; of a number with a fraction or an exponent, `number`."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def properties_of(group: Group) -> dict[str, object]:
    """The keys that a group names."""
    found: dict[str, object] = {}
    for node in group:
        found.update(properties if isinstance(properties := node.get("properties"), Mapping) else {})
    return found


def required_in(group: Group) -> set[str]:
    """The keys that an object of a group needs."""
    return {name for node in group for name in _listed(node.get("required")) if isinstance(name, str)}


def is_closed(group: Group) -> bool:
    """Whether an object of a group has no keys but those that are named."""
    return any(
        node.get(keyword) is False for node in group for keyword in ("additionalProperties", "unevaluatedProperties")
    )


def is_map(group: Group) -> bool:
    """Whether the keys of an object of a group that are not named are data."""
    return any(isinstance(held := node.get("additionalProperties"), Mapping) and held for node in group)


def is_patterned(group: Group, key: str) -> bool:
    """Whether a pattern of a group's speaks of a key."""
    return any(_matching(node, key) for node in group)


# One node -------------------------------------------------------------------------------------


def _held(group: Group, step: int | str) -> Group | None:
    """The schemas of one item or key in a group; None when it may not be there."""
    held = [one for node in group for one in (_of_key(node, step) if isinstance(step, str) else _of_item(node, step))]
    return None if False in held else tuple(one for one in held if isinstance(one, Mapping))


def _of_key(node: Node, key: str) -> list[object]:
    properties = node.get("properties")
    named = [properties[key]] if isinstance(properties, Mapping) and key in properties else []
    found = [*named, *_matching(node, key)]
    return found or [node.get("additionalProperties", True)]


def _matching(node: Node, key: str) -> list[object]:
    patterns = node.get("patternProperties")
    return [held for pattern, held in patterns.items() if _matches(pattern, key)] if isinstance(patterns, Mapping) else []


def _matches(pattern: str, key: str) -> bool:
    return not _refusing(pattern).is_valid({key: None})


@lru_cache(maxsize=256)
def _refusing(pattern: str) -> jsonschema_rs.Validator:
    """A validator that refuses the keys which a pattern speaks of: schemas have regular expressions of their own."""
    import jsonschema_rs

    return jsonschema_rs.validator_for({"patternProperties": {pattern: False}})


def _of_item(node: Node, at: int) -> list[object]:
    prefix = _prefix(node)
    if at < len(prefix):
        return [prefix[at]]
    return [node.get("additionalItems" if isinstance(node.get("items"), list) else "items", True)]


def _prefix(node: Node) -> Sequence[object]:
    return _listed(node.get("prefixItems")) or _listed(node.get("items"))


def _longest_prefix(groups: Groups) -> int:
    return max((len(_prefix(node)) for group in groups for node in group), default=0)


def _referred(node: Node, root: Node) -> Iterator[object]:
    """The schema that a reference names; `True` for one that is no path in this schema."""
    if "$dynamicRef" in node or "$recursiveRef" in node:
        yield True
    reference = node.get("$ref")
    if not isinstance(reference, str):
        return
    found: object = root if reference == "#" or reference.startswith("#/") else None
    for step in reference.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, Mapping) else None
    yield found if isinstance(found, Mapping) else True


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _joined(left: Groups, right: Groups) -> Groups:
    """Every group of one beside every group of the other."""
    if len(left) * len(right) > _MOST:
        return (_ANYTHING,)
    return tuple((*one, *other) for one in left for other in right)


def _bounded(groups: Iterable[Group]) -> Groups:
    found = tuple(groups)
    return found if len(found) <= _MOST else (_ANYTHING,)


def _pointers(root: Node) -> tuple[dict[int, str], bool]:
    """Where each node stands, and whether references mean paths from the top throughout: below an `$id` they do not."""
    found: dict[int, str] = {}
    readable = True
    stack: list[tuple[object, str]] = [(root, "#")]
    while stack:
        node, pointer = stack.pop()
        if isinstance(node, Mapping):
            found[id(node)] = pointer
            readable = readable and (node is root or not isinstance(node.get("$id"), str))
            stack += [(held, f"{pointer}/{_escaped(key)}") for key, held in node.items()]
        elif isinstance(node, list):
            stack += [(held, f"{pointer}/{at}") for at, held in enumerate(node)]
    return found, readable


def _escaped(key: object) -> str:
    from urllib.parse import quote

    return quote(str(key).replace("~", "~0").replace("/", "~1"), safe="~")
