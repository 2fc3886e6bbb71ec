"""`quiltwork serve`: the pages and the interface, on this machine unless said otherwise."""

from __future__ import annotations

import inspect
import os
import socket
import sys
import threading
import webbrowser
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from quiltwork.cli.ledger.connection import KEY, URL, Where
from quiltwork.cli.options import single
from quiltwork.errors import InvalidParameter, MissingExtra

FACTORY = "quiltwork.web:app_from_environment"  # by name, as any server would: no room imports the web
BACKLOG = 2048
GRACE = 5  # seconds for answers that are on their way when the service ends


@single(
    "quiltwork serve",
    "quiltwork serve --ledger budgets.db --open",
    "quiltwork serve --ledger postgresql+psycopg://USER@HOST/DATABASE --port 9000",
)
def serve(
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="URL", envvar="QUILTWORK_LEDGER", help=f"{URL}; without it there are plans and explorers only."
        ),
    ] = None,
    key_file: Annotated[Path | None, typer.Option(metavar="FILE", help=KEY)] = None,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", help="Where to listen; 0 takes a free one.")] = 8765,
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="A host name under which a public service is reached; repeat for more."),
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the first page in a browser.")] = False,
    public: Annotated[
        bool, typer.Option("--public", help="Others reach it, through TLS; needs --name and tokens.")
    ] = False,
    workers: Annotated[
        int, typer.Option(metavar="N", min=1, help="Processes that answer; more than one on PostgreSQL only.")
    ] = 1,
    log_level: Annotated[
        Literal["info", "warning", "error"], typer.Option(help="How much to write to the log.")
    ] = "info",
) -> None:
    """Serve budgets, plans and explorers as pages and as an HTTP interface."""
    try:
        import uvicorn
        from uvicorn.importer import import_from_string
        from uvicorn.supervisors import Multiprocess
    except ImportError:
        raise MissingExtra("uvicorn", "web") from None
    url = None
    if ledger is not None:
        where = Where(ledger, key_file=key_file)
        where.check_there()
        url = where.url
        if workers > 1 and not url.startswith("postgresql"):
            raise InvalidParameter("workers", workers, "1 on SQLite", "it has one writer: take PostgreSQL for more")
    listener = _listening(host, port)
    try:
        chosen = {  # what is asked for here reaches the service as QUILTWORK_* variables
            "LEDGER": url,
            "HOST": host,
            "PORT": str(listener.getsockname()[1]),
            "NAMES": ",".join(name or []),
            "PUBLIC": "yes" if public else "no",
            "WORKERS": str(workers),
            "LOG": log_level,
        }
        if key_file is not None:  # else the one that is set already, if any
            chosen["LEDGER_KEY"] = str(key_file)
        for variable, value in chosen.items():
            if value:
                os.environ[f"QUILTWORK_{variable}"] = value
            else:
                os.environ.pop(f"QUILTWORK_{variable}", None)
        # what is wrong with the settings is said here, in one line; each of several processes makes its own
        app = import_from_string(FACTORY)() if workers == 1 else FACTORY
        _announce(f"http://{f'[{host}]' if ':' in host else host}:{chosen['PORT']}/", ledger, open_browser)
        # requests are logged by the service itself, without their queries
        # only a proxy of this machine may say who it asks for, and only where there is one
        # h11 bounds what comes before a body, and refuses two hosts; whoever sends a body for ever does not keep us up
        strict: dict[str, Any] = {"http": "h11", "ws": "none", "timeout_graceful_shutdown": GRACE}
        config = uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False, proxy_headers=public, workers=workers,
            factory=workers > 1, **strict
        )  # fmt: skip
        if workers > 1:
            told: dict[str, Any] = {"sockets": [listener]}
            if "target" in inspect.signature(Multiprocess).parameters:  # of older versions
                told["target"] = uvicorn.Server(config).run
            Multiprocess(config, **told).run()
        else:
            uvicorn.Server(config).run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    finally:
        listener.close()


def _listening(host: str, port: int) -> socket.socket:
    """The socket first: a port that is taken is an error of one line, before anything is opened."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(place)
            listener.listen(BACKLOG)  # whoever reads the address and asks at once finds somebody
        except BaseException:
            listener.close()
            raise
    except (OSError, OverflowError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InvalidParameter(
            "host and port", f"{host}:{port}", "an address that is free on this machine", why
        ) from None
    return listener


def _announce(address: str, ledger: str | None, open_browser: bool) -> None:
    kept = "no ledger: plans and explorers only" if ledger is None else "budgets, plans and explorers"
    print(f"quiltwork serves {address} ({kept}); Ctrl+C ends it", file=sys.stderr, flush=True)
    if open_browser:
        threading.Timer(0.5, webbrowser.open, [address]).start()
