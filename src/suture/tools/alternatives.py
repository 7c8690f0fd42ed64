"""What a schema lets stand at a place in arguments: alternatives, each of schemas that all have to hold.

What is not understood (a reference that is no path in this schema, `true`, too many alternatives) lets anything stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypeAlias

from suture.tools.nodes import Node, types_of
from suture.tools.spelling import Spellings

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
        self._validators: dict[int, jsonschema_rs.Validator | None] = {}

    def fits(self, value: object, ways: Ways) -> bool:
        """Whether a value may stand at a place."""
        return any(all(self._takes(node, value) for node in group) for group in ways.written)

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

    def top(self) -> Ways:
        """What may stand as the arguments as a whole."""
        return self._ways_of(((self.root,),))

    def below(self, ways: Ways, step: int | str) -> Ways:
        """What may stand at an item or a key."""
        key = step if isinstance(step, str) else min(step, ways.longest_prefix)
        if key not in ways.below:
            groups = ways.objects if isinstance(step, str) else ways.lists
            found = (held for group in groups if (held := _held(group, step)) is not None)
            ways.below[key] = self._ways_of(tuple({tuple(map(id, one)): one for one in found}.values()))
        return ways.below[key]

    def _ways_of(self, written: Groups) -> Ways:
        """One group for each way through `anyOf` and `oneOf`, with every reference followed."""
        return Ways(written, _bounded(way for group in written for way in self._ways(group)))

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


class Ways:
    """What may stand at a place: the groups as they are written, and one for each way through them."""

    def __init__(self, written: Groups, groups: Groups) -> None:
        self.written = written
        self.groups = groups
        self.below: dict[int | str, Ways] = {}

    @cached_property
    def types(self) -> set[str] | None:
        """The types that may stand here; None when any may."""
        found = [_types_in(group) for group in self.groups]
        return None if None in found else {name for types in found for name in types or ()}

    @cached_property
    def objects(self) -> list[Group]:
        """The groups that an object may fit."""
        return _taking(self.groups, "object")

    @cached_property
    def lists(self) -> list[Group]:
        """The groups that a list may fit."""
        return _taking(self.groups, "array")

    @cached_property
    def longest_prefix(self) -> int:
        """How many items of a list are spoken of one by one; all further ones alike."""
        return max((len(_prefix(node)) for group in self.groups for node in group), default=0)

    @cached_property
    def names(self) -> Spellings:
        """The keys that any object here names."""
        return Spellings(name for group in self.objects for name in _properties(group))

    @cached_property
    def optional(self) -> set[str]:
        """The keys that every object here names, and none needs. The others are data, or needed."""
        named = set.intersection(*(set(_properties(group)) for group in self.objects)) if self.objects else set()
        return named.difference(*map(_required, self.objects))

    @cached_property
    def needed(self) -> set[str]:
        """The keys that every object here needs."""
        return set.intersection(*map(_required, self.objects)) if self.objects else set()

    @cached_property
    def is_closed(self) -> bool:
        """Whether no object here has other keys than those that are named."""
        return all(_is_closed(group) for group in self.objects)

    @cached_property
    def is_map(self) -> bool:
        """Whether the keys of an object here that are not named are data."""
        return any(_is_map(group) for group in self.objects)

    def is_patterned(self, key: str) -> bool:
        """Whether a pattern speaks of a key of an object here."""
        return any(_matching(node, key) for group in self.objects for node in group)

    @cached_property
    def texts(self) -> Spellings | None:
        """The texts that are listed for this place; None where others may stand as well."""
        found = [_options(group) for group in _taking(self.groups, "string")]
        return None if None in found else Spellings(option for each in found for option in each or ())


# Groups ---------------------------------------------------------------------------------------


def _types_in(group: Group) -> set[str] | None:
    """The types that every schema of a group allows; None when any is."""
    found: set[str] | None = None
    for node in group:
        if names := types_of(node) or _implied_types(node):
            own = {*names, *(["integer"] if "number" in names else []), *(["null"] if node.get("nullable") is True else [])}
            found = own if found is None else found & own
    return found


def _taking(groups: Iterable[Group], kind: str) -> list[Group]:
    return [group for group in groups if (types := _types_in(group)) is None or kind in types]


def _implied_types(node: Node) -> list[str]:
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


def _properties(group: Group) -> dict[str, object]:
    found: dict[str, object] = {}
    for node in group:
        found.update(properties if isinstance(properties := node.get("properties"), Mapping) else {})
    return found


def _required(group: Group) -> set[str]:
    return {name for node in group for name in _listed(node.get("required")) if isinstance(name, str)}


def _is_closed(group: Group) -> bool:
    return any(
        node.get(keyword) is False for node in group for keyword in ("additionalProperties", "unevaluatedProperties")
    )


def _is_map(group: Group) -> bool:
    return any(isinstance(held := node.get("additionalProperties"), Mapping) and held for node in group)


def _options(group: Group) -> list[str] | None:
    """The texts that every list in a group has; None when it lists none."""
    listed = [node["enum"] if "enum" in node else [node["const"]] for node in group if "enum" in node or "const" in node]
    lists = [one for one in listed if isinstance(one, list)]
    if not lists:
        return None
    return [option for option in lists[0] if isinstance(option, str) and all(option in other for other in lists[1:])]


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
