"""Bedrock's Converse: a history to neutral messages and back, losing nothing.

A user message holds results and words; it becomes one `ToolResult` per result, then one `User`. What a message or block
has beside its known members is kept in `ext["bedrock"]` and written back. Blocks that only Bedrock has (marks for the
cache, video, what its own tools did) are kept as they came.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from suture.formats.base import Choice, Decoded, Flaw, Json, Left, Offer, Rewritten, Settled, Written, is_whole
from suture.formats.bedrock import check as bedrock_check
from suture.formats.bedrock import tools, write
from suture.formats.bedrock.blocks import MEMBERS, Answer, arranged, blocks_of, is_nameless, pieces
from suture.formats.bedrock.cache import without_marks
from suture.formats.bedrock.documents import with_named_documents
from suture.formats.bedrock.media import flaw_of
from suture.formats.bedrock.models import family_of, takes_prefill
from suture.formats.bedrock.parts import NAME, SHAPE, block_of, is_block, part_of, unsaid
from suture.formats.bedrock.rules import RULE_OF, RULES
from suture.formats.limits import Limits
from suture.formats.rule import Finding, Rule
from suture.formats.wire import is_content, kept_of, not_an_object, not_content, rest, text_id, value_text, without_role
from suture.messages import Assistant, Ext, Message, Opaque, Part, System, Text, ToolResult, User

_MESSAGE = frozenset(("role", "content"))
_RESULT = frozenset(("toolUseId", "content", "status"))
_ERRORS = {"error": True, "success": False}


class Bedrock:
    """Bedrock's Converse, whichever model answers."""

    name: ClassVar[str] = NAME
    key: ClassVar[str] = "messages"
    head_keys: ClassVar[tuple[str, ...]] = ("system",)
    tool_keys: ClassVar[tuple[str, ...]] = ("toolConfig",)
    choice_path: ClassVar[str] = "toolConfig.toolChoice"
    model_key: ClassVar[str] = "modelId"
    dialects: ClassVar[frozenset[str]] = frozenset()
    rules: ClassVar[Mapping[str, Rule]] = RULES
    rule_of: ClassVar[Mapping[str, str]] = RULE_OF
    notes: ClassVar[frozenset[str]] = SHAPE | {write.MARKS}
    bytes_under: ClassVar[frozenset[str]] = frozenset(("bytes", "redactedContent"))
    borrowed: ClassVar[frozenset[str]] = frozenset()
    fields: ClassVar[frozenset[str]] = frozenset()

    def limits(self, variant: str) -> Limits:
        """What the model of that id takes; without one, what Claude takes."""
        family = family_of(variant)
        return Limits(
            id_pattern=r"^[a-zA-Z0-9_-]+\Z",
            id_length=64,
            ids_unique_in="history",
            name_pattern=r"^[a-zA-Z0-9_-]{1,64}\Z",
            arguments="object",
            calls_last=family.signed,
            joins_turns=True,
            text_with_calls=family.together,
            blank_text=False,
            result_lists=True,
            images_in_results=family.media,
            reasoning="signed" if family.signed else "none",
            reasoning_back=family.back,
            system="apart",
            first_user=True,
            alternate=True,
            user_after_result=family.together,
            prefill=takes_prefill(variant),
            trailing_space=not family.signed,
            tools="needed",
            choices=family.choices,
            model=variant or None,
        )

    def misfit(self, message: Json) -> str | None:
        """Why it can be no message: its role is missing."""
        return without_role(message)

    def sign(self, message: Json) -> str | None:
        """The first block in a message that is named by its only member, as no other format has it."""
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and "type" not in block and (members := block.keys() & MEMBERS):
                return f"a {min(members)!r} block"
        return None

    def check(self, request: Json, limits: Limits, *, open_tail: bool) -> list[Finding]:
        """Every rule that the request breaks, by place."""
        return bedrock_check.check(request, limits, open_tail=open_tail, whole=is_whole(request, self))

    def decode(self, messages: Sequence[Json], *, arguments: bool = True) -> Decoded:  # noqa: ARG002 - all are objects
        """The neutral messages."""
        found: list[Message] = []
        homes: list[int] = []
        for index, raw in enumerate(messages):
            made = list(_messages(raw, f"messages[{index}].content"))
            found += made
            homes += [index] * len(made)
        return Decoded(found, homes)

    def encode(self, messages: Sequence[Message]) -> list[Json]:
        """The wire messages; results and words of the user that stand beside each other are one."""
        return write.encode(messages)

    def takes(self, part: Part) -> bool:
        """Whether there is a block for the part."""
        return block_of(part) is not None

    def readable(self, part: Part) -> Part | None:
        """The part; none that is kept as it came with a type, as other APIs have it, and no member of ours."""
        return None if type(part) is Opaque and is_nameless(part.raw) else part

    def flaw(self, part: Part) -> Flaw | None:
        """What is wrong with the content of a picture, sound or document as it would be written."""
        block = block_of(part)
        return None if block is None else flaw_of(block)

    def part_of(self, raw: Json) -> Part:
        """A block of one member, read."""
        return part_of(raw, "block")

    def is_sound(self, part: Part) -> bool:
        """Whether a part that is kept as it came is one block of a kind that is not read here."""
        return type(part) is not Opaque or is_block(part.raw)

    def rewrite(self, raw: Sequence[Json], decoded: Decoded, written: Written) -> Rewritten:
        """The wire messages of a healed history; what did not change stays the very object that it was."""
        return write.Rewriting(raw, decoded, written).run()

    def beside(self, thing: Message | Part) -> Json:
        """What a message or part holds for this format alone: also marks for the cache before it, and more than words."""
        kept = kept_of(thing, NAME)
        marks = kept.get(write.MARKS)
        marked = {"cachePoint": marks[0].get("cachePoint")} if isinstance(marks, list) and marks else {}
        return {**rest(kept, self.notes), **marked, **unsaid(kept)}

    def lift(self, request: Json) -> list[System]:
        """The request's `system`."""
        content = request.get("system")
        if content is None or isinstance(content, str | list):
            parts = tuple([part_of(block, f"system[{at}]") for at, block in blocks_of(content, "system")])
            return [System(parts)] if parts else []
        raise not_content(content, "system")

    def head(self, system: Sequence[System]) -> Json:
        """The request's `system`, a list of blocks."""
        return write.head(system)

    def offer(self, name: str, description: str, parameters: Json) -> Json:
        """A tool as `toolConfig.tools` lists it."""
        return tools.offer(name, description, parameters)

    def offers(self, request: Json) -> list[Offer]:
        """The tools that have a specification."""
        return tools.offers(request)

    def with_offers(self, request: Json, offers: Sequence[Offer]) -> Json:
        """The request with these tools behind its own."""
        return tools.with_offers(request, offers)

    def left(self, request: Json) -> list[Left]:
        """What the request says of its tools that neither its offers nor its choice hold."""
        return list(tools.left(request))

    def choice(self, request: Json) -> Choice | None:
        """Which tools the model may call; None where the request does not say, or says it in words of its own."""
        return tools.choice(request)

    def with_choice(self, request: Json, choice: Choice) -> Json:
        """The request with that choice; as it is for none at all, which Converse cannot say."""
        return tools.with_choice(request, choice)

    def renamed(self, request: Json, names: Mapping[str, str]) -> Json:
        """The request with its tools, and the choice among them, under other names."""
        return tools.renamed(request, names)

    def settle(self, request: Json, limits: Limits) -> tuple[Json, list[Settled]]:
        """The request with system text in blocks, documents that have names of their own, and, for Claude, at most four
        marks for the cache.
        """
        done: list[Settled] = []
        if isinstance(system := request.get("system"), str):
            request = {**rest(request, frozenset(("system",))), **self.head(self.lift(request))}
            done.append(Settled("BLOCK_SHAPE", "system", "wrote the text as a block", system))
        request, named = with_named_documents(request)
        paths: list[str] = []
        if family_of(limits.model or "").signed:
            request, paths = without_marks(request)
        taken = [Settled("CACHE_MARKS", path, "took the mark for the cache away") for path in paths]
        return request, [*done, *named, *taken]

    def places(self, raw: Sequence[Json], decoded: Decoded, home: int) -> dict[int, list[str]]:
        """For each decoded message that came from that wire message: its path, then those of its parts."""
        path = f"messages[{home}]"
        content = raw[home].get("content")
        first, last = decoded.range_of(home)
        if not isinstance(content, list) or raw[home]["role"] not in ("user", "assistant", "system"):
            return {index: [path] for index in range(first, last)}
        answers, blocks = arranged(blocks_of(content, path))
        results = [f"{path}.content[{answer.at}]" for answer in answers]
        others = [f"{path}.content[{at}]" for at, _ in blocks]
        found = {index: [place] for index, place in zip(decoded.results_of(home), results, strict=True)}
        return {index: found.get(index, [path, *others]) for index in range(first, last)}


# Decoding -------------------------------------------------------------------------------------


def _messages(raw: Json, path: str) -> Iterator[Message]:
    """The neutral messages of one wire message: results and then words, or words and then results that got among them."""
    role = raw["role"]
    if role not in ("user", "assistant", "system"):
        yield User((Opaque(NAME, raw),))
        return
    answers, others = arranged(blocks_of(raw.get("content"), path))
    results = [_result(answer, f"{path}[{answer.at}]") for answer in answers]
    parts = tuple([part_of(block, f"{path}[{at}]") for at, block in others])
    ext = _ext(rest(raw, _MESSAGE)) if len(raw) > 2 else None
    if role == "user":
        yield from results
        if parts or not results:
            yield User(parts, None, ext)
        return
    yield Assistant(parts, None, ext) if role == "assistant" else System(parts, None, ext)
    yield from results


def _result(answer: Answer, path: str) -> ToolResult:
    inner = answer.block["toolResult"]
    if not isinstance(inner, dict):
        raise not_an_object(inner, f"{path}.toolResult")
    status = inner.get("status")
    error = _ERRORS.get(status) if isinstance(status, str) else None
    extra = rest(inner, _RESULT)
    if "status" in inner and error is None:
        extra["status"] = status
    if answer.marks:
        extra[write.MARKS] = answer.marks
    parts = tuple(_parts(inner.get("content"), f"{path}.toolResult.content"))
    return ToolResult(parts=parts, ext=_ext(extra), call_id=text_id(inner.get("toolUseId")), error=error)


def _parts(content: object, path: str) -> Iterator[Part]:
    """The parts of a result."""
    if not is_content(content, path):
        yield Text(value_text(content))
    elif isinstance(content, str):
        yield Text(content)
    elif isinstance(content, list):
        for nth, whole in enumerate(content):
            for block in pieces(whole):
                foreign = block.keys() & {"toolUse", "reasoningContent"}
                yield Opaque(NAME, block) if foreign else part_of(block, f"{path}[{nth}]")


def _ext(extra: Json) -> Ext | None:
    return {NAME: extra} if extra else None
