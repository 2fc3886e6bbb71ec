"""A line to the database server that a test can cut where it wants."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Callable

from tests.ledger.servers import PostgresServer

COMMIT = b"COMMIT\x00"  # with its end: BEGIN ISOLATION LEVEL READ COMMITTED holds the word too


def named(url: str) -> str:
    """The database in a URL."""
    return url.partition("?")[0].rpartition("/")[2]


class Line:
    """A line to the server that is cut at a word: before the server hears it, or after it has answered."""

    def __init__(self, port: int) -> None:
        self.target, self.word, self.heard = port, b"", True
        self.refusing = False  # whether it stays cut
        self.meanwhile: Callable[[], object] = lambda: None  # what happens before the client knows
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in [self._accepting, *self._threads]:
            thread.join(10)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.refusing:
                    client.close()
                    continue
                self._threads.append(threading.Thread(target=self._carry, args=(client,), daemon=True))
                self._threads[-1].start()

    def _carry(self, client: socket.socket) -> None:
        cut = False
        with contextlib.suppress(OSError), client, contextlib.ExitStack() as stack:
            server = socket.create_connection(("127.0.0.1", self.target))
            stack.callback(self._ended, server)
            while True:
                ready, _, _ = select.select([client, server], [], [])
                source, sink = (client, server) if client in ready else (server, client)
                data = source.recv(65536)
                if not data or (cut and source is server):
                    return
                if source is client and self.word and self.word in data:
                    self.word, cut = b"", True
                    if not self.heard:
                        return
                sink.sendall(data)

    def _ended(self, server: socket.socket) -> None:
        server.close()
        self.meanwhile()
        self.meanwhile = lambda: None


def through(line: Line, server: PostgresServer, url: str) -> str:
    """The URL of the same database at the other end of the line."""
    return server.tcp_url(named(url)).replace(f":{server.port}/", f":{line.port}/")
