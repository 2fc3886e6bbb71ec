"""Simulated rankings under Pufferfish privacy, beside the tables of "Composition for Pufferfish Privacy".

Shared by pufferfish_capture24.py and pufferfish_foursquare.py.  A *row* is a way to rank categories: some noise of some
scale on the counts.  The first four rows are the paper's, the others need less noise for the same guarantee:

    Ours-Exp     Gumbel 2K / e   the paper's exponential mechanism; e = max (epsilon - a(b)) / b (Theorem 6)
    MQM          Laplace m / e   the budget split over m counts, same e
    Group-Exp    Gumbel 2K / g   g = epsilon / longest sequence
    Group-Lap    Laplace m / g
    top-K        Gumbel (K+1)/e  one changed entry moves one count up and one down: (K+1), not 2K (theory 5.1)
    histogram    Laplace 2 / e   L1 sensitivity 2, no splitting (theory 5.2)
    + prop.      the last two, with the e of Lipschitz propagation (theory 3.5)

Noise here is drawn with numpy, thousands of times, for people who do not exist.  What protects people is drawn by
OpenDP: see `released`.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Sequence
from pathlib import Path

import attrs
import numpy as np

from quiltwork.data.generators import Population
from quiltwork.data.recorded.recorded import Recorded
from quiltwork.errors import PrivateFitWarning
from quiltwork.pufferfish import MarkovChain, per_entry_epsilon, top_k
from quiltwork.pufferfish.ranking_metrics import score

EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
PUBLISHED = ("Ours-Exp", "MQM", "Group-Exp", "Group-Lap")
BETTER = ("top-K", "histogram", "top-K + prop.", "histogram + prop.")
ROWS = PUBLISHED + BETTER
WIDTH = 110

# Printed numbers, one line an epsilon: Ours-Exp, MQM, Group-Exp, Group-Lap, each with all columns of its table.
PAPER: dict[int, tuple[tuple[float, ...], ...]] = {
    2: (
        (0.7901, 0.6310, 0.5847, 0.3631, 0.2669, 0.2083, 0.1568, 0.1049, 0.0731, 0.0272, 0.0161, 0.0157),
        (0.8847, 0.7665, 0.7247, 0.4635, 0.3629, 0.3056, 0.2260, 0.1450, 0.1098, 0.0508, 0.0225, 0.0202),
        (0.9403, 0.8572, 0.8284, 0.6080, 0.4750, 0.4300, 0.3195, 0.2125, 0.1580, 0.0891, 0.0433, 0.0325),
        (0.9571, 0.8959, 0.8771, 0.7208, 0.5526, 0.5084, 0.3708, 0.2596, 0.1995, 0.1130, 0.0640, 0.0443),
        (0.9670, 0.9172, 0.9042, 0.7911, 0.6174, 0.5699, 0.4058, 0.2953, 0.2332, 0.1295, 0.0802, 0.0543),
        (0.9730, 0.9303, 0.9210, 0.8337, 0.6691, 0.6199, 0.4356, 0.3247, 0.2615, 0.1426, 0.0931, 0.0636),
    ),
    3: (
        (0.787, 0.937, 765, 0.376, 0.726, 5500, 0.181, 0.607, 18972, 0.054, 0.527, 88317),
        (0.893, 0.977, 295, 0.498, 0.791, 3025, 0.240, 0.644, 12760, 0.076, 0.542, 65915),
        (0.944, 0.987, 105, 0.643, 0.868, 1554, 0.319, 0.698, 7740, 0.112, 0.565, 41510),
        (0.963, 0.993, 69, 0.733, 0.917, 913, 0.378, 0.734, 5412, 0.135, 0.579, 30441),
        (0.972, 0.994, 60, 0.792, 0.946, 571, 0.426, 0.761, 4200, 0.153, 0.589, 24898),
        (0.978, 0.994, 56, 0.834, 0.964, 386, 0.466, 0.782, 3470, 0.168, 0.598, 21625),
    ),
    4: (
        (0.1734, 0.1386, 0.1014, 0.1409, 0.1232, 0.1000, 0.0956, 0.0933, 0.0928, 0.0925, 0.0934, 0.0916),
        (0.3178, 0.2062, 0.1208, 0.2168, 0.1627, 0.1093, 0.1000, 0.0965, 0.0938, 0.0951, 0.0957, 0.0919),
        (0.6034, 0.4409, 0.2562, 0.4120, 0.2708, 0.1621, 0.1105, 0.1029, 0.0952, 0.1011, 0.1001, 0.0936),
        (0.7830, 0.6510, 0.4468, 0.5770, 0.4144, 0.2560, 0.1214, 0.1091, 0.0964, 0.1067, 0.1027, 0.0945),
        (0.8847, 0.7968, 0.5998, 0.7016, 0.5499, 0.3682, 0.1328, 0.1152, 0.0977, 0.1125, 0.1067, 0.0955),
        (0.939, 0.886, 0.697, 0.778, 0.645, 0.462, 0.156, 0.126, 0.098, 0.126, 0.116, 0.094),
    ),
    5: (
        (0.393, 0.673, 192.3, 0.351, 0.641, 203.2, 0.280, 0.591, 219.6, 0.279, 0.590, 219.8),
        (0.543, 0.776, 151.0, 0.446, 0.706, 179.0, 0.289, 0.597, 217.8, 0.284, 0.593, 218.7),
        (0.734, 0.908, 73.4, 0.612, 0.825, 123.6, 0.304, 0.608, 214.1, 0.294, 0.600, 216.3),
        (0.824, 0.957, 35.8, 0.715, 0.896, 79.8, 0.321, 0.620, 210.2, 0.304, 0.608, 214.2),
        (0.8793, 0.980, 18.6, 0.784, 0.937, 51.3, 0.338, 0.632, 206.3, 0.316, 0.615, 211.8),
        (0.912, 0.989, 10.0, 0.826, 0.959, 35.5, 0.371, 0.655, 198.1, 0.337, 0.630, 207.1),
    ),
    7: (
        (0.6930, 0.5379, 0.4934, 0.4317, 0.3947, 0.3628, 0.2670, 0.2080, 0.1866, 0.1687,
         0.1259, 0.0749, 0.0508, 0.0449, 0.0334, 0.0267, 0.0162, 0.0155, 0.0147, 0.0141),
        (0.8351, 0.6880, 0.6420, 0.5700, 0.5101, 0.4634, 0.3631, 0.3053, 0.2671, 0.2463,
         0.1711, 0.1146, 0.0826, 0.0789, 0.0606, 0.0505, 0.0225, 0.0201, 0.0176, 0.0159),
        (0.9181, 0.8086, 0.7687, 0.7124, 0.6633, 0.6083, 0.4742, 0.4305, 0.3733, 0.3442,
         0.2496, 0.1597, 0.1204, 0.1155, 0.0980, 0.0890, 0.0431, 0.0325, 0.0254, 0.0212),
        (0.9399, 0.8571, 0.8282, 0.7944, 0.7618, 0.7216, 0.5530, 0.5086, 0.4487, 0.4070,
         0.3051, 0.2007, 0.1497, 0.1391, 0.1225, 0.1127, 0.0635, 0.0443, 0.0364, 0.0281),
        (0.9530, 0.8849, 0.8638, 0.8446, 0.8202, 0.7914, 0.6181, 0.5700, 0.5067, 0.4563,
         0.3427, 0.2334, 0.1765, 0.1590, 0.1414, 0.1289, 0.0799, 0.0543, 0.0483, 0.0359),
        (0.9614, 0.9035, 0.8874, 0.8761, 0.8557, 0.8342, 0.6698, 0.6201, 0.5534, 0.4982,
         0.3708, 0.2600, 0.1999, 0.1767, 0.1575, 0.1422, 0.0925, 0.0637, 0.0590, 0.0442),
    ),
    8: (
        (0.697, 0.892, 2018, 0.395, 0.724, 8769, 0.167, 0.588, 41385, 0.082, 0.530, 120705),
        (0.831, 0.957, 793, 0.512, 0.789, 4863, 0.216, 0.616, 26461, 0.103, 0.545, 94380),
        (0.920, 0.985, 252, 0.644, 0.860, 2529, 0.275, 0.655, 17358, 0.135, 0.566, 63723),
        (0.950, 0.991, 149, 0.728, 0.910, 1540, 0.322, 0.686, 13227, 0.156, 0.580, 48132),
        (0.965, 0.993, 109, 0.786, 0.940, 1008, 0.362, 0.711, 10599, 0.174, 0.591, 39549),
        (0.972, 0.994, 96, 0.828, 0.959, 706, 0.397, 0.731, 8829, 0.189, 0.599, 34123),
    ),
}  # fmt: skip


# ---- recorded people


SMOOTHING = 1e-5  # of appendix D.2


@attrs.frozen(eq=False, repr=False)
class Observed:
    """Recorded people as the paper takes them: a chain fitted on one part, rankings of the other part's counts.

    The rankings are simulations about a mechanism.  They protect nobody: counts are facts, and for check-ins the chain
    is fitted on earlier days of the same people.
    """

    transition: np.ndarray
    states: tuple[str, ...]
    group_names: tuple[str, ...]
    counts: np.ndarray
    known: np.ndarray  # counts of the other part, for guessing
    longest: int
    words: str

    @classmethod
    def of(cls, found: Recorded) -> Observed:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivateFitWarning)  # said above
            chain = MarkovChain.fit(found.sequences("fit"), states=range(len(found.states)), smoothing=SMOOTHING)
        counts = found.counts("test")
        there = np.flatnonzero(counts.sum(axis=1))
        lengths = np.bincount(found.who[found.rows("test")])
        names = tuple(found.group_names[group] for group in there)
        words = f"{repr(found)[1:-1]}, of which {int(counts.sum())} to test with"
        return cls(chain.transition, found.states, names, counts[there], found.counts("fit"), int(lengths.max()), words)

    def chain(self, group: int) -> np.ndarray:
        """One chain serves every group."""
        return self.transition

    def __repr__(self) -> str:
        return f"<{self.words}>"


Crowd = Population | Observed


def recorded_words(population: Crowd, count: int, trials: int) -> str:
    """What the numbers of a run on recorded people are."""
    return (
        f"Noise is simulated, people are recorded: means over {count} runs, {trials} rankings of each group.\n"
        f"{repr(population)[1:-1]}, longest sequence {population.longest}.\n"
        "Counts and scores are facts about these people, and no releases."
    )


# ---- the privacy side: no noise, no data


@attrs.frozen
class Budget:
    """What each entry may leak so that the secrets leak epsilon."""

    epsilon: float
    theorem_6: float
    propagation: float
    group: float
    size: int


def budgets(population: Crowd, epsilons: Sequence[float] = EPSILONS) -> list[Budget]:
    """Per-entry epsilons for the prior that holds for every group: the population's chain."""
    prior = MarkovChain(population.transition)
    curve = prior.influence()
    found = []
    for epsilon in epsilons:
        rates = (epsilon - curve.values) / curve.sizes
        best, group = int(np.argmax(rates)), epsilon / population.longest
        theorem_6 = max(float(rates[best]), group)
        found.append(Budget(epsilon, theorem_6, per_entry_epsilon(prior, epsilon), group, int(curve.sizes[best])))
    return found


def noise_scale(row: str, budget: Budget, places: int, categories: int) -> float:
    """The scale of a row's noise, in counts."""
    scales = {
        "Ours-Exp": 2 * places / budget.theorem_6,
        "MQM": categories / budget.theorem_6,
        "Group-Exp": 2 * places / budget.group,
        "Group-Lap": categories / budget.group,
        "top-K": (places + 1) / budget.theorem_6,
        "histogram": 2 / budget.theorem_6,
        "top-K + prop.": (places + 1) / budget.propagation,
        "histogram + prop.": 2 / budget.propagation,
    }
    return scales[row]


def is_gumbel(row: str) -> bool:
    """Rankings by the exponential mechanism are those of counts with Gumbel noise."""
    return "Exp" in row or "top-K" in row


# ---- the experiment


@attrs.frozen(eq=False)
class Results:
    """Mean scores, `values[row, epsilon, column]`; columns are Acc@1 .. Acc@K, HR, NDCG by rank, by count, l1."""

    places: int
    epsilons: tuple[float, ...]
    values: np.ndarray

    def get(self, row: str, epsilon: float, column: str) -> float:
        at = (ROWS.index(row), self.epsilons.index(epsilon), columns(self.places).index(column))
        return float(self.values[at])


def columns(places: int) -> list[str]:
    """Names of the measures."""
    return [*(f"Acc@{place}" for place in range(1, places + 1)), "HR", "NDCG rank", "NDCG count", "l1"]


def best_first(noisy: np.ndarray, places: int) -> np.ndarray:
    """The categories with the largest values along the last axis, largest first."""
    few = np.argpartition(-noisy, places - 1, axis=-1)[..., :places]
    order = np.argsort(-np.take_along_axis(noisy, few, axis=-1), axis=-1)
    return np.take_along_axis(few, order, axis=-1)


def experiment(
    population: Crowd, allowed: Sequence[Budget], places: int, trials: int, rng: np.random.Generator
) -> Results:
    """Rank the categories of every group many times, by every row and at every epsilon; means over groups.

    Rows and epsilons share their noise up to its scale, which makes their differences less noisy.
    """
    counts = population.counts
    values = np.zeros((len(ROWS), len(allowed), places + 4))
    for group in counts:
        shape = (trials, group.size)
        noise = {True: rng.gumbel(size=shape), False: rng.laplace(size=shape)}
        for i, row in enumerate(ROWS):
            for j, budget in enumerate(allowed):
                scale = noise_scale(row, budget, places, group.size)
                values[i, j] += score(group, best_first(group + scale * noise[is_gumbel(row)], places)).row()
    return Results(places, tuple(budget.epsilon for budget in allowed), values / len(counts))


def mean(results: Sequence[Results]) -> Results:
    """The mean over populations."""
    return attrs.evolve(results[0], values=np.mean([result.values for result in results], axis=0))


def distance(results: Results, tables: Sequence[int], rows: Sequence[str] = PUBLISHED) -> tuple[float, float]:
    """How far from print: mean absolute difference of all shares, and mean factor of l1 (geometric)."""
    gaps, factors = [], []
    for table in tables:
        for row in rows:
            for epsilon in results.epsilons:
                for column, value in printed(table, row, epsilon).items():
                    ours = results.get(row, epsilon, column)
                    if column == "l1":
                        factors.append(abs(np.log(max(ours, 1e-9) / value)))
                    else:
                        gaps.append(abs(ours - value))
    return float(np.mean(gaps)), float(np.exp(np.mean(factors)))


def printed(table: int, row: str, epsilon: float) -> dict[str, float]:
    """What the paper prints in a row of a table; nothing for rows it does not have."""
    if row not in PUBLISHED:
        return {}
    line = PAPER[table][EPSILONS.index(epsilon)]
    width, at = len(line) // len(PUBLISHED), PUBLISHED.index(row)
    names = ["HR", "NDCG rank", "l1"] if table in (3, 5, 8) else [f"Acc@{place}" for place in range(1, width + 1)]
    return dict(zip(names, line[width * at : width * (at + 1)], strict=True))


# ---- telling


@attrs.frozen
class Grid:
    """A table of texts."""

    title: str
    head: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        rule = "|".join([" --- "] + [" ---: "] * (len(self.head) - 1))
        body = [" | ".join(line) for line in (self.head, *self.lines)]
        return "\n".join(
            [f"### {self.title}", "", f"| {body[0]} |", f"|{rule}|", *(f"| {line} |" for line in body[1:])]
        )

    def plain(self) -> str:
        widths = [max(len(line[at]) for line in (self.head, *self.lines)) for at in range(len(self.head))]
        rows = [
            "  ".join(text.ljust(width) if not at else text.rjust(width) for at, (text, width) in enumerate(cells))
            for cells in (list(zip(line, widths, strict=True)) for line in (self.head, *self.lines))
        ]
        return "\n".join([self.title, rows[0], "-" * len(rows[0]), *rows[1:]])


def layout(table: int, results: Results, title: str) -> Grid:
    """One of the paper's tables: every epsilon and row, each simulated number with the printed one after it."""
    shown = list(printed(table, "MQM", results.epsilons[0]))
    both = ["HR", "NDCG rank", "NDCG count", "l1"] if "HR" in shown else shown
    head = ["epsilon, mechanism"]
    for column in both:
        head += [column, "paper"] if column in shown else [column]
    lines = []
    for epsilon in results.epsilons:
        for row in ROWS:
            paper, cells = printed(table, row, epsilon), [f"{epsilon:g} {row}"]
            for column in both:
                cells.append(_text(column, results.get(row, epsilon, column)))
                if column in shown:
                    cells.append(_text(column, paper[column]) if paper else "")
            lines.append(tuple(cells))
    return Grid(title, tuple(head), tuple(lines))


def entry_grid(found: Sequence[Budget], title: str) -> Grid:
    """The privacy side: what an entry may leak, by each theorem."""
    lines = tuple(
        (f"{b.epsilon:g}", f"{b.size}", f"{b.theorem_6:.5f}", f"{b.propagation:.5f}", f"{b.group:.5f}",
         f"{b.propagation / b.theorem_6:.2f}")
        for b in found
    )  # fmt: skip
    return Grid(title, ("epsilon", "best b", "Theorem 6", "propagation", "group", "gain"), lines)


# ---- a release for people


def released(population: Crowd, epsilon: float, places: int, groups: Sequence[int]) -> tuple[Grid, str]:
    """What would be published of some groups: top_k under each group's own chain, with noise from OpenDP."""
    lines, counts = [], population.counts
    for group in groups:
        prior = MarkovChain(population.chain(group), states=population.states)
        found = top_k(counts[group], places, prior, epsilon)
        named, true = found.value, best_first(counts[group], places)
        cells = (", ".join(population.states[state] for state in ranking) for ranking in (named, true))
        lines.append((population.group_names[group], *cells))
    grid = Grid(
        f"One release drawn with OpenDP, top {places}: {found.noise.law}, scale {found.noise.scale:.2f}",
        ("group", "released", "true, not to be published"),
        tuple(lines),
    )
    promise = found.guarantee
    told = f"It hides {promise.protects}, with epsilon {promise.epsilon(0.0).safe:.4f}. It assumes that\n"
    return grid, told + f"{promise.assumes[0]}."


def _text(column: str, value: float) -> str:
    if column == "l1":
        return f"{value:.0f}" if value >= 1000 else f"{value:.1f}"
    return f"{value:.3f}"


def show(parts: Sequence[Grid | str]) -> None:
    """Print texts and grids, with rich when it is there."""
    if importlib.util.find_spec("rich") is None:
        for part in parts:
            print(part.plain() if isinstance(part, Grid) else part, end="\n\n")
        return
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.width = max(console.width, WIDTH)  # numbers that are cut are of no use
    for part in parts:
        if isinstance(part, str):
            console.print(part, markup=False, highlight=False)
        else:
            console.print(part.title, style="bold", markup=False, highlight=False)
            table = Table(box=None, pad_edge=False)
            for at, name in enumerate(part.head):
                table.add_column(name, justify="right" if at else "left", no_wrap=True)
            for line in part.lines:
                table.add_row(*line, end_section=line[0].endswith(ROWS[-1]))
            console.print(table)
        console.print()


def write(folder: str, name: str, title: str, parts: Sequence[Grid | str]) -> Path:
    """The same as a Markdown file."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    path = target / f"{name}.md"
    texts = [part.markdown() if isinstance(part, Grid) else part.replace("\n  ", "\n- ") for part in parts]
    path.write_text("\n\n".join([f"# {title}", *texts]) + "\n", encoding="utf-8")
    return path
