"""A raw JSON schema: checked when a tool is made, compiled once, and what it refuses in words.

References to files and to the network are refused. No word of a refusal comes from the arguments, but for names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from suture.canonical import canonical
from suture.errors import InvalidSchema, NotJson
from suture.tools.faults import (
    BadName,
    Fault,
    Kind,
    Missing,
    NoBranch,
    NoOption,
    Nothing,
    Unclear,
    Unknown,
    Unwanted,
    faults,
)
from suture.tools.nodes import names_in
from suture.tools.parts import Parts, pattern_options
from suture.tools.words import about, json_type, one_of, place_of, shown, told, unknown_key

if TYPE_CHECKING:
    import jsonschema_rs

# So many faults are put into words; a few are told.
_MOST_FAULTS = 64
_LONGEST_FORMS = 600


class Schema:
    """A JSON schema, compiled.

    Raises:
        InvalidSchema: it is none, or it leads out of itself; names the place.
    """

    def __init__(self, schema: Mapping[str, object], *, formats: bool) -> None:
        self.source = schema
        self._validator = _compiled(schema, formats=formats)
        self._words = _Words(schema, formats=formats)

    def __deepcopy__(self, _memo: object) -> Schema:
        return self  # nothing in it changes

    def violations(self, arguments: Mapping[str, object]) -> list[str]:
        """What is wrong with arguments, one sentence each; none when they fit."""
        if self._validator.is_valid(arguments):
            return []
        found = sorted(islice(faults(self._words.parts, self.source, dict(arguments)), _MOST_FAULTS), key=_is_no_gap)
        return list(dict.fromkeys(sentence for fault in found for sentence in self._words.sentences(fault)))


def schema_violations(schema: Mapping[str, object], arguments: Mapping[str, object]) -> list[str]:
    """What is wrong with arguments by the JSON schema of a tool that is not at hand, one sentence each.

    A `format` is a note here, as JSON schema has it; the tool itself looks at formats when the call is to run.

    Raises:
        InvalidSchema: the schema itself is not one.
    """
    return Schema(schema, formats=False).violations(arguments)


# Compiling ------------------------------------------------------------------------------------


def _compiled(schema: Mapping[str, object], *, formats: bool) -> jsonschema_rs.Validator:
    import jsonschema_rs

    def refuse(uri: str) -> dict[str, object]:
        raise ValueError(f"the reference {uri} leads out of the schema; inline it")

    try:
        canonical(schema)
        return jsonschema_rs.validator_for(
            dict(schema), retriever=refuse, validate_formats=formats, pattern_options=pattern_options()
        )
    except NotJson as error:
        raise InvalidSchema(f"The parameters are no JSON schema: {error}") from error
    except jsonschema_rs.ValidationError as error:
        place = _within(error.instance_path or _leads_out(schema, error.message))
        raise InvalidSchema(f"The parameters are no JSON schema: {place}: {error.message[:400]}") from error
    except (jsonschema_rs.ReferencingError, ValueError) as error:
        place = _within(_leads_out(schema, str(error)))
        raise InvalidSchema(f"The parameters are no JSON schema: {place}: {str(error)[:400]}") from error


def _within(path: Sequence[int | str]) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def _leads_out(schema: object, message: str) -> Sequence[int | str]:
    """Where the reference stands that a message is about; the schema as a whole when there is none."""
    for path, reference in _references(schema, ()):
        if reference.lstrip("#") in message:
            return path
    return ()


def _references(node: object, path: tuple[int | str, ...]) -> Iterator[tuple[tuple[int | str, ...], str]]:
    match node:
        case Mapping():
            for key, item in node.items():
                if key in ("$ref", "$dynamicRef") and isinstance(item, str):
                    yield (*path, key), item
                else:
                    yield from _references(item, (*path, key))
        case list():
            for index, item in enumerate(node):
                yield from _references(item, (*path, index))


# Words ----------------------------------------------------------------------------------------


class _Words:
    """What faults by one schema say; keys that it does not name are data, and not told."""

    def __init__(self, schema: Mapping[str, object], *, formats: bool) -> None:
        self.parts = Parts(schema, formats=formats)

    @cached_property
    def names(self) -> frozenset[str]:
        """The keys that may be told."""
        return names_in(self.parts.root)

    def sentences(self, fault: Fault) -> Iterator[str]:
        """What one fault says; several unknown names are several sentences."""
        path = told(fault.path, self.names)
        match fault.wrong:
            case Missing(name):
                yield f"{place_of([*path, name])!r} is missing"
            case Unknown(names, known):
                yield from (unknown_key([*path, name], known, before) for before, name in enumerate(names))
            case BadName(kind):
                yield about(place_of(path), f"the name of a key is not allowed: {_expected(kind)}")
            case NoBranch([]):
                yield about(place_of(path), "fits more than one of the allowed forms; it has to fit exactly one")
            case NoBranch(branches):
                yield about(place_of(path), f"expected {self._forms(branches, fault)}, but {json_type(fault.value)} came")
            case wrong:
                yield about(place_of(path), f"{_wanted(wrong)}, but {_came(fault.value, wrong)} came")

    def _forms(self, branches: list[object], fault: Fault) -> str:
        """What several schemas want, as many as there is room for."""
        forms: dict[str, None] = {}
        for branch in branches[:_MOST_FAULTS]:
            first = next(faults(self.parts, branch, fault.value, fault.path))
            forms[self._form(first, len(fault.path)).removeprefix("expected ")] = None
            if sum(map(len, forms)) > _LONGEST_FORMS:
                break
        return " or ".join(forms)[:_LONGEST_FORMS]

    def _form(self, first: Fault, at: int) -> str:
        """What one of several schemas wants, by what is wrong with it first, seen from the place where they are offered."""
        path = told(first.path, self.names)[at:]
        match first.wrong:
            case Missing(name):
                return f"expected an object with {place_of([*path, name])!r}"
            case Unknown(names, _):
                return f"expected an object without {place_of([*path, names[0]])!r}"
            case NoBranch() | BadName():
                return f"expected another form{_at(path)}"
            case wrong:
                return _wanted(wrong) + _at(path)


def _is_no_gap(fault: Fault) -> bool:
    """What is missing is told first."""
    return not isinstance(fault.wrong, Missing)


def _at(path: list[int | str]) -> str:
    return f" at {place_of(path)!r}" if path else ""


def _came(value: object, wrong: Nothing | NoOption | Unclear | Unwanted | Kind) -> str:
    """The type of what came, or its size where that is what is wrong."""
    if isinstance(wrong, Nothing | Unclear | Unwanted):
        return json_type(value)
    if isinstance(wrong, NoOption):
        came = json_type(value)
        return _another(came) if any(json_type(option) == came for option in wrong.options) else came
    match wrong.name, value:
        case "minLength" | "maxLength", str():
            return f"one of {len(value)} characters"
        case "minItems" | "maxItems", list():
            return f"one of {len(value)} items"
        case "minProperties" | "maxProperties", dict():
            return f"one of {len(value)} keys"
        case "type", float() if "integer" in wrong.types:
            return "a number with a fraction"
        case "const", _:
            came = json_type(value)
            return _another(came) if came == json_type(wrong.expected_value) else came
        case "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" | "pattern" | "format", _:
            return _another(json_type(value))
        case "uniqueItems", _:
            return "one with the same item twice"
        case _:
            return json_type(value)


def _another(came: str) -> str:
    return f"another {came.partition(' ')[2]}" if " " in came else came


_TYPES = {
    "integer": "an integer",
    "object": "an object",
    "null": "null",
    "array": "a list",
    "string": "a string",
    "number": "a number",
    "boolean": "a boolean",
}


def _wanted(wrong: Nothing | NoOption | Unclear | Unwanted | Kind) -> str:
    match wrong:
        case Nothing():
            return "expected nothing"
        case NoOption(options):
            return f"expected {one_of(options)}"
        case Unwanted(schema):
            return f"expected what does not fit {shown(schema)}"
        case Unclear(keyword):
            return f"expected what the schema's {keyword!r} allows"
        case _:
            return _expected(wrong)


def _expected(kind: Kind) -> str:
    match kind.name:
        case "type":
            return f"expected {' or '.join(_TYPES.get(name, name) for name in kind.types)}"
        case "enum":
            return f"expected {one_of(kind.options)}"
        case "const":
            return f"expected {shown(kind.expected_value)}"
        case "minimum":
            return f"expected a number of at least {shown(kind.limit)}"
        case "maximum":
            return f"expected a number of at most {shown(kind.limit)}"
        case "exclusiveMinimum":
            return f"expected a number above {shown(kind.limit)}"
        case "exclusiveMaximum":
            return f"expected a number below {shown(kind.limit)}"
        case "multipleOf":
            return f"expected a multiple of {shown(kind.multiple_of)}"
        case "minLength":
            return f"expected a string of at least {kind.limit} characters"
        case "maxLength":
            return f"expected a string of at most {kind.limit} characters"
        case "pattern":
            # A pattern that takes too long to try says nothing of itself.
            return f"expected a string that matches {shown(getattr(kind, 'pattern', 'the pattern'))}"
        case "format":
            return f"expected a string of the format {shown(kind.format)}"
        case "minItems":
            return f"expected a list of at least {kind.limit} items"
        case "maxItems":
            return f"expected a list of at most {kind.limit} items"
        case "uniqueItems":
            return "expected a list whose items all differ"
        case "contains":
            return "expected a list that fits the schema's 'contains'"
        case "minProperties":
            return f"expected an object of at least {kind.limit} keys"
        case "maxProperties":
            return f"expected an object of at most {kind.limit} keys"
        case "falseSchema":
            return "expected nothing"
        case _:
            return f"expected what the schema's {kind.name!r} allows"
