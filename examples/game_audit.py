"""How tight is a certificate? An audit of shares of genomes, by attackers that know more and less.

    python examples/game_audit.py [--figure audit.png] [--trials 2000] [--quick]

A hospital publishes the share of its patients that carry each variant, with Gaussian noise and a public denominator.
Its certificate is exact for one patient in or out.  Three audits stand beside it: of the informed test, which knows who
the others are; of the best attacker that does not; and of a single run with every patient as a canary.  The gap between
them is what the attacker knows, not the statistics.

Reference: theory/game.md section 6.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from quiltwork import audit, game
from quiltwork.numbers.digits import at_least, at_most

DELTA = 1e-5


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Audit shares of genomes beside their certificate")
    parser.add_argument("--trials", type=int, default=2000, help="runs of the mechanism")
    parser.add_argument("--figure", type=Path, help="draw certificate and informed audit: .svg, .png or .pdf")
    parser.add_argument("--quick", action="store_true", help="independent attributes and fewer people")
    options = parser.parse_args(arguments)
    prior = game.Independent(0.5)
    if options.quick:
        people = game.populations.independent(40, 100, 80, prior=prior)
    else:
        people = game.populations.genotypes(400, 100, 1000, prior=prior)
    print(people)
    print()
    print("noise   certified          informed audit             linear-Gaussian audit   one run")
    for sigma in (0.1, 0.05):
        defence = game.Gaussian(sigma).prepare(people, denominator="fixed")
        release = game.SummaryStatistics(defence, clip=False)
        promise = defence.certificate("pool")
        rng = np.random.default_rng(1)
        runs = game.trials(release, options.trials, rng)
        informed = audit.run(runs.inside, runs.outside, delta=DELTA, method="gdp")
        plain = audit.run(runs.inside, runs.outside, delta=DELTA, method="counts")
        person = int(runs.pair.split()[1])
        draws = release.draw(options.trials, rng)
        scores = game.LinearGaussian().fit(release, rng, game.Budget()).scores(draws.outputs)
        inside = draws.members[:, person]
        linear = audit.run(scores[inside, person], scores[~inside, person], delta=DELTA, method="gdp")
        once = audit.one_run(scores[0], draws.members[0], delta=DELTA)
        certified = at_most(float(promise.epsilon(DELTA).upper))  # upper bounds are rounded up, lower ones down
        found = [at_least(result.epsilon_lower, 3) for result in (informed, plain, linear, once)]
        print(
            f"{sigma:<7g} epsilon {certified:>5}   >= {found[0]:>5} (any: {found[1]:>4})   >= {found[2]:>5}"
            f"                >= {found[3]:>4}"
        )
    print()
    print(f"epsilon at delta {DELTA:g}, audits with 95 % confidence; 'any' assumes no shape of the trade-off curve")
    if options.figure is not None:
        audit.report(promise, runs.inside, runs.outside, delta=DELTA).figure(options.figure)
        print(f"wrote {options.figure}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
