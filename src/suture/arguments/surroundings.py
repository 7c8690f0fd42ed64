"""What may stand around a JSON value and says nothing of it: known markup, fences, a few sentences that announce a call.

What is taken is listed, so that nothing of a call is dropped unread. Any other words could be an argument, change the call,
or take it back: `but use 200 instead`, `Ignore this:`, `"content": "b"`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from suture.arguments.markup import HEADERS, words_before, words_behind


class Callee(NamedTuple):
    """What the arguments are for: the tool's name, blank when any could be meant, and the names of its parameters."""

    tool: str = ""
    parameters: frozenset[str] = frozenset()

    @property
    def own(self) -> frozenset[str]:
        """The names of parameters, as those of elements are compared."""
        return frozenset(name.lower().replace("-", "_") for name in self.parameters)


ANY_CALLEE = Callee()

# The languages of a fence that only say how the value is written.
FENCE = (
    r"(?:```|~~~)[ \t]*(?:json[5cl]?|javascript|js|typescript|ts|python|py|text|txt|plaintext|tool_calls?|tool_code"
    r"|tool_use|function_calls?)?[ \t]*(?=\n|\Z|[\[{\"'])"
)
_FENCE_BEFORE = re.compile(rf"(?:\A|\n)[ \t]*{FENCE}\s*\Z", re.IGNORECASE)
_MARKS = re.compile(r"```|~~~|`")
_ENDS = re.compile(r"[.!:\n。！：]")
# A full stop beside another trails off.
_TRAILING = re.compile(r"\.\s*\.")
_BLANKS = re.compile(r"[\s\ufeff]+")
# Longer words are no announcement.
_LONGEST = 400


def is_lead(text: str, callee: Callee = ANY_CALLEE) -> bool:
    """Whether what stands before a value only leads up to it."""
    words = words_before(text, callee.own) if len(text) <= _LONGEST else None
    if words is None:
        return False
    fence = _FENCE_BEFORE.search(words)
    said = _sentences(_MARKS.sub(" ", words[: fence.start()] if fence else words))
    return said is not None and all(_is_header(one, callee) or _leads(callee.tool).fullmatch(one) for one in said)


def is_tail(text: str, callee: Callee = ANY_CALLEE) -> bool:
    """Whether what stands behind a value only says that the call is made."""
    words = words_behind(text, callee.own) if len(text) <= _LONGEST else None
    if words is None:
        return False
    said = _MARKS.sub(" ", words).strip(" \t\r\n\ufeff").removeprefix(";").strip()
    if said in ("", "."):
        return True
    found = _sentences(said) if said[-1] in ".!。！" else None
    return found is not None and all(_tails(callee.tool).fullmatch(one) for one in found)


def _sentences(text: str) -> list[str] | None:
    """The sentences and lines of a text, in small letters; None when it begins inside one, or trails off."""
    if _TRAILING.search(text) or _ENDS.match(text.strip()):
        return None
    pieces = (_BLANKS.sub(" ", piece).strip().lower().replace("\u2019", "'") for piece in _ENDS.split(text))
    return [piece for piece in pieces if piece]


def _is_header(words: str, callee: Callee) -> bool:
    return words in HEADERS and words not in callee.own


# Sentences ------------------------------------------------------------------------------------

_AGREED = r"(?:sure(?: thing)?|ok|okay|all ?right|of course|certainly|absolutely|understood|got it|great)"
_WILL = r"(?:i will|i'll|i am going to|i'm going to|let me|let's)"
_NOUN = (
    r"(?:(?:json|tool|function) )*(?:call|arguments|args|parameters|params|json|input|object"
    r"|argumente|argumentos|par[aá]metros|param[eè]tres)"
)
_THING = rf"(?:(?:the|your|my|les|los|os|die) )?(?:following )?{_NOUN}"
_HERE = r"(?:here (?:is|are)|here's|this is|these are|voil[aà],?|voici|hier sind|aqu[ií] est[aá]n)"
_WITH = rf"(?: with (?:these|the following) {_NOUN})?"
# Who says one of these may mean the call itself, and take it back or make another.
_UNDOING = frozenset(
    (
        *(
            "abort",
            "cancel",
            "clear",
            "close",
            "delay",
            "delete",
            "discard",
            "drop",
            "end",
            "hold",
            "ignore",
            "kill",
            "omit",
        ),
        *(
            "pause",
            "postpone",
            "recall",
            "redo",
            "reject",
            "remove",
            "reset",
            "retract",
            "retry",
            "revert",
            "revoke",
            "skip",
        ),
        *("stop", "suspend", "terminate", "undo", "wait", "withdraw"),
        *(
            "adjust",
            "change",
            "check",
            "correct",
            "edit",
            "fix",
            "modify",
            "not",
            "no",
            "patch",
            "replace",
            "review",
            "test",
        ),
        *("update", "validate", "verify"),
    )
)


@lru_cache(maxsize=256)
def _leads(tool: str) -> re.Pattern[str]:
    """The sentences that lead up to a call of a tool."""
    name, made = _name(tool), _made(tool)
    here = (
        rf"(?:{_HERE} {_THING}(?: (?:to|for|of) (?:the (?:tool|function) )?{name})?|here (?:you (?:are|go)|it is|they are))"
    )
    return re.compile(rf"{_AGREED}|(?:{_AGREED},? )?(?:{here}|{made}{_WITH})")


@lru_cache(maxsize=256)
def _tails(tool: str) -> re.Pattern[str]:
    """The sentences that say behind a call of a tool that it is made."""
    return re.compile(rf"done|(?:{_AGREED},? )?{_made(tool)}")


def _made(tool: str) -> str:
    """Words that say that a call is made, as it is and now."""
    doing = ["call", "run", "execute", "invoke", "make", "use", *_verbs(tool)]
    named = rf"(?:the (?:tool|function) )?{_name(tool)}(?: tool| function)?"
    what = rf"(?:it|that|this|(?:the|this) (?:tool|function|call)|{named})"
    return rf"(?:now )?(?:{_WILL} (?:now )?(?:{'|'.join(doing)})|calling|running|executing|invoking|using) {what}(?: now)?"


def _name(tool: str) -> str:
    """The tool's name; where none is known, a name that cannot be taken for words."""
    return re.escape(tool.lower()) if tool else r"[a-z0-9]+(?:_[a-z0-9]+)+"


def _verbs(tool: str) -> list[str]:
    """What the tool does, in its name's own words; not those that could be said of the call as well."""
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", tool).lower()) if tool else ["read"]
    return [word for word in words if word not in _UNDOING]
