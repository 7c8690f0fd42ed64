"""A raw JSON schema: checked when a tool is made, compiled once, and what it refuses in words.

References to files and to the network are refused. No word of a refusal comes from the arguments, but for names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from suture.canonical import canonical
from suture.errors import InvalidSchema, NotJson
from suture.tools.nodes import names_in
from suture.tools.words import about, json_type, one_of, place_of, shown, told, unknown_key

# So many errors are put into words; a few are told.
_MOST_ERRORS = 64

# What a list says only as a whole.
_OF_LENGTH = frozenset(("minItems", "maxItems", "contains", "minContains", "maxContains", "uniqueItems"))

# One error of jsonschema-rs, whose kinds have attributes of their own.
_Error = Any


class Schema:
    """A JSON schema, compiled.

    Raises:
        InvalidSchema: it is none, or it leads out of itself; names the place.
    """

    def __init__(self, schema: Mapping[str, object], *, formats: bool) -> None:
        self.source = schema
        self._validator = _compiled(schema, formats=formats)

    def __deepcopy__(self, _memo: object) -> Schema:
        return self  # nothing in it changes

    def violations(self, arguments: Mapping[str, object]) -> list[str]:
        """What is wrong with arguments, one sentence each; none when they fit."""
        if self._validator.is_valid(arguments):
            return []
        errors = sorted(self._errors(dict(arguments)), key=_is_no_gap)
        words = _Words(self.source)
        return list(dict.fromkeys(sentence for error in errors for sentence in words.sentences(error)))

    def _errors(self, arguments: dict[str, object]) -> list[_Error]:
        """Some errors, of the first items of each list where those have any: to find them all takes long."""
        short = _shortened(arguments)
        found = islice(self._validator.iter_errors(short), _MOST_ERRORS)
        told = [error for error in found if error.kind.name not in _OF_LENGTH]
        return told or list(islice(self._validator.iter_errors(arguments), _MOST_ERRORS))


def schema_violations(schema: Mapping[str, object], arguments: Mapping[str, object]) -> list[str]:
    """What is wrong with arguments by the JSON schema of a tool that is not at hand, one sentence each.

    A `format` is a note here, as JSON schema has it; the tool itself looks at formats when the call is to run.

    Raises:
        InvalidSchema: the schema itself is not one.
    """
    return Schema(schema, formats=False).violations(arguments)


# Compiling ------------------------------------------------------------------------------------


def _compiled(schema: Mapping[str, object], *, formats: bool) -> _Error:
    import jsonschema_rs

    def refuse(uri: str) -> dict[str, object]:
        raise ValueError(f"the reference {uri} leads out of the schema; inline it")

    try:
        canonical(schema)
        return jsonschema_rs.validator_for(dict(schema), retriever=refuse, validate_formats=formats)
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
    """What errors by one schema say; keys that it does not name are data, and not told."""

    def __init__(self, schema: Mapping[str, object]) -> None:
        self.schema = schema
        self.names = names_in(schema)

    def sentences(self, error: _Error) -> Iterator[str]:
        """What one error says; several unknown or missing names are several sentences."""
        path, kind = told(error.instance_path, self.names), error.kind
        match kind.name:
            case "required":
                yield f"{place_of([*path, kind.property])!r} is missing"
            case "additionalProperties" | "unevaluatedProperties":
                known = _known(self.schema, error.schema_path[:-1])
                yield from (unknown_key([*path, name], known, before) for before, name in enumerate(kind.unexpected))
            case "propertyNames":
                yield about(place_of(path), f"the name of a key is not allowed: {_expected(kind.error.kind)}")
            case "oneOf" | "anyOf":
                yield about(place_of(path), self._no_branch(error))
            case _:
                yield about(place_of(path), f"{_expected(kind)}, but {_came(error, kind)} came")

    def _no_branch(self, error: _Error) -> str:
        """None of several schemas fits, or more than one where one has to."""
        branches = [branch for branch in error.kind.context if branch]
        if not branches:
            return "fits more than one of the allowed forms; it has to fit exactly one"
        came = json_type(error.instance)
        forms = [self._form(branch[0], len(error.instance_path)) for branch in branches]
        wanted = " or ".join(dict.fromkeys(form.removeprefix("expected ") for form in forms))[:600]
        return f"expected {wanted}, but {came} came"

    def _form(self, error: _Error, at: int) -> str:
        """What one of several schemas wants, seen from the place where they are offered."""
        path = told(error.instance_path, self.names)[at:]
        match error.kind.name:
            case "required":
                return f"expected an object with {place_of([*path, error.kind.property])!r}"
            case "additionalProperties" | "unevaluatedProperties":
                return f"expected an object without {place_of([*path, error.kind.unexpected[0]])!r}"
            case "oneOf" | "anyOf" | "propertyNames":
                return f"expected another form{_at(path)}"
            case _:
                return _expected(error.kind) + _at(path)


def _shortened(value: object) -> object:
    """A JSON value whose lists have so many items as errors are looked for."""
    if isinstance(value, dict):
        return {key: _shortened(held) for key, held in value.items()}
    return [_shortened(held) for held in value[:_MOST_ERRORS]] if isinstance(value, list) else value


def _is_no_gap(error: _Error) -> bool:
    """What is missing is told first."""
    return str(error.kind.name) != "required"


def _at(path: list[int | str]) -> str:
    return f" at {place_of(path)!r}" if path else ""


def _came(error: _Error, kind: _Error) -> str:
    """The type of what came, or its size where that is what is wrong."""
    match kind.name:
        case "minLength" | "maxLength":
            return f"one of {len(error.instance)} characters"
        case "minItems" | "maxItems":
            return f"one of {len(error.instance)} items"
        case "minProperties" | "maxProperties":
            return f"one of {len(error.instance)} keys"
        case "type" if "integer" in kind.types and isinstance(error.instance, float):
            return "a number with a fraction"
        case "enum" | "const":
            options = kind.options if kind.name == "enum" else [kind.expected_value]
            came = json_type(error.instance)
            return _another(came) if came in map(json_type, options) else came
        case "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" | "pattern" | "format":
            return _another(json_type(error.instance))
        case "uniqueItems":
            return "one with the same item twice"
        case _:
            return json_type(error.instance)


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


def _expected(kind: _Error) -> str:
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
        case "additionalItems" | "unevaluatedItems":
            return "expected a list without more items"
        case "not":
            return f"expected what does not fit {shown(kind.schema)}"
        case "falseSchema":
            return "expected nothing"
        case _:
            return f"expected what the schema's {kind.name!r} allows"


def _known(schema: object, path: Sequence[int | str]) -> list[str]:
    """The keys that the object schema at a path names."""
    for step in path:
        try:
            schema = schema[step]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            return []
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return list(properties) if isinstance(properties, Mapping) else []
