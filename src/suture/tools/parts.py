"""A JSON schema taken apart: what checks by each of its nodes, and which nodes speak of a key, an item, or the same place.

All validators come of one registry, each made when it is first asked for; what takes a schema twice takes it from here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING

from suture.tools.nodes import Node

if TYPE_CHECKING:
    import jsonschema_rs

_HERE = "urn:suture:parameters"
# What says nothing of values; a reference beside such alone is that to which it leads.
_ANNOTATIONS = frozenset(
    (
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "$comment",
        "$defs",
        "definitions",
    )
)
# What is looked at node by node. The rest of a node is what it says of one value itself.
_APART = _ANNOTATIONS | frozenset(
    (
        *("$id", "id", "$schema", "$ref", "$dynamicRef", "$recursiveRef", "$anchor", "$dynamicAnchor", "$recursiveAnchor"),
        *("allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas"),
        *("properties", "patternProperties", "additionalProperties", "unevaluatedProperties"),
        *("prefixItems", "items", "additionalItems", "unevaluatedItems"),
    )
)
# What has to see all of a value.
_DEEP = frozenset(("enum", "const", "uniqueItems", "contains", "not"))
# So many nodes are compiled in all, each as often as a node is asked for that leads to it: a union of thousands that
# refers to itself is a part of each of its branches.
_MOST_COMPILED = 200_000
_MOST_STEPS_BACK = 50_000
# What is wrong by these is found by hand.
AT_LENGTH = ("required", "dependentRequired", "enum")
# Of these drafts, nothing beside a reference counts.
_ALONE = ("draft-03", "draft-04", "draft-06", "draft-07")


class Parts:
    """The nodes of one schema, told apart by identity, and what checks by each. Without `formats`, the draft decides."""

    def __init__(self, root: Node, *, formats: bool | None = None) -> None:
        self.root = root
        self._formats = formats
        self._whole: dict[int, jsonschema_rs.Validator | None] = {}
        self._alone: dict[int, jsonschema_rs.Validator | None] = {}
        self._by_constant: dict[tuple[int, str], dict[str, dict[str, list[object]]]] = {}
        self._left = _MOST_COMPILED
        self._told: dict[int, jsonschema_rs.Validator | None] = {}
        self._listed: dict[int, jsonschema_rs.Validator | None] = {}
        self._patterns: dict[str, jsonschema_rs.Validator] = {}

    @property
    def is_readable(self) -> bool:
        """Whether references mean paths from the top throughout: below an `$id` they do not."""
        return self._places[1]

    # What checks

    def takes(self, node: object, value: object) -> bool:
        """Whether a value fits a node. One that cannot be compiled alone takes anything."""
        if not isinstance(node, Mapping):
            return node is not False
        node = self.followed(node)
        alone = self.alone(node)
        if alone is not None and not alone.is_valid(value if is_deep(node) else shallow(value)):
            return False
        if _APART.isdisjoint(node.keys() - _ANNOTATIONS):
            return True
        if isinstance(value, Mapping) and self._is_of_another(node, value):
            return False
        whole = self._whole_of(node)
        return whole is None or bool(whole.is_valid(value))

    def alone(self, node: Node) -> jsonschema_rs.Validator | None:
        """What checks by that which a node says itself, without the nodes in it; None when it says nothing."""
        if id(node) not in self._alone:
            self._alone[id(node)] = self._of_own(_own(node, is_alone=self._refers_alone))
        return self._alone[id(node)]

    def told(self, node: Node) -> jsonschema_rs.Validator | None:
        """The same without what would be told at length: jsonschema-rs makes all errors at once, each with the value."""
        if id(node) not in self._told:
            own = _own(node, is_alone=self._refers_alone)
            self._told[id(node)] = self._of_own({key: held for key, held in own.items() if key not in AT_LENGTH})
        return self._told[id(node)]

    def listed(self, node: Node) -> jsonschema_rs.Validator | None:
        """What checks by the values that a node lists."""
        if id(node) not in self._listed:
            self._listed[id(node)] = self._of_own({key: held for key, held in node.items() if key == "enum"})
        return self._listed[id(node)]

    def _of_own(self, own: dict[str, object]) -> jsonschema_rs.Validator | None:
        schema = self.root.get("$schema")
        return self._compiled({**own, "$schema": schema} if schema else own) if own else None

    def _whole_of(self, node: Node) -> jsonschema_rs.Validator | None:
        """What checks by a node and all to which it leads; None when that cannot be compiled, or was too often."""
        if id(node) not in self._whole:
            self._left -= sum(1 for _ in self._reached(node))
            pointer = self._places[0].get(id(node))
            may_be = pointer is not None and self._left >= 0
            self._whole[id(node)] = self._compiled({"$ref": f"{_HERE}{pointer}"}) if may_be else None
        return self._whole[id(node)]

    def _reached(self, node: Node) -> Iterator[Node]:
        """The nodes to which one leads, as far as may still be compiled."""
        seen = set[int]()
        stack: list[object] = [node]
        while stack and len(seen) <= max(self._left, 0):
            held = stack.pop()
            if isinstance(held, list):
                stack += held
            elif isinstance(held, Mapping) and id(held) not in seen:
                seen.add(id(held))
                yield held
                stack += [*held.values(), *self.referred(held)]

    def _compiled(self, schema: dict[str, object]) -> jsonschema_rs.Validator | None:
        import jsonschema_rs

        try:
            registry = self._registry if _HERE in str(schema) else None
            patterns = pattern_options()
            return jsonschema_rs.validator_for(
                schema, registry=registry, validate_formats=self._formats, pattern_options=patterns
            )
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
            return None

    @cached_property
    def _registry(self) -> jsonschema_rs.Registry | None:
        import jsonschema_rs

        try:
            return jsonschema_rs.Registry([(_HERE, dict(self.root))])
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
            return None

    @cached_property
    def _places(self) -> tuple[dict[int, str], bool]:
        return _pointers(self.root)

    # Where nodes lead

    @cached_property
    def _refers_alone(self) -> bool:
        return any(draft in str(self.root.get("$schema")) for draft in _ALONE)

    def followed(self, node: Node) -> Node:
        """The node to which one leads that is nothing but a reference."""
        seen = set[int]()
        while "$ref" in node and id(node) not in seen and (self._refers_alone or not node.keys() - _ANNOTATIONS - {"$ref"}):
            seen.add(id(node))
            held = next(self.referred(node), True)
            node = held if isinstance(held, Mapping) else node
        return node

    def referred(self, node: Node) -> Iterator[object]:
        """The schema that a reference names; `True` for one that is no path in this schema."""
        if "$dynamicRef" in node or "$recursiveRef" in node:
            yield True
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return
        found: object = self.root if reference == "#" or reference.startswith("#/") else None
        for step in reference.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, Mapping) else None
        yield found if isinstance(found, Mapping) else True

    def beside(self, node: Node, value: object) -> Iterator[object]:
        """The schemas that all have to hold for the same value as the node does."""
        yield from self.referred(node)
        if self._refers_alone and "$ref" in node:
            return
        yield from listed(node.get("allOf"))
        if "if" in node:
            yield node.get("then" if self.takes(node["if"], value) else "else", True)
        if isinstance(value, Mapping):
            for keyword in ("dependentSchemas", "dependencies"):
                held = node.get(keyword)
                yield from (one for key, one in held.items() if key in value) if isinstance(held, Mapping) else ()

    def branches(self, node: Node, keyword: str, value: object) -> list[object]:
        """The alternatives that a node offers, without those of which an object has another constant."""
        offered = listed(node.get(keyword))
        if not isinstance(value, Mapping) or len(offered) < 2:
            return offered
        if (id(node), keyword) not in self._by_constant:
            self._by_constant[id(node), keyword] = self._told_apart(offered)
        for key, by_constant in self._by_constant[id(node), keyword].items():
            if isinstance(constant := value.get(key), str):
                return by_constant.get(constant, [])
        return offered

    def _told_apart(self, offered: list[object]) -> dict[str, dict[str, list[object]]]:
        """Alternatives by constant, for each key for which all of them name some, and different ones."""
        found: dict[str, dict[str, list[object]]] = {}
        followed = [self.followed(one) if isinstance(one, Mapping) else {} for one in offered]
        properties = [held if isinstance(held := node.get("properties"), Mapping) else {} for node in followed]
        for key in properties[0]:
            constants = [self._constants(held.get(key)) for held in properties]
            if None not in constants and len({one for each in constants for one in each or ()}) > 1:
                for branch, each in zip(offered, constants, strict=True):
                    for constant in each or ():
                        found.setdefault(key, {}).setdefault(constant, []).append(branch)
        return found

    def _constants(self, node: object) -> list[str] | None:
        """The texts that a node lists, when it lists nothing else."""
        held = self.followed(node) if isinstance(node, Mapping) else {}
        listing = [held["const"]] if "const" in held else listed(held.get("enum"))
        texts = [one for one in listing if isinstance(one, str)]
        return list(dict.fromkeys(texts)) if texts and len(texts) == len(listing) else None

    def _is_of_another(self, node: Node, value: Mapping[str, object]) -> bool:
        """Whether an object has another constant than a node names."""
        return not all(self.takes(held, value[key]) for key, held in self._tags(node, value))

    def _tags(self, node: Node, value: Mapping[str, object]) -> list[tuple[str, object]]:
        """The keys of an object for which a node names constants."""
        properties = node.get("properties")
        if not isinstance(properties, Mapping):
            return []
        few, many = (value, properties) if len(value) < len(properties) else (properties, value)
        return [(key, properties[key]) for key in few if key in many and self._is_tag(properties[key])]

    def _is_tag(self, node: object) -> bool:
        return isinstance(node, Mapping) and not {"const", "enum"}.isdisjoint(self.followed(node))

    def of_key(self, node: Node, key: str) -> list[object]:
        """The schemas of one key, of those that a node has for keys."""
        properties = node.get("properties")
        named = [properties[key]] if isinstance(properties, Mapping) and key in properties else []
        found = [*named, *self.matching(node, key)]
        return found or [node.get("additionalProperties", True)]

    def matching(self, node: Node, key: str) -> list[object]:
        """The schemas whose patterns speak of a key."""
        patterns = node.get("patternProperties")
        return [held for one, held in patterns.items() if self._matches(one, key)] if isinstance(patterns, Mapping) else []

    def _matches(self, pattern: str, key: str) -> bool:
        """Whether a pattern speaks of a key; schemas have regular expressions of their own."""
        if pattern not in self._patterns:
            import jsonschema_rs

            self._patterns[pattern] = jsonschema_rs.validator_for(
                {"patternProperties": {pattern: False}}, pattern_options=pattern_options()
            )
        return not self._patterns[pattern].is_valid({key: None})


@cache
def pattern_options() -> jsonschema_rs.FancyRegexOptions:
    """How long a pattern may try each text, in steps back; what takes longer does not match."""
    import jsonschema_rs

    return jsonschema_rs.FancyRegexOptions(backtrack_limit=_MOST_STEPS_BACK)


def shallow(value: object) -> object:
    """A value without what stands in it."""
    if isinstance(value, Mapping):
        return dict.fromkeys(value)
    return [None] * len(value) if isinstance(value, list) else value


def is_deep(node: Node) -> bool:
    """Whether what a node says itself is of more than the value and its keys, or the number of its items."""
    return not _DEEP.isdisjoint(node)


def of_item(node: Node, at: int) -> list[object]:
    """The schema of one item."""
    first = prefix(node)
    if at < len(first):
        return [first[at]]
    return [node.get("additionalItems" if isinstance(node.get("items"), list) else "items", True)]


def prefix(node: Node) -> Sequence[object]:
    """The schemas of the items that are spoken of one by one."""
    return listed(node.get("prefixItems")) or listed(node.get("items"))


def listed(value: object) -> list[object]:
    """A list, or none."""
    return value if isinstance(value, list) else []


def _own(node: Node, *, is_alone: bool) -> dict[str, object]:
    """What a node says of one value; references in it lead to the whole schema."""
    if is_alone and "$ref" in node:
        return {}
    own = {keyword: _elsewhere(held) for keyword, held in node.items() if keyword not in _APART}
    dependencies = own.get("dependencies")
    if isinstance(dependencies, dict):
        own["dependencies"] = {key: held for key, held in dependencies.items() if isinstance(held, list)}
    if node.get("additionalProperties") is False:
        own["additionalProperties"] = False
        for keyword in ("properties", "patternProperties"):
            if isinstance(held := node.get(keyword), Mapping):
                own[keyword] = {key: {} for key in held}
    return own


def _elsewhere(held: object) -> object:
    if isinstance(held, list):
        return [_elsewhere(one) for one in held]
    if not isinstance(held, Mapping):
        return held
    reference = held.get("$ref")
    own = {key: _elsewhere(one) for key, one in held.items()}
    return own | {"$ref": _HERE + reference} if isinstance(reference, str) and reference.startswith("#") else own


def _pointers(root: Node) -> tuple[dict[int, str], bool]:
    """Where each node stands, and whether references mean paths from the top throughout."""
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
