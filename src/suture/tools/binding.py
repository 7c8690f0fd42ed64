"""What checks the arguments of a call, and makes of them what the handler gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from suture.arguments import parse
from suture.canonical import canonical
from suture.tools.schemas import Schema
from suture.tools.shapes import unknown_keys
from suture.tools.violations import violations_of

if TYPE_CHECKING:
    from pydantic import TypeAdapter


class Unfit(ValueError):
    """The arguments do not fit; `violations` says how, one sentence each."""

    def __init__(self, violations: list[str]) -> None:
        super().__init__("; ".join(violations))
        self.violations = violations


class Binding(Protocol):
    """Checks arguments, and binds them to the parameters of a handler."""

    @property
    def schema(self) -> Mapping[str, object]:
        """The JSON schema of what it takes, which is what the model is shown."""

    def violations(self, arguments: Mapping[str, object]) -> list[str]:
        """What is wrong with the arguments, one sentence each; none when they fit."""

    def bind(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """The keyword arguments of the handler; they share nothing with `arguments`.

        Raises:
            Unfit: they do not fit.
        """


@dataclass(frozen=True)
class _Typed:
    """Arguments as pydantic reads them: strictly, as JSON. `schema` is what the model was shown."""

    adapter: TypeAdapter[object]
    schema: Mapping[str, object]

    def violations(self, arguments: Mapping[str, object]) -> list[str]:
        """What is wrong with the arguments, one sentence each; none when they fit."""
        try:
            self._value(arguments)
        except Unfit as error:
            return error.violations
        return []

    def _value(self, arguments: Mapping[str, object]) -> object:
        from pydantic import ValidationError

        unknown = unknown_keys(self.schema, arguments)
        try:
            value = self.adapter.validate_json(canonical(arguments), strict=True)
        except ValidationError as error:
            raise Unfit(violations_of(error, self.schema, arguments, unknown)) from error
        except Exception as error:
            # A validator is the host's code: its failure refuses its call alone.
            raise Unfit([f"the tool's own check of them failed ({type(error).__name__})"]) from error
        if unknown:
            raise Unfit(list(unknown.values()))
        return value


@dataclass(frozen=True)
class TypedParameters(_Typed):
    """The typed parameters of a function, each bound by its name."""

    fields: Mapping[str, str]  # of the pydantic model, by parameter

    def bind(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """Each parameter, of the type that it declares."""
        value = self._value(arguments)
        return {parameter: getattr(value, field) for parameter, field in self.fields.items()}


@dataclass(frozen=True)
class TypedValue(_Typed):
    """All arguments as one value of a class, bound to one parameter."""

    parameter: str

    def bind(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """The value."""
        return {self.parameter: self._value(arguments)}


@dataclass(frozen=True)
class RawArguments:
    """All arguments as the dict that they are, checked by a JSON schema and bound to one parameter."""

    compiled: Schema
    parameter: str

    @property
    def schema(self) -> Mapping[str, object]:
        """The schema that checks them."""
        return self.compiled.source

    def violations(self, arguments: Mapping[str, object]) -> list[str]:
        """What is wrong with the arguments, one sentence each; none when they fit."""
        return self.compiled.violations(arguments)

    def bind(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """A copy of the dict."""
        if wrong := self.violations(arguments):
            raise Unfit(wrong)
        copied, _, reason = parse(arguments)
        if copied is None:
            raise Unfit([str(reason)])
        return {self.parameter: copied}
