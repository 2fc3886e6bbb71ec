"""`quiltwork ledger ...`: budgets that last, from the command line.

connection           where the ledger is, who asks, and the options that every command shares
spend, budgets,      the commands, each once: its options, what it does, and its answer
upkeep, principals, mending
typed, view          what people type, read; what a ledger answers, in words
"""

from __future__ import annotations

from quiltwork.cli.ledger import budgets, mending, principals, spend, upkeep
from quiltwork.cli.ledger.connection import ledger_app

__all__ = ["budgets", "ledger_app", "mending", "principals", "spend", "upkeep"]

LISTED = (  # how help lists them: those used daily first
    " open open-all spend reserve start settle refund reservations forecast balance budgets history rights "
    "pause resume close verify checkpoint export import receipt key rotate accept-clock repair acknowledge "
    "admit revoke principals upgrade "
)
ledger_app.registered_commands.sort(key=lambda command: LISTED.index(f" {command.name} "))
