"""How work grows with its input, told in this process's own time so that a busy machine says the same."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

TIMES = 8


def grows(work: Callable[[int], object], size: int) -> float:
    """How many times longer `work` takes for an input of `TIMES` the size: about `TIMES` when it is linear, its square when not.

    `work(n)` makes its input of size n and works on it, so what makes the input has to be linear. Take a `size` that takes
    some milliseconds.
    """
    return _spent(lambda: work(size * TIMES)) / max(_spent(lambda: work(size)), 1e-3)


def _spent(work: Callable[[], object]) -> float:
    """Seconds of processor time, the least of three; the collector, which walks all that the process holds, is off."""
    found = []
    for _ in range(3):
        gc.collect()
        gc.disable()
        try:
            begun = time.process_time()
            work()
            found.append(time.process_time() - begun)
        finally:
            gc.enable()
    return min(found)
