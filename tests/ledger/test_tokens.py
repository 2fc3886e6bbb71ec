"""Tokens: only the very text matches, garbage never raises, those of version 0.1 still do, roles nest."""

from __future__ import annotations

import hashlib
import re
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.ledger.books import Clock

import quiltwork as qw
from quiltwork.errors import InvalidParameter, MissingExtra
from quiltwork.ledger import Ledger
from quiltwork.ledger.book.rules import ROLES, may
from quiltwork.ledger.tokens import identity_of, matches, new_token

argon2 = pytest.importorskip("argon2")

few = settings(max_examples=examples(60))
HOME = "e69d"


def older(text: str, **costs: Any) -> str:
    """What version 0.1 stored of a token."""
    return str(argon2.PasswordHasher(**{"time_cost": 1, "memory_cost": 32, "parallelism": 1, **costs}).hash(text))


def test_a_new_token_has_the_stated_shape() -> None:
    text, identity, stored = new_token(HOME)
    assert re.fullmatch(r"qw_[0-9a-f]{16}_[0-9a-f]{64}", text)
    assert text.split("_") == ["qw", identity, text.split("_")[2]]
    assert identity_of(text) == identity
    said = f"quiltwork/token/1\n{HOME}\n{identity}\n{text}"
    assert stored == f"sha256${hashlib.sha256(said.encode()).hexdigest()}"
    assert matches(text, stored, HOME)


def test_tokens_differ_in_every_part() -> None:
    made = [new_token(HOME) for _ in range(50)]
    for part in range(3):
        assert len({token[part] for token in made}) == 50
    assert len({token[0].split("_")[2] for token in made}) == 50


def test_a_hash_fits_its_own_token_and_ledger_only() -> None:
    made = [new_token(HOME) for _ in range(5)]
    for i, (text, _, _) in enumerate(made):
        for j, (_, _, stored) in enumerate(made):
            assert matches(text, stored, HOME) is (i == j)
            assert not matches(text, stored, "another")


@few
@given(data=st.data(), slow=st.booleans())
def test_one_changed_character_matches_no_more(data: st.DataObject, slow: bool) -> None:
    text, _, stored = new_token(HOME)
    stored = older(text) if slow else stored
    place = data.draw(st.integers(0, len(text) - 1))
    letter = data.draw(
        (st.sampled_from("0123456789abcdefABCDEF_") | st.characters()).filter(lambda x: x != text[place])
    )
    assert not matches(text[:place] + letter + text[place + 1 :], stored, HOME)


def test_a_secret_under_another_identity_does_not_match() -> None:
    text, _, stored = new_token(HOME)
    assert not matches(f"qw_{'0' * 16}_{text.split('_')[2]}", stored, HOME)


@pytest.mark.parametrize(
    "text", [f"qw_{'A' * 16}_{'0' * 64}", f"qw_{'a' * 16}_{'F' * 64}", f"QW_{'a' * 16}_{'0' * 64}"]
)
def test_a_token_has_one_spelling(text: str) -> None:
    assert identity_of(text.lower()) == text.lower()[3:19]
    assert identity_of(text) is None


GARBAGE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.binary(),
    st.text(st.characters()),
    st.text("qw_0123456789abcdef$", max_size=100),
    st.integers(200, 10**6).map(lambda size: "qw_" + "a" * size),
    st.just("qw_" + "0" * 16 + "_" + "0" * 64 + "\n"),
    st.just("qw_" + "\u0660" * 16 + "_" + "0" * 64),
    st.just("\ud800"),
    st.lists(st.integers(), max_size=2),
)


@few
@given(text=GARBAGE)
def test_garbage_for_a_token_never_raises_and_never_matches(text: Any) -> None:
    assert identity_of(text) is None
    assert matches(text, None, HOME) is False
    assert matches(text, new_token(HOME)[2], HOME) is False


@few
@given(stored=GARBAGE)
def test_garbage_for_a_hash_never_raises_and_never_matches(stored: Any) -> None:
    assert matches(new_token(HOME)[0], stored, HOME) is False


@few
@given(data=st.data())
def test_a_changed_hash_never_raises_and_never_matches(data: st.DataObject) -> None:
    text, _, stored = new_token(HOME)
    place = data.draw(st.integers(0, len(stored) - 1))
    letter = data.draw((st.sampled_from("$0123456789abcXYZ") | st.characters()).filter(lambda x: x != stored[place]))
    assert matches(text, stored[:place] + letter + stored[place + 1 :], HOME) is False


# ---- those of version 0.1


def test_a_token_of_version_0_1_still_matches() -> None:
    text = new_token(HOME)[0]
    assert matches(text, older(text, time_cost=3, memory_cost=65536, parallelism=4), HOME)
    assert matches(text, older(text), HOME)
    assert not matches(new_token(HOME)[0], older(text), HOME)


@pytest.mark.parametrize(
    "cost",
    ["m=4294967,t=1,p=1", "m=32,t=999999,p=1", "m=32,t=1,p=4000", "m=0,t=1,p=1", "m=32,t=0,p=1", "m=032,t=1,p=1"],
)
def test_a_forged_hash_cannot_ask_for_endless_work(monkeypatch: pytest.MonkeyPatch, cost: str) -> None:
    text = new_token(HOME)[0]
    stored = older(text)

    def never(*_: Any) -> bool:
        raise AssertionError("it was tried")

    monkeypatch.setattr(argon2.PasswordHasher, "verify", never)
    assert not matches(text, re.sub(r"m=.*?\$", f"{cost}$", stored), HOME)


@pytest.mark.parametrize("kind", [argon2.Type.I, argon2.Type.D])
def test_only_argon2id_is_taken(kind: Any) -> None:
    text = new_token(HOME)[0]
    stored = older(text, type=kind)
    assert argon2.PasswordHasher().verify(stored, text)
    assert not matches(text, stored, HOME)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    text, _, stored = new_token(HOME)
    slow = older(text)
    monkeypatch.setitem(sys.modules, "argon2", None)
    assert matches(text, stored, HOME)
    with pytest.raises(MissingExtra, match=r"argon2-cffi .*quiltwork\[ledger\]"):
        matches(text, slow, HOME)


def test_roles_nest() -> None:
    table = {role: [act for act in ("read", "spend", "manage") if may(role, act)] for role in ROLES}
    assert table == {"viewer": ["read"], "spender": ["read", "spend"], "admin": ["read", "spend", "manage"]}


@pytest.mark.parametrize("role", ["", "Admin", "admin ", "root", None, 2, True, b"admin", ["admin"], "viewer,admin"])
def test_an_unknown_role_may_nothing(role: Any) -> None:
    assert not any(may(role, act) for act in ("read", "spend", "manage"))


@pytest.mark.parametrize("act", ["", "write", "Read", None, 1, ["read"]])
def test_an_unknown_act_is_a_mistake_of_the_caller(act: Any) -> None:
    with pytest.raises(InvalidParameter, match="act"):
        may("admin", act)


def test_a_token_as_it_is_kept(fast_sqlite: str) -> None:
    with Ledger(fast_sqlite, clock=Clock()) as free:
        free.open("b", epsilon=1.0, protects="x")
        with Ledger(fast_sqlite, clock=Clock(), token=free.admit("ada", "admin")) as ada:
            assert ada.spend("b", qw.pure(0.25)).principal == "ada"
            assert "sha256$" in [entry.body for entry in ada.history()][2]
