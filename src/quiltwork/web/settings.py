"""How a service is set up: where its ledger is, who reaches it, and how much one caller may ask for."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.errors import InvalidParameter

LOOPBACK = ("127.0.0.1", "localhost", "::1")
PREFIX = "QUILTWORK_"
MEGABYTE = 1 << 20
TIMES = ("seconds", "body_seconds", "ready_seconds", "verify_seconds", "idle", "lifetime")
RATES = ("reads", "writes", "works", "sign_ins", "guesses", "denials")
UPLOADS = ("/api/explore/audit", "/explore/audit", "/releases")


@attrs.frozen
class Rate:
    """So many requests a second on average, and so many at once."""

    each_second: float
    at_once: int

    def shared(self, processes: int) -> Rate:
        """The part of one of so many processes."""
        return Rate(self.each_second / processes, max(1, self.at_once // processes))


@attrs.frozen
class Settings:
    """`public` says that others than this machine reach the service, through TLS that ends before it.

    `names` are the host names under which it is reached besides those of this machine; a request for another host is
    refused, so that no foreign name can be pointed at a private service.
    """

    ledger: str | None = None
    key_file: str | None = None
    host: str = "127.0.0.1"
    port: int = 8765
    names: tuple[str, ...] = ()
    public: bool = False
    most_bytes: int = MEGABYTE  # of one request
    most_upload: int = 4 * MEGABYTE  # of one file of scores
    processes: int = 2
    seconds: float = 20.0  # for one answer that is computed
    memory: int = 4096 * MEGABYTE  # of one process that computes
    body_seconds: float = 15.0  # for a body to arrive
    ready_seconds: float = 1.0  # for the ledger to say where it ends
    verify_seconds: float = 900.0  # for one walk through the whole chain
    idle: float = 1800.0  # seconds after which an unused session ends
    lifetime: float = 43200.0  # seconds after which any session ends
    reads: Rate = Rate(200.0, 1000)
    writes: Rate = Rate(20.0, 100)
    works: Rate = Rate(8.0, 40)
    sign_ins: Rate = Rate(0.2, 10)  # with one token
    guesses: Rate = Rate(1.0, 30)  # from one address
    denials: Rate = Rate(0.2, 20)
    workers: int = 1  # processes that answer at one port: limits are divided among them

    def __attrs_post_init__(self) -> None:
        for name in TIMES:
            checks.positive(name, getattr(self, name))
        for name, least in (
            ("workers", 1),
            ("processes", 1),
            ("most_bytes", 1),
            ("most_upload", 1),
            ("memory", MEGABYTE),
        ):
            checks.count(name, getattr(self, name), least=least)
        if not 0 <= checks.count("port", self.port) <= 65535:
            raise InvalidParameter("port", self.port, "a number from 0 to 65535")
        if not self.public and not self.local:
            raise InvalidParameter(
                "host", self.host, "an address of this machine alone, such as 127.0.0.1",
                "others may reach it only as a public service, behind TLS and with tokens",
            )  # fmt: skip
        if self.public and not self.names:
            raise InvalidParameter("names", self.names, "the host names of a public service")

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def cookie(self) -> str:
        """The name of the session's cookie: bound to this very host, or to this port of this machine."""
        return "__Host-quiltwork" if self.public else f"quiltwork-{self.port}"

    def cookie_header(self, cookie: str) -> str:
        """What sets it: no script can read it, and no other site's request carries it."""
        secure = "; Secure" if self.public else ""
        return f"{self.cookie}={cookie}; HttpOnly; Path=/; SameSite=strict{secure}"

    def most(self, path: str) -> int:
        """The most bytes that may be sent to a path."""
        return self.most_upload if path in UPLOADS else self.most_bytes

    @property
    def hosts(self) -> tuple[str, ...]:
        """Every host name that a request may carry."""
        return (*dict.fromkeys((*LOOPBACK, "[::1]", *(name.lower() for name in self.names))),)

    @classmethod
    def from_environment(cls, variables: Mapping[str, str] | None = None) -> Settings:
        """QUILTWORK_LEDGER, QUILTWORK_LEDGER_KEY, QUILTWORK_HOST, _PORT, _NAMES (with commas), _PUBLIC, _WORKERS,
        _PROCESSES.

        Times in seconds: _SECONDS, _BODY_SECONDS, _READY_SECONDS, _VERIFY_SECONDS, _IDLE, _LIFETIME. Rates as "each
        second:at once", for example QUILTWORK_RATE_READS=200:1000; also _WRITES, _WORKS, _SIGN_INS, _GUESSES, _DENIALS.
        """
        found = os.environ if variables is None else variables

        def said(name: str) -> str:
            return found.get(PREFIX + name, "").strip()

        given: dict[str, Any] = {
            "ledger": said("LEDGER") or None,
            "key_file": said("LEDGER_KEY") or None,
            "names": tuple(filter(None, (name.strip() for name in said("NAMES").split(",")))),
            "public": _switched("PUBLIC", said("PUBLIC")),
        }
        if said("HOST"):
            given["host"] = said("HOST")
        for name in ("PORT", "WORKERS", "PROCESSES"):
            if said(name):
                given[name.lower()] = _whole(name, said(name))
        for name in TIMES:
            if said(name.upper()):
                given[name] = _number(name.upper(), said(name.upper()))
        for kind in RATES:
            if said(f"RATE_{kind.upper()}"):
                given[kind] = _rate(f"RATE_{kind.upper()}", said(f"RATE_{kind.upper()}"))
        return cls(**given)


def _switched(name: str, text: str) -> bool:
    words = {"": False, "0": False, "no": False, "false": False, "1": True, "yes": True, "true": True}
    if text.lower() not in words:
        raise InvalidParameter(PREFIX + name, text, "yes or no")
    return words[text.lower()]


def _whole(name: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise InvalidParameter(PREFIX + name, text, "a whole number")
    return int(text)


def _number(name: str, text: str) -> float:
    try:
        return checks.positive(PREFIX + name, float(text))
    except ValueError:
        raise InvalidParameter(PREFIX + name, text, "a number of seconds, > 0") from None


def _rate(name: str, text: str) -> Rate:
    """So many a second, a colon, and so many at once.

    >>> _rate("RATE_READS", "0.5:20")
    Rate(each_second=0.5, at_once=20)
    """
    each, colon, once = text.partition(":")
    if not colon:
        raise InvalidParameter(PREFIX + name, text, "such as 200:1000, each second : at once")
    most = _whole(name, once.strip())
    return Rate(_number(name, each.strip()), checks.count(PREFIX + name, most, least=1))
