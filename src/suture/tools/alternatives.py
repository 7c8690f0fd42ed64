"""What a schema lets stand at a place in arguments: alternatives, each of schemas that all have to hold.

What is not understood (a reference that is no path in this schema, `true`, too many alternatives) lets anything stand.
An object that has the constant by which alternatives are told apart is looked at by its own alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TypeAlias

from suture.tools.nodes import Node, types_of
from suture.tools.parts import Parts, listed, of_item, prefix
from suture.tools.spelling import Spellings

# Schemas that all have to hold; none, where anything may stand.
Group: TypeAlias = tuple[Node, ...]
Groups: TypeAlias = tuple[Group, ...]

_ANYTHING: Group = ()
# So many alternatives side by side, and so many of several unions that all have to hold.
_MOST = 10_000
_MOST_JOINED = 256
# So many schemas may be behind one another for the same place.
_DEEPEST = 64


class Alternatives:
    """The alternatives of one schema, each looked up once. Its nodes and groups are told apart by identity."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self._parts = Parts(root)
        self._of_node: dict[int, Groups] = {}
        self._of_groups: dict[tuple[tuple[int, ...], ...], Ways] = {}

    def __deepcopy__(self, _memo: object) -> Alternatives:
        return self  # what is added to it is what it would say anyway

    @property
    def is_readable(self) -> bool:
        """Whether the schema can be looked at by its nodes."""
        return self._parts.is_readable

    def fits(self, value: object, ways: Ways) -> bool:
        """Whether a value may stand at a place."""
        return any(all(self._parts.takes(node, value) for node in group) for group in ways.written)

    # What is written, taken apart

    def top(self) -> Ways:
        """What may stand as the arguments as a whole."""
        return self._ways_of(((self.root,),))

    def below(self, ways: Ways, step: int | str) -> Ways:
        """What may stand at an item or a key."""
        if isinstance(step, str) and ways.has_patterns:
            return self._below(ways, step)  # not kept: a key is data here
        # Keys of which nothing is said are alike.
        key = min(step, ways.longest_prefix) if isinstance(step, int) else step if step in ways.names else None
        if key not in ways.below:
            ways.below[key] = self._below(ways, step)
        return ways.below[key]

    def _below(self, ways: Ways, step: int | str) -> Ways:
        groups = ways.objects if isinstance(step, str) else ways.lists
        found = (held for group in groups if (held := self._held(group, step)) is not None)
        return self._ways_of(tuple({tuple(map(id, one)): one for one in found}.values()))

    def _held(self, group: Group, step: int | str) -> Group | None:
        """The schemas of one item or key in a group; None when it may not be there."""
        held = [
            one
            for node in group
            for one in (self._parts.of_key(node, step) if isinstance(step, str) else of_item(node, step))
        ]
        return None if False in held else _once(self._parts.followed(one) for one in held if isinstance(one, Mapping))

    def is_patterned(self, ways: Ways, key: str) -> bool:
        """Whether a pattern speaks of a key of an object at a place."""
        return ways.has_patterns and any(self._parts.matching(node, key) for group in ways.objects for node in group)

    def meant(self, ways: Ways, value: Mapping[str, object]) -> Ways:
        """What may stand at a place by the constant that an object has for the key that tells its alternatives apart."""
        if ways.tagged is None:
            ways.tagged = self._tagged(ways)
        told = [
            by_constant[constant]
            for key, by_constant in ways.tagged.items()
            if isinstance(constant := value.get(key), str) and constant in by_constant
        ]
        return min(told, key=lambda one: len(one.groups), default=ways)

    def _tagged(self, ways: Ways) -> dict[str, dict[str, Ways]]:
        """The alternatives by constant, for each key of which all of them list the constants."""
        found: dict[str, dict[str, Ways]] = {}
        for key in ways.tags if len(ways.objects) > 1 else ():
            by_constant: dict[str, list[Group]] = {}
            for group in ways.objects:
                texts = self._ways_of((self._held(group, key) or _ANYTHING,)).texts
                if texts is None:
                    break
                for constant in texts:
                    by_constant.setdefault(constant, []).append(group)
            else:
                found[key] = {constant: Ways(ways.written, tuple(groups)) for constant, groups in by_constant.items()}
        return found

    def _ways_of(self, written: Groups) -> Ways:
        """One group for each way through `anyOf` and `oneOf`, with every reference followed; the same for the same."""
        key = tuple(tuple(map(id, group)) for group in written)
        if key not in self._of_groups:
            self._of_groups[key] = Ways(written, _bounded(way for group in written for way in self._ways(group)))
        return self._of_groups[key]

    def _ways(self, group: Group) -> Groups:
        found: Groups = (_ANYTHING,)
        for node in group:
            found = _joined(found, self._of(node))
        return found

    def _of(self, node: object, depth: int = 0) -> Groups:
        if not isinstance(node, Mapping) or depth > _DEEPEST:
            return () if node is False else (_ANYTHING,)
        if (known := self._of_node.get(id(node))) is not None:
            return known
        self._of_node[id(node)] = (_ANYTHING,)  # where it leads back to itself
        found: Groups = ((node,),)
        for held in [*self._parts.referred(node), *listed(node.get("allOf"))]:
            found = _joined(found, self._of(held, depth + 1))
        for keyword in ("anyOf", "oneOf"):
            if branches := listed(node.get(keyword)):
                found = _joined(found, _bounded(way for branch in branches for way in self._of(branch, depth + 1)))
        self._of_node[id(node)] = found
        return found


class Ways:
    """What may stand at a place: the groups as they are written, and one for each way through them."""

    def __init__(self, written: Groups, groups: Groups) -> None:
        self.written = written
        self.groups = groups
        self.below: dict[int | str | None, Ways] = {}
        self.tagged: dict[str, dict[str, Ways]] | None = None

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
        return max((len(prefix(node)) for group in self.groups for node in group), default=0)

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

    @cached_property
    def has_patterns(self) -> bool:
        """Whether patterns speak of keys of an object here."""
        return any("patternProperties" in node for group in self.objects for node in group)

    @cached_property
    def tags(self) -> list[str]:
        """The keys that every object here names; a constant may stand for them."""
        named = [_properties(group) for group in self.objects]
        return [key for key in named[0] if all(key in one for one in named[1:])] if named else []

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
    return {name for node in group for name in listed(node.get("required")) if isinstance(name, str)}


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


def _joined(left: Groups, right: Groups) -> Groups:
    """Every group of one beside every group of the other."""
    if min(len(left), len(right)) > 1 and len(left) * len(right) > _MOST_JOINED:
        return (_ANYTHING,)
    return tuple(_once((*one, *other)) for one in left for other in right)


def _once(nodes: Iterable[Node]) -> Group:
    """Each node once: what all levels of a value are held to twice would else be held to ever more often."""
    return tuple({id(node): node for node in nodes}.values())


def _bounded(groups: Iterable[Group]) -> Groups:
    found: dict[tuple[int, ...], Group] = {}
    for group in groups:
        found[tuple(map(id, group))] = group
        if len(found) > _MOST:
            return (_ANYTHING,)
    return tuple(found.values())
