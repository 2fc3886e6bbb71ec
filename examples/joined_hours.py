"""Twenty-four hourly counts of people whose hours are correlated: what is told about one hour of one of them.

Run with `python -m examples.joined_hours`. The plan is priced three times: as if hours were independent, for whole
persons, and under a Markov chain; then the noise is found with which one hour of one person is hidden within epsilon 1.
"""

from __future__ import annotations

import quiltwork as qw
from quiltwork import pufferfish as pf

HOURS, DELTA = 24, 1e-6


def hourly(sigma: float) -> qw.Plan:
    """Counts of active people, one for each hour, with Gaussian noise."""
    t = qw.Table(person=qw.Id(), hour=qw.Int(0, HOURS - 1), active=qw.Cat(0, 1))
    plan = qw.Plan(t, neighbors=qw.add_remove())
    for hour in range(HOURS):
        where = (t.hour == hour) & (t.active == 1)
        plan.add(f"hour {hour}", where=where, count=True, loss=qw.gaussian(sigma), holds=qw.on_input(qw.add_remove()))
    return plan


def priced(sigma: float, chain: pf.MarkovChain) -> dict[str, float]:
    """epsilon at DELTA of the same plan for three secrets, each rounded up."""
    plan = hourly(sigma)
    t = plan.table
    alone = plan.guarantee().to(qw.replace_one(fixed=["person", "hour"]))
    person = plan.guarantee().to(qw.user("person", HOURS))
    correlated = plan.guarantee(prior=chain, person=t.person, when=t.hour)
    return {
        "one hour, if hours were independent": float(alone.epsilon(DELTA).upper),
        "one hour, under the chain": float(correlated.epsilon(DELTA).upper),
        "all hours of a person": float(person.epsilon(DELTA).upper),
    }


def main() -> None:
    """Print the three prices, and the noise that a target needs."""
    chain = pf.MarkovChain([[0.9, 0.1], [0.1, 0.9]], length=HOURS)
    for words, epsilon in priced(40.0, chain).items():
        print(f"{words}: epsilon {epsilon:.4f} at delta {DELTA:g}")
    sigma = qw.calibrate(
        lambda sigma: hourly(sigma).guarantee(prior=chain, person="person", when="hour"), 1.0, DELTA, start=20.0,
        tolerance=1e-3, rtol=1e-3,
    )  # fmt: skip
    print(f"noise for epsilon 1 under the chain: sigma {sigma:.3f}")


if __name__ == "__main__":
    main()
