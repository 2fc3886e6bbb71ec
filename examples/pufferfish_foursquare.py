"""Places of a season under Pufferfish privacy: Tables 2, 3, 7 and 8 of the paper, redone on simulated people.

    python examples/pufferfish_foursquare.py build/pufferfish
    python examples/pufferfish_foursquare.py build/pufferfish --quick
    python examples/pufferfish_foursquare.py build/pufferfish --data FOLDER      on the published check-ins

Seventy-eight kinds of places, forty countries of very unequal size, ten million visits.  What are the three, or five,
most frequent kinds of places of each country?  Nobody's place at any time may be told apart, even by those who know how
people move.  Prints what an entry may leak, the four tables with the paper's numbers beside, and one release drawn with
OpenDP; writes the same as Markdown.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from quiltwork.data import foursquare
from quiltwork.data.generators import foursquare_like

try:
    from examples import pufferfish_tables as shared
except ImportError:  # run as a script: this folder is on the path, not the one above
    import pufferfish_tables as shared  # type: ignore[no-redef]

FIRST_SEED = 8001  # fixed before the numbers were seen; calibration used others
TITLE = "Simulated visits (Foursquare-like)"
TABLES = {3: (2, 3), 5: (7, 8)}


def populations(
    count: int, trials: int, epsilons: tuple[float, ...], data: str | None = None
) -> tuple[dict[int, list[shared.Results]], list[shared.Budget], shared.Crowd]:
    """The experiment for 3 and 5 places on several populations; budgets and population are the first."""
    seen = None if data is None else shared.Observed.of(foursquare(data))
    results: dict[int, list[shared.Results]] = {places: [] for places in TABLES}
    kept: list[tuple[list[shared.Budget], shared.Crowd]] = []
    for seed in range(FIRST_SEED, FIRST_SEED + count):
        rng = np.random.default_rng(seed)
        population = seen or foursquare_like(rng)
        allowed = kept[0][0] if seen and kept else shared.budgets(population, epsilons)
        for places, found in results.items():
            found.append(shared.experiment(population, allowed, places, trials, rng))
        kept = kept or [(allowed, population)]
    return results, *kept[0]


def compared(results: dict[int, list[shared.Results]]) -> str:
    """The Hit Rate at epsilon .5 of the paper's best mechanism and of the best one here, over populations."""
    lines = ["Hit Rate at epsilon 0.5, mean and range over populations:"]
    for places, found in results.items():
        rates = {row: [result.get(row, 0.5, "HR") for result in found] for row in ("Ours-Exp", *shared.BETTER)}
        best = max(shared.BETTER, key=lambda row: float(np.mean(rates[row])))
        for row in ("Ours-Exp", best):
            rate = rates[row]
            lines.append(f"  top {places}, {row}: {np.mean(rate):.3f} ({min(rate):.3f} to {max(rate):.3f})")
    return "\n".join(lines)


def matched(results: dict[int, shared.Results]) -> str:
    """What comes near the paper's numbers, and what does not."""
    lines = ["Distance from print, on average for shares, and factor between the l1:"]
    for places, tables in TABLES.items():
        for rows in (shared.PUBLISHED[:1], shared.PUBLISHED[1:2], shared.PUBLISHED[2:]):
            gap, factor = shared.distance(results[places], tables, rows)
            lines.append(f"  top {places}, {' and '.join(rows)}: {gap:.4f}, {factor:.2f}")
    lines.append(
        "Countries have a tail without a mean, so that l1 comes near print under large noise. Under little noise the\n"
        "paper's l1 is many times larger: perhaps its countries have near ties that shares 1, 1/2, 1/3, ... lack."
    )
    return "\n".join(lines)


def main(folder: str = "build/pufferfish", *, quick: bool = False, data: str | None = None) -> Path:
    """Run everything, print it and write it."""
    count, trials, epsilons = (1, 20, (0.5, 5.0)) if quick else (3, 200, shared.EPSILONS)
    results, allowed, population = populations(count, trials, epsilons, data)
    mean = {places: shared.mean(found) for places, found in results.items()}
    what = ("Acc@k", "Hit Rate, NDCG and l1")
    groups = (0,) if quick else (0, 19, 39)
    words = (
        f'All numbers but those headed "paper" are simulated: means over {count} populations, {trials} rankings of\n'
        f"each country. First of them:\n{repr(population)[1:-1]}, longest sequence {population.longest}.\n"
        "The generator was calibrated to Tables 2 and 3: that they come out alike is no replication."
    )
    if data is not None:
        groups = tuple(group for group in groups if group < len(population.group_names))
        words = shared.recorded_words(population, count, trials)
    parts: list[shared.Grid | str] = [
        words,
        shared.entry_grid(allowed, "What one entry may leak (first population)"),
        *(
            shared.layout(table, mean[places], f"Table {table}: {words}, top {places} of 78 places")
            for places, tables in TABLES.items()
            for table, words in zip(tables, what, strict=True)
        ),
        *([] if data else [matched(mean)]),
        compared(results),
        *shared.released(population, 1.0, 3, groups=groups),
    ]
    shared.show(parts)
    return shared.write(folder, "foursquare", TITLE if data is None else "Recorded visits (Foursquare)", parts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=TITLE)
    parser.add_argument("folder", nargs="?", default="build/pufferfish")
    parser.add_argument("--quick", action="store_true", help="one population, two epsilons, few trials")
    parser.add_argument("--data", default=None, help="the folder with the two published files")
    options = parser.parse_args()
    print(main(options.folder, quick=options.quick, data=options.data))
