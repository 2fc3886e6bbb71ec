"""From an open ledger to a guarded one: the first principal, and the last admin."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.ledger.books import START, Clock, kinds, refused

import quiltwork as qw
from quiltwork.errors import AccessDenied, InvalidParameter
from quiltwork.ledger import Ledger


def test_the_first_principal_and_the_last_admin(ledger_url: str) -> None:
    clock = Clock()
    with Ledger(ledger_url, clock=clock) as free:
        free.open("b", epsilon=1.0, protects="x")
        free.spend("b", qw.pure(0.25))  # open to whoever reaches the database, until somebody is named
        for role in ("viewer", "spender"):
            with refused(free, InvalidParameter, "first principal"):
                free.admit("ada", role)
        with refused(free, InvalidParameter, "first admin"):
            free.admit("ada", "admin", expires=START + timedelta(days=1))
        token = free.admit("ada", "admin")
        with pytest.raises(AccessDenied, match="token"):
            free.balance("b")
        with Ledger(ledger_url, clock=clock, token=token) as ada:
            with refused(ada, InvalidParameter, "last admin"):
                ada.revoke("ada")
            with refused(ada, InvalidParameter):
                ada.revoke("nobody")
            short = ada.admit("bob", "admin", expires=START + timedelta(hours=1))
            with refused(ada, InvalidParameter, "last admin"):  # who expires cannot follow her
                ada.revoke("ada")
            with refused(ada, InvalidParameter):  # nor may she lose her role in another way
                ada.admit("ada", "viewer")
            with refused(ada, InvalidParameter):
                ada.admit("ada", "admin", expires=START + timedelta(hours=1))
            bob = free.sign_in(short)
            assert bob.spend("b", qw.pure(0.25)).principal == "bob"
            clock.forward(hours=1)
            with pytest.raises(AccessDenied, match="expired"):
                bob.spend("b", qw.pure(0.25))
            lasting = ada.admit("bob", "admin")
            receipt = free.sign_in(lasting).revoke("ada")
            assert (receipt.kind, receipt.principal, receipt.content) == ("revoke", "bob", {"name": "ada"})
            with pytest.raises(AccessDenied, match="revoked"):  # at once, also for who is signed in
                ada.balance("b")
        after = free.sign_in(lasting)
        assert float(after.balance("b").left.lower) == 0.5
        assert kinds(after).count("admit") == 3
        assert after.verify().holds
