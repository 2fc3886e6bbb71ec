"""Released values, counts of sequences, and what a ledger wrote, as documents.

A ledger itself, its keys and its open connections are not written: `quiltwork ledger export` copies one.  Classes of
the ledger are named by their homes only, so that nothing here depends on it.
"""

from __future__ import annotations

from quiltwork.spec.objects.kinds import Kind, Refusal

__all__ = ["KINDS", "REFUSED"]

_LEDGER = "quiltwork.ledger."
KINDS = (
    Kind("drawn_noise", "quiltwork.mechanisms.release:Noise"),
    Kind("drawn_release", "quiltwork.mechanisms.release:Release"),
    Kind("total", "quiltwork.mechanisms.totals:Total"),
    Kind("sequence_counts", "quiltwork.data.counts:Counts"),
    Kind("sequence_lengths", "quiltwork.data.counts:Lengths"),
    Kind("sequence_tally", "quiltwork.data.counts:Tally"),
    Kind("budget", _LEDGER + "book.terms:Terms", plain=True),
    Kind("limit", _LEDGER + "book.limits:Limit", plain=True),
    Kind("receipt", _LEDGER + "chain.receipts:Receipt", plain=True),
    Kind("entry", _LEDGER + "chain.entries:Entry", plain=True),
    Kind("budget_blocks", _LEDGER + "book.terms:Blocks"),
    Kind("budget_view", _LEDGER + "book.budget:Budget"),
    Kind("balance", _LEDGER + "book.balances:Balance", 2),
    Kind("balance_amount", _LEDGER + "book.balances:Amount"),
    Kind("forecast", _LEDGER + "book.rules:Forecast"),
    Kind("verification", _LEDGER + "proof.verify:Verification"),
)
REFUSED = {
    _LEDGER + "ledger:Ledger": Refusal("it is an open connection", "keep its address; `ledger export` copies it"),
    _LEDGER + "chain.keys:SigningKey": Refusal("it is a secret", "keep its key file, readable by its owner only"),
    "quiltwork.data.engines.engine:Engine": Refusal("it is an open connection", "keep the address of its data"),
    "quiltwork.data.sequences:Sequences": Refusal("it is a table on an engine", "write the counts that it gives"),
    "quiltwork.report.accounts:Account": Refusal(
        "it is what was computed from a plan", "write the plan, and account it again; account.to_json() is a summary"
    ),
    "quiltwork.report.accounts:Entry": Refusal("it is a line of an account", "write the plan"),
    "quiltwork.report.accounts:Verdict": Refusal("it is a line of an account", "write the plan"),
    "quiltwork.document.page:Report": Refusal("it is words and figures about a file", "save it with report.save(path)"),
    "quiltwork.report.baselines:Baseline": Refusal("it is a line of an account", "write the plan"),
}
