"""Mending pairs: every call answered at once, exactly once, and nothing real lost in silence."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from suture.messages import Assistant, Message, Text, ToolCall, ToolResult, User
from suture.repair import fill_orphans, mend, prune_orphans, stand_in, stand_in_text, with_unique_ids

U = User.of("u")
SAID = Assistant.of("ok")
UNKNOWN = stand_in_text("unknown")


def A(*ids: str, text: str = "") -> Assistant:  # noqa: N802 - the letters of the specification
    """An assistant message that calls tools."""
    words = (Text(text),) if text else ()
    return Assistant((*words, *(ToolCall(id, "f", {}) for id in ids)))


def T(id: str, text: str) -> ToolResult:  # noqa: N802
    """A real result."""
    return ToolResult.of(id, text)


def P(id: str, name: str = "f") -> ToolResult:  # noqa: N802
    """The stand-in for a result."""
    return stand_in(ToolCall(id, name, {}), "unknown")


def is_valid(messages: Sequence[Message]) -> bool:
    """Whether each turn is followed at once by one result per call, with ids unique in all of it."""
    seen: set[str] = set()
    at = 0
    while at < len(messages):
        message = messages[at]
        at += 1
        if isinstance(message, ToolResult):
            return False
        if isinstance(message, Assistant):
            ids = [call.id for call in message.calls]
            if len(set(ids)) < len(ids) or seen & set(ids):
                return False
            seen |= set(ids)
            found = list(itertools.takewhile(lambda m: isinstance(m, ToolResult), messages[at:]))
            if sorted(m.call_id for m in found if isinstance(m, ToolResult)) != sorted(ids):
                return False
            at += len(found)
    return True


def texts(messages: Sequence[Message]) -> list[str]:
    return [message.text for message in messages if isinstance(message, ToolResult)]


ALPHABET: list[tuple[str, Message | None]] = [
    ("U", U),
    ("A", SAID),
    ("A[a]", A("a")),
    ("A[a,b]", A("a", "b")),
    ("A[a,a]", A("a", "a")),
    ("T(a)", None),
    ("T(b)", None),
]


@pytest.mark.spec("S33")
@pytest.mark.spec("S34")
@pytest.mark.spec("S39")
@pytest.mark.parametrize("length", range(5))
def test_every_short_history_is_mended(length: int) -> None:
    """All histories of up to four messages over the alphabet of the specification: filled ones are valid, valid ones
    are the same object, mending is done once, and each real result is kept or reported.
    """
    for letters in itertools.product(ALPHABET, repeat=length):
        given = [made or T(name[2], f"{name} {at}") for at, (name, made) in enumerate(letters)]
        before = list(given)
        filled, _ = fill_orphans(given)
        assert is_valid(filled), given
        assert given == before
        assert (filled is given) == is_valid(given)
        assert fill_orphans(filled)[0] is filled
        pruned = prune_orphans(given)
        assert prune_orphans(pruned) is pruned
        reported = [done.detail for done in mend(given).mends]
        assert all(text in texts(filled) or text in reported for text in texts(given)), given


@pytest.mark.spec("S33")
@pytest.mark.parametrize(
    ("given", "filled"),
    [
        pytest.param([A("a"), U, T("a", "1")], [A("a"), T("a", "1"), U], id="D1 late result"),
        pytest.param([A("a"), SAID, T("a", "1")], [A("a"), T("a", "1"), SAID], id="D2 late result after assistant"),
        pytest.param([T("a", "1"), A("a")], [A("a"), T("a", "1")], id="D3 result before its call"),
        pytest.param([A("a"), T("a", "1"), T("a", "1")], [A("a"), T("a", "1")], id="D4 duplicate results"),
        pytest.param([A("a", "a")], [A("a", "a_2"), P("a"), P("a_2")], id="D5 duplicate ids in one turn"),
        pytest.param(
            [A("a"), T("a", "1"), A("a")], [A("a"), T("a", "1"), A("a_2"), P("a_2")], id="D6 two assistants share an id"
        ),
        pytest.param(
            [U, A("a"), U, A("a")], [U, A("a"), P("a"), U, A("a_2"), P("a_2")], id="D7 shared id loses the boundary"
        ),
        pytest.param([U, T("x", "1")], [U], id="D8 parentless result"),
        pytest.param([A("a", "b"), T("a", "1")], [A("a", "b"), T("a", "1"), P("b")], id="D9 wrong order"),
        pytest.param(
            [U, A("a", "b", text="paying"), T("a", "paid"), U],
            [U, A("a", "b", text="paying"), T("a", "paid"), P("b"), U],
            id="D10 partial turn erased",
        ),
        pytest.param([U, A("a"), U], [U, A("a"), P("a"), U], id="D11 same-role neighbours"),
        pytest.param(
            [A("a"), T("b", "2"), T("a", "1"), A("b"), T("b", "3")],
            [A("a"), T("a", "1"), A("b"), T("b", "3")],
            id="D12 foreign result inside a turn",
        ),
        pytest.param([A("a"), U], [A("a"), P("a"), U], id="D13 stale resume"),
        pytest.param([A("a"), U, T("a", "ran later")], [A("a"), T("a", "ran later"), U], id="D14 resume with a prompt"),
        pytest.param([A("a"), SAID], [A("a"), P("a"), SAID], id="D15 earlier orphans"),
        pytest.param([A("a"), T("a", "")], [A("a"), T("a", "")], id="D16 an empty result is an answer"),
        pytest.param([A("a"), U], [A("a"), P("a"), U], id="D17 nothing vanishes"),
    ],
)
def test_filling_mends_each_known_defect(given: list[Message], filled: list[Message]) -> None:
    """Each family that the old transforms left broken comes out whole, real results in their place."""
    assert fill_orphans(given)[0] == filled
    assert is_valid(filled)


@pytest.mark.spec("S36")
@pytest.mark.parametrize(
    ("given", "pruned"),
    [
        pytest.param([A("a"), U, T("a", "1")], [A("a"), T("a", "1"), U], id="D1"),
        pytest.param([T("a", "1"), A("a")], [A("a"), T("a", "1")], id="D3 is not pending again"),
        pytest.param([U, A("a"), U, A("a")], [U, U, A("a")], id="D7 the boundary turn stays"),
        pytest.param(
            [U, A("a", "b", text="paying"), T("a", "paid"), U],
            [U, A("a", text="paying"), T("a", "paid"), U],
            id="D10 only the unanswered call goes",
        ),
        pytest.param([A("a"), U], [U], id="D17 an assistant of unanswered calls alone goes"),
        pytest.param([A("a", text="let me see"), U], [Assistant.of("let me see"), U], id="words stay"),
    ],
)
def test_pruning_takes_unanswered_calls_alone(given: list[Message], pruned: list[Message]) -> None:
    """Words and real results of an incomplete turn stay, as decided for S36."""
    assert prune_orphans(given) == pruned


@pytest.mark.spec("S37")
def test_pruning_drops_results_that_no_call_asked_for() -> None:
    """A stray result goes, and its text is in the report."""
    given: list[Message] = [U, T("x", "gone"), SAID]
    assert prune_orphans(given) == [U, SAID]
    assert [(done.code, done.detail) for done in mend(given).mends] == [("RESULT_ORPHAN", "gone")]


@pytest.mark.spec("S38")
def test_pruning_keeps_the_pending_calls_of_the_end() -> None:
    """Calls of the last turn are still to run when only results follow them; a message behind them ends that."""
    pending: list[Message] = [U, A("a", "b"), T("a", "1")]
    assert prune_orphans(pending) is pending
    assert prune_orphans([*pending, U]) == [U, A("a"), T("a", "1"), U]


@pytest.mark.spec("S39")
def test_complete_histories_are_the_same_object() -> None:
    """Where nothing is wrong, nothing is made anew, results in another order than the calls included."""
    given: list[Message] = [U, A("a", "b"), T("b", "2"), T("a", "1"), SAID]
    assert fill_orphans(given) == (given, [])
    assert fill_orphans(given)[0] is given
    assert prune_orphans(given) is given


@pytest.mark.spec("S34")
def test_filling_names_what_it_filled() -> None:
    """The ids come in order, and the input stays as it was."""
    given: list[Message] = [A("a", "b"), T("b", "2"), U, A("c")]
    before = list(given)
    filled, ids = fill_orphans(given)
    assert ids == ["a", "c"]
    assert given == before
    assert filled == [A("a", "b"), P("a"), T("b", "2"), U, A("c"), P("c")]


@pytest.mark.spec("S35")
def test_a_stand_in_says_what_it_is() -> None:
    """It carries the call's id and name, an error and its type, a mark, and words that claim no success."""
    made = stand_in(ToolCall("a", "pay", {}), "unknown", "the process died")
    assert (made.call_id, made.name, made.error, made.error_type, made.synthetic) == (
        "a",
        "pay",
        True,
        "interrupted",
        "unknown",
    )
    assert made.text == (
        "This call did not finish: the process died. No result of it was recorded. It may have run and taken effect; "
        "check before repeating it."
    )


def test_the_texts_are_never_mixed_up() -> None:
    """Not run, may have run, ran, out of time, refused: five sentences, each with room for a reason."""
    said = {why: stand_in_text(why, "because") for why in ("not_run", "unknown", "lost", "timeout", "denied")}
    assert len(set(said.values())) == 5
    assert all(": because" in text for text in said.values())
    assert "may have run" not in said["not_run"]
    assert "not run" not in said["unknown"]
    assert "has taken effect" in said["lost"]


@pytest.mark.parametrize(
    ("given", "named", "codes"),
    [
        pytest.param([A("a", "a"), T("a", "1"), T("a", "2")], ["a", "a_2"], ["ID_DUPLICATE"], id="twice in a turn"),
        pytest.param([A(""), T("", "1")], ["call_0_0"], ["ID_MISSING"], id="none"),
        pytest.param([A("a_2", "a", "a")], ["a_2", "a", "a_3"], ["ID_DUPLICATE"], id="the derived one is taken"),
    ],
)
def test_ids_become_unique(given: list[Message], named: list[str], codes: list[str]) -> None:
    """Calls and results are renamed together; names depend on what came before alone."""
    out, mends = with_unique_ids(given, scope="turn")
    first = out[0]
    assert isinstance(first, Assistant)
    assert [call.id for call in first.calls] == named
    results = [message for message in out if isinstance(message, ToolResult)]
    assert [result.call_id for result in results] == named[: len(results)]
    assert [done.code for done in mends] == codes


def test_ids_that_nobody_needs_are_not_made() -> None:
    """Where calls may have none, only ids that are used twice change."""
    given: list[Message] = [A("", "a", "a"), T("", "1"), T("a", "2"), T("a", "3")]
    out, mends = with_unique_ids(given, scope="turn", needed=False)
    assert out == [A("", "a", "a_2"), T("", "1"), T("a", "2"), T("a_2", "3")]
    assert [done.code for done in mends] == ["ID_DUPLICATE"]


def test_results_of_one_id_are_told_by_their_names() -> None:
    """Results without ids that came in another order get those of their calls."""
    calls = Assistant((ToolCall("", "f", {}), ToolCall("", "g", {}), ToolCall("", "f", {})))
    results = [ToolResult(parts=(Text(name),), name=name) for name in ("g", "f", "f")]
    out, _ = with_unique_ids([calls, *results], scope="turn")
    assert [message.call_id for message in out[1:] if isinstance(message, ToolResult)] == [
        "call_0_1",
        "call_0_0",
        "call_0_2",
    ]


def test_ids_that_come_back_are_renamed_in_a_history_alone() -> None:
    """Where ids count per turn, one that comes back later is left as it is."""
    given: list[Message] = [A("a"), T("a", "1"), A("a"), T("a", "2")]
    assert with_unique_ids(given, scope="turn") == (given, [])
    out, mends = with_unique_ids(given, scope="history")
    assert out == [A("a"), T("a", "1"), A("a_2"), T("a_2", "2")]
    assert [(done.code, done.position, done.slot) for done in mends] == [("ID_REUSED", 2, 0)]


def test_orphans_can_be_quoted() -> None:
    """A result without a call becomes the user's note, words kept."""
    given: list[Message] = [U, ToolResult((Text("42 rows"),), call_id="x", name="query")]
    mended = mend(given, orphans="quote")
    assert mended.messages[1].text == "[Result of query of an earlier tool call]42 rows"
    assert [done.code for done in mended.mends] == ["RESULT_ORPHAN"]
