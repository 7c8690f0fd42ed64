"""A server on loopback that answers each request with the bytes it was given, and sees the client go away."""

from __future__ import annotations

import json
import sys
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_LOOK = 0.05  # seconds between two looks at whether the server is being closed
_WRITE = 10.0  # seconds for a client that does not read


@dataclass(frozen=True, slots=True)
class Replay:
    """What one request gets: the chunks, each sent at once, then the end of the body, or silence.

    A `silent` one without chunks sends no status line either.
    """

    chunks: tuple[bytes, ...] = ()
    silent: bool = False
    content_type: str = "text/event-stream"


class ReplayServer:
    """Serves the replays in the order they were added, whatever the path; close it when done."""

    def __init__(self) -> None:
        self._replays: deque[Replay] = deque()
        self._changed = threading.Condition()
        self._bodies: list[object] = []
        self._left = 0
        self._closing = threading.Event()
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.replays = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(_LOOK,), name="suture-replay")
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it listens, without a path."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def add(self, replay: Replay) -> None:
        """Serve this one after those that were added before."""
        with self._changed:
            self._replays.append(replay)

    def requests(self) -> Sequence[object]:
        """The JSON bodies that came, in order."""
        with self._changed:
            return tuple(self._bodies)

    def wait_for_request(self, timeout: float) -> bool:
        """Whether a request arrives within so many seconds, or has arrived."""
        with self._changed:
            return self._changed.wait_for(lambda: bool(self._bodies), timeout)

    def wait_for_disconnect(self, timeout: float) -> bool:
        """Whether a client went away from a silent replay, within so many seconds from now."""
        with self._changed:
            return self._changed.wait_for(lambda: self._left > 0, timeout)

    def reset(self) -> None:
        """Forget what was added and what came."""
        with self._changed:
            self._replays.clear()
            self._bodies.clear()
            self._left = 0

    def close(self) -> None:
        """Stop serving; every thread and socket of it is gone afterwards."""
        self._closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    # For the handler --------------------------------------------------------------------------

    def took(self, body: bytes) -> Replay:
        """What a request with that body gets; an empty body when nothing was added."""
        with self._changed:
            self._bodies.append(json.loads(body or b"null"))
            self._changed.notify_all()
            return self._replays.popleft() if self._replays else Replay()

    def left(self) -> None:
        """A client went away."""
        with self._changed:
            self._left += 1
            self._changed.notify_all()

    @property
    def closing(self) -> bool:
        """Whether handlers are to end."""
        return self._closing.is_set()


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # so that closing waits for them
    replays: ReplayServer

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  as the base class has it
        """A client may go away at any time; that is no failure of the server."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        """Serve the next replay, and no second request over this connection."""
        self.close_connection = True
        self.connection.settimeout(_WRITE)
        replay = self.server.replays.took(self.rfile.read(int(self.headers.get("content-length", 0))))
        if replay.chunks or not replay.silent:
            self._send(replay)
        if replay.silent:
            self._wait_for_the_client_to_leave()
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _send(self, replay: Replay) -> None:
        self.send_response(200)
        self.send_header("content-type", replay.content_type)
        self.send_header("transfer-encoding", "chunked")
        self.send_header("connection", "close")
        self.end_headers()
        for chunk in replay.chunks:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))

    def _wait_for_the_client_to_leave(self) -> None:
        self.connection.settimeout(_LOOK)
        while not self.server.replays.closing:
            if self._has_left():
                self.server.replays.left()
                return

    def _has_left(self) -> bool:
        try:
            return not self.connection.recv(1)
        except TimeoutError:
            return False
        except OSError:  # a reset is a goodbye too
            return True

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
