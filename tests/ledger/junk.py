"""What nobody should pass to a ledger, what somebody will, and losses of every family up to their extremes."""

from __future__ import annotations

import contextlib
import decimal
import enum
import io
import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import quiltwork as qw
from quiltwork.errors import QuiltworkError


class Word(str):
    """A text of another type."""


class Colour(enum.Enum):
    RED = "city"


def _endless() -> tuple[list[Any], dict[str, Any]]:
    one: list[Any] = []
    one.append(one)
    two: dict[str, Any] = {}
    two["self"] = two
    return one, two


def _deep(levels: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


NUMBERS: list[Any] = [
    math.nan, math.inf, -math.inf, -1, 0, -0.0, -0.5, 5e-324, 1e-300, 1e-101, 1e100, 1.7e308, 2**53, 2**53 + 1,
    2**63 - 1, 2**63, 2**64, -(2**63), 10**400, 10**5000, -(10**5000), True, False, 1j, Fraction(1, 3),
    decimal.Decimal("0.1"), decimal.Decimal("NaN"), decimal.Decimal("sNaN"), decimal.Decimal("Infinity"),
    np.float64(math.nan), np.float64(0.25), np.float32(0.1), np.int64(3), np.int64(-(2**63)), np.uint8(255),
    np.bool_(True), np.array(0.5), np.array([]), np.array([0.1, 0.2]), np.array([[1]]), np.array(["city"]),
    np.array([None]), np.ma.masked, np.datetime64("NaT"),
]  # fmt: skip
TEXTS: list[Any] = [
    "", " ", "\t", "\n", "\x00", "ci\x00ty", "\ud800", "\udfff x", "city\n", " city", "city ", "CITY",
    "x" * 10_000, "x" * 200, "x" * 201, "\u202etxt", "\u200b", "\ufeff", "ﬁ", "é", "e\u0301", "𝄞" * 100,
    "'; DROP TABLE ledger_entries; --", "%s", "{}", "{0}", "%(name)s", ":name", "?", "None", "null", "NaN", "0",
    "1e999", "../../etc", b"", b"city", b"\xff" * 100, bytearray(b"x"), memoryview(b"x"), Word("city"), Word(""),
    np.str_("city"), np.bytes_(b"city"), Colour.RED, Path("city"),
]  # fmt: skip
TIMES: list[Any] = [
    datetime(2026, 1, 1), datetime(1, 1, 1), datetime.max, datetime.max.replace(tzinfo=UTC),
    datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=timezone(-timedelta(hours=23))),
    datetime.min.replace(tzinfo=timezone(timedelta(hours=23))), datetime(2020, 1, 1, tzinfo=UTC),
    datetime(2999, 1, 1, tzinfo=UTC), date(2999, 1, 1), timedelta(0), timedelta.max, timedelta.min,
    timedelta(microseconds=1), timedelta(days=36_525), timedelta(days=36_526), -timedelta(1), "2999-01-01",
]  # fmt: skip
THINGS: list[Any] = [
    None, ..., NotImplemented, object(), int, len, (), [], {}, set(), frozenset(), [None], [[]], [""], ["a", "a"],
    ["a", 1], [("a",)], [("a", "b")], {"a": "b"}, {1: 2}, *_endless(), _deep(50), _deep(20_000), range(3),
    range(0), slice(1), (x for x in ()), iter("ab"), io.StringIO("x"), io.BytesIO(b"x"), lambda: None,
    Exception("x"), QuiltworkError("x"),
]  # fmt: skip


def _made(*makers: Callable[[], Any]) -> list[Any]:
    found = []
    for make in makers:
        with contextlib.suppress(QuiltworkError):
            found.append(make())
    return found


def _losses() -> list[Any]:
    plain = _made(
        *(
            lambda size=size, kind=kind: kind(size)
            for kind in (qw.gaussian, qw.laplace, qw.discrete_laplace, qw.pure, qw.gdp, qw.zcdp)
            for size in (0.0, 5e-324, 1e-100, 1e-9, 0.03, 0.5, 5.0, 100.0, 1e6, 1e100, 1e300)
        ),
        *(lambda size=size: qw.discrete_gaussian(size) for size in (0.1, 1.0, 30.0, 1e6)),
        *(
            lambda epsilon=epsilon, delta=delta: qw.approximate(epsilon, delta)
            for epsilon in (0.0, 1e-300, 0.1, 50.0, 1e6)
            for delta in (0.0, 1e-300, 1e-9, 0.5, 1.0)
        ),
        lambda: qw.constraints([(0.1, 0.01), (1.0, 1e-6)]),
        lambda: qw.constraints([(0.0, 1.0)]),
        lambda: qw.profile([0.0, 1.0], [0.1, 0.0]),
        lambda: qw.rdp([2.0, 8.0], [0.1, 0.5]),
        lambda: qw.rdp([1.000001], [1e9]),
        lambda: qw.rdp([1e6], [1e-12]),
        lambda: qw.tradeoff([(0.0, 1.0), (0.5, 0.4), (1.0, 0.0)]),
        lambda: qw.tradeoff(lambda alpha: max(0.0, 1 - alpha - 0.1), symmetric=True),
        lambda: qw.pair([0.5, 0.5], [0.4, 0.6]),
        lambda: qw.pair([1.0, 0.0], [0.0, 1.0]),
        lambda: qw.pair([1.0], [1.0]),
        lambda: qw.pair([1e-300, 1.0], [1.0, 1e-300]),
        lambda: qw.poisson(qw.gaussian(2.0), 1e-9),
        lambda: qw.poisson(qw.gaussian(0.3), 0.9),
        lambda: qw.poisson(qw.laplace(3.0), 0.01),
        lambda: qw.mixture([(0.5, qw.gaussian(3.0)), (0.5, qw.laplace(3.0))]),
    )
    many = _made(
        *(lambda times=times, loss=loss: times * loss for times in (0, 2, 10**6, 2**53) for loss in plain[::7]),
        lambda: qw.compose(*plain[:40:5]),
        *(lambda loss=loss: loss.direction("remove") for loss in plain[::20]),
        *(lambda loss=loss: loss.group(3) for loss in plain[::9]),
    )
    return plain + many


LOSSES = _losses()
JUNK: list[Any] = [*NUMBERS, *TEXTS, *TIMES, *THINGS, *LOSSES[::9]]

junk = st.one_of(
    st.sampled_from(JUNK),
    st.sampled_from(JUNK),
    st.text(max_size=30),
    st.floats(),
    st.integers(),
    st.binary(max_size=10),
    st.recursive(st.none() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3), max_leaves=5),
)
losses = st.sampled_from(LOSSES)


def either(common: st.SearchStrategy[Any], rare: st.SearchStrategy[Any], weight: int = 3) -> st.SearchStrategy[Any]:
    """One of two, the first `weight` times as often; one_of would count the parts of each."""
    return st.integers(0, weight).flatmap(lambda choice: common if choice else rare)


def rather(*good: Any) -> st.SearchStrategy[Any]:
    """Mostly what fits, sometimes junk: so that a call gets past its first check."""
    return either(st.sampled_from(good), junk)
