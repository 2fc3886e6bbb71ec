"""A year of a hospital's budgets: opened, spent, refused, reserved, verified, exported.

    python examples/ledger_hospital.py             # in a temporary directory
    python examples/ledger_hospital.py build/demo  # keep the ledger, its export and a figure there

The registry counts patients by ward every week, with noise drawn by OpenDP when it is installed. An analyst asks
further questions that depend on the answers, so these come out of an adaptive budget; the yearly report is fixed in
advance and comes out of a planned one. All numbers about patients are made up.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import quiltwork as qw
from quiltwork.numbers.digits import at_most

WARDS = {"surgery": 412, "cardiology": 388, "paediatrics": 275, "intensive care": 61}
SIGMA = 20.0
REPORT = [("length of stay", qw.gaussian(18.0), 52), ("waiting times", qw.laplace(20.0), 12)]
PROTECTS = "one patient, added or removed"


def main(place: str | None = None) -> None:
    """Tell the story."""
    if place is not None:
        if Path(place, "hospital.db").exists():
            raise SystemExit(f"{place} has a ledger already, and ledgers are never replaced: name another directory")
        Path(place).mkdir(parents=True, exist_ok=True)
        tell(Path(place))
        return
    with tempfile.TemporaryDirectory() as folder:
        tell(Path(folder))


def tell(folder: Path) -> None:
    """Everything that happens to two budgets in a year."""
    clock = Clock(datetime(2026, 1, 5, 9, tzinfo=UTC))
    with qw.Ledger(f"sqlite:///{folder}/hospital.db", clock=clock) as ledger:
        two_budgets(ledger)
        weekly_counts(ledger, clock)
        receipt = a_question_too_many(ledger)
        a_training_run(ledger, clock)
        the_report(ledger)
        clock.now = datetime(2026, 12, 31, 17, tzinfo=UTC)
        the_end_of_the_year(ledger, receipt, folder)


class Clock:
    """A clock that the story sets."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, span: timedelta) -> None:
        self.now += span


def two_budgets(ledger: qw.Ledger) -> None:
    heading("Two budgets for the same patients")
    questions = ledger.open("questions", epsilon=2.0, delta=1e-6, protects=PROTECTS, owners=["ada"])
    report = ledger.open("report", epsilon=2.0, delta=1e-6, kind="planned", plan=REPORT, protects=PROTECTS)
    for budget in (questions, report):
        print(budget.explain(), end="\n\n")
    needed = sum(times for _, _, times in REPORT)
    total = qw.compose(*(times * loss for _, loss, times in REPORT)).epsilon(1e-6)
    print(f"The {needed} releases of the report cost epsilon {at_most(float(total.upper))} as a whole.")
    print("Together the two budgets promise at most what both of them add up to: epsilon 4 at delta 2e-6.")


def weekly_counts(ledger: qw.Ledger, clock: Clock) -> None:
    heading("Weekly counts, forty weeks")
    for week in range(1, 41):
        # a patient is in one ward: the four counts are one release of sensitivity 1
        counts = ledger.run(
            "questions", noisy_loss(), lambda: {ward: noisy(count) for ward, count in WARDS.items()}, key=f"week {week}"
        )
        clock.pass_by(timedelta(days=7))
    print("Last week: " + ", ".join(f"{ward} about {round(count)}" for ward, count in counts.items()) + ".")
    print(ledger.balance("questions").explain())
    print(f"Forecast: {ledger.forecast('questions', noisy_loss())}.")


def noisy_loss() -> qw.Loss:
    """What a count with noise of SIGMA tells about a patient who comes or goes."""
    if has_opendp():
        from quiltwork import mechanisms

        return mechanisms.gaussian_loss(SIGMA, 1)
    return qw.gaussian(SIGMA)


def noisy(count: int) -> float:
    """The count with noise: by OpenDP when it is there, else, for show only, none at all."""
    if has_opendp():
        from quiltwork import mechanisms

        return float(mechanisms.gaussian(count, SIGMA, sensitivity=1).value)
    return float(count)


def has_opendp() -> bool:
    return importlib.util.find_spec("opendp") is not None


def a_question_too_many(ledger: qw.Ledger) -> qw.ledger.Receipt:
    heading("A question too many")
    entries = ledger.budget("questions").entries
    refused(lambda: ledger.spend("questions", qw.gaussian(1.0), note="exact age of the oldest patient"))
    print(f"Nothing was written: {ledger.budget('questions').entries - entries} new entries.")
    receipt = ledger.spend("questions", qw.gaussian(10.0), note="patients above 90, roughly", key="ada 7")
    again = ledger.spend("questions", qw.gaussian(10.0), note="patients above 90, roughly", key="ada 7")
    print(f"A coarser one is granted as entry {receipt.seq}; asked again, it is still entry {again.seq}.")
    return receipt


def a_training_run(ledger: qw.Ledger, clock: Clock) -> None:
    heading("A job that takes all night")
    steps = 2000 * qw.poisson(qw.gaussian(4.0), 0.005)
    first = ledger.reserve("questions", steps, lease=timedelta(hours=2), note="triage model")
    clock.pass_by(timedelta(hours=3))
    print(f"Reservation {first.seq} waited three hours for a machine, its lease was two.")
    refused(lambda: ledger.start(first.seq))
    second = ledger.reserve("questions", steps, lease=timedelta(hours=12), note="triage model, again")
    ledger.start(second.seq)
    ledger.settle(second.seq, note="done")
    print(f"Reservation {second.seq} started, ran and is settled; the first one gave back what it held.")
    refused(lambda: ledger.refund(second.seq))


def the_report(ledger: qw.Ledger) -> None:
    heading("The report")
    ledger.spend("report", release="length of stay", times=52)
    ledger.spend("report", release="waiting times", times=6)
    refused(lambda: ledger.spend("report", release="waiting times", times=7))
    runs = ledger.balance("report").runs
    print("Runs so far: " + ", ".join(f"{name} {ran} of {most}" for name, (ran, most) in runs.items()) + ".")


def the_end_of_the_year(ledger: qw.Ledger, receipt: qw.ledger.Receipt, folder: Path) -> None:
    heading("The end of the year")
    ledger.close("questions", note="the year is over")
    refused(lambda: ledger.spend("questions", qw.gaussian(100.0)))
    with (folder / "hospital.jsonl").open("w", encoding="ascii") as stream:
        count = ledger.export(stream)
    print(f"Exported {count} entries.")
    receipt.check(ledger.public_key)
    print(ledger.verify(receipts=[receipt]).explain())
    if importlib.util.find_spec("matplotlib") is not None:
        from quiltwork.ledger.course import drawn, followed

        (folder / "questions.svg").write_bytes(drawn(followed(ledger, "questions"), "svg"))
        print("What was spent over time is drawn in questions.svg.")


def refused(act: Callable[[], object]) -> None:
    """Do what must be refused, and print the reason."""
    try:
        act()
    except qw.QuiltworkError as error:
        print(f"Refused: {error}.")
    else:
        raise AssertionError("this had to be refused")


def heading(words: str) -> None:
    print(f"\n{words}\n{'-' * len(words)}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
