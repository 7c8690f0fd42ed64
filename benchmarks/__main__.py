"""All speeds, as ratios within one run: `make bench`."""

from __future__ import annotations

from benchmarks import adapters, append, calls, heal, listing, long, postgres, races, size, together, turn


def main() -> None:
    """Print each."""
    for title, bench in (
        ("A durable append against a bare transaction that reads and writes the same rows", append),
        (f"{together.SESSIONS} writers at once, who share commits", together),
        ("An append to PostgreSQL against a bare statement that writes the same rows", postgres),
        ("A page of a hundred out of 100,000 sessions", listing),
        ("A message on disk", size),
        ("A long session, read whole and opened at its boundary", long),
        ("A scripted turn with a history before it", turn),
        (f"A streamed answer of {adapters.WORDS} chunks through an adapter, against the vendor's SDK alone", adapters),
        ("A call checked, against decoding and validating it by hand", calls),
        (f"{races.RACES:,} races of two processes to decide on one call, and to settle one", races),
        ("Healing 10,000 messages with a fault in one turn of 50, against turnsafe", heal),
    ):
        print(f"\n{title}")
        bench.main()


if __name__ == "__main__":
    main()
