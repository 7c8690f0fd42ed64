"""Histories for property tests: hypothesis strategies over `suture.testing.histories`. Needs hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from suture.testing.histories import History, broken_history, junk_history, sound_history


def sound_histories(format: str, turns: int = 3) -> st.SearchStrategy[History]:
    """Histories of that wire format in which nothing is wrong."""
    return st.randoms(use_true_random=False).map(lambda chance: sound_history(format, chance, turns))


def broken_histories(format: str, turns: int = 3, faults: int = 3) -> st.SearchStrategy[History]:
    """Histories of that wire format to which up to so many things have happened; some of them are sound."""
    return st.randoms(use_true_random=False).map(lambda chance: broken_history(format, chance, turns, faults))


def junk_histories(format: str, turns: int = 2, places: int = 3) -> st.SearchStrategy[History]:
    """Broken histories of that wire format in which up to so many values are what belongs nowhere, JSON or not."""
    return st.randoms(use_true_random=False).map(lambda chance: junk_history(format, chance, turns, places))
