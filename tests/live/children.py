"""Processes that speak in lines: the model's server, and one who talks with it."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

from suture.models import OpenAIChat

ROOT = Path(__file__).parents[2]
LIMIT = 60.0
LOOK = 0.01


class Child:
    """`python -m module arguments`. Whoever starts it ends it, by its pid."""

    def __init__(self, module: str, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._heard = b""

    def hear(self) -> str:
        """Its next line.

        Raises:
            TimeoutError: it says nothing for too long.
            EOFError: it has ended.
        """
        assert self.process.stdout is not None
        until = time.monotonic() + LIMIT
        while b"\n" not in self._heard:
            if not select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError("the child says nothing")
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            if not piece:
                raise EOFError(f"the child has ended: {self.process.wait(LIMIT)}")
            self._heard += piece
        line, _, self._heard = self._heard.partition(b"\n")
        return line.decode()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(LIMIT)

    def end(self) -> None:
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


class Server(Child):
    """The model's server. `url` is where it is."""

    def __init__(self) -> None:
        super().__init__("tests.live.server")
        self.url = self.hear()

    def model(self, **extra: object) -> OpenAIChat:
        """The model, asked with these further fields."""
        return OpenAIChat("smollm2-135m", base_url=f"{self.url}/v1", timeout=LIMIT, extra=extra)

    def is_busy(self) -> bool:
        """Whether it is writing an answer."""
        slots: list[dict[str, Any]] = json.loads(self._get("/slots"))
        return any(slot["is_processing"] for slot in slots)

    def written(self) -> int:
        """The tokens of all answers that are over, whole or not."""
        lines = (line.split() for line in self._get("/metrics").splitlines())
        return next(int(line[1]) for line in lines if line[0] == "llamacpp:tokens_predicted_total")

    def wait_idle(self, seconds: float) -> bool:
        """Whether it stops writing within so many seconds."""
        until = time.monotonic() + seconds
        while self.is_busy():
            if time.monotonic() > until:
                return False
            time.sleep(LOOK)
        return True

    def _get(self, path: str) -> str:
        with urllib.request.urlopen(self.url + path, timeout=LIMIT) as response:
            body: bytes = response.read()
        return body.decode()
