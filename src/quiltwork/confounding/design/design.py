"""The next mechanism: the cheapest with which everything released so far, and it, meet a target (epsilon, delta).

A linear program (`refine`) suggests it; what is returned is a table of whole numbers over 2^bits whose delta, together
with the existing release, is evaluated anew with outward rounding.  `lower_bound` is a cost that no mechanism
undercuts, certified by a dual point, so that the gap says how far from the best the answer can be.

If the existing release misses the target, no added mechanism can repair it: the attacker may ignore the new output.

Reference: theory/confounding.md section 4.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.confounding.design.after_noise import NoisyTask, binned_pieces, noisy_answer, noisy_task
from quiltwork.confounding.design.certificate import Counts
from quiltwork.confounding.design.exact.design import solve_exactly
from quiltwork.confounding.design.refinement import refine, reporter
from quiltwork.confounding.design.task import Target, Task, relaxed, split_options, task_of
from quiltwork.confounding.finite.release import Release, WorstPair
from quiltwork.confounding.line.binned.law import checked_edges
from quiltwork.confounding.line.release import Readout
from quiltwork.curves.bracket import Bracket
from quiltwork.curves.curve import Curve
from quiltwork.curves.guarantee import Guarantee
from quiltwork.curves.polygons.profile import Profile
from quiltwork.curves.views import drawing
from quiltwork.document.draw import notebook as markup
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.kinds import document
from quiltwork.numbers.json import json_numbers
from quiltwork.numbers.rounding import down
from quiltwork.progress import reporting

if TYPE_CHECKING:
    from quiltwork.confounding.design.exact.design import RationalSolution
    from quiltwork.confounding.line.world import ContinuousWorld
    from quiltwork.confounding.world import World

BITS = 50
MOST_BITS = 52
ROUNDING = 1e-9  # a relative gap that is put down to rounding
METHOD = "partition refinement"
SAME = 1e-6
SCHEMA = "quiltwork/design/1"
MAX_LISTED_ENTRIES = 5_000_000  # entries of a joint table that is worth listing as a release of its own


@attrs.frozen(eq=False, repr=False)
class Design:
    """A mechanism that may be released next, with its certificate."""

    task: Task
    table: Counts
    lower_bound: float | None  # no mechanism costs less; None when nothing was proved about that
    finished: bool
    method: str
    rounds: int = 0
    seconds: float = 0.0
    scale: float | None = None  # of a family of noise
    optimum: RationalSolution | None = None  # the exact best channel and its exact cost

    @property
    def world(self) -> World:
        """The world it was designed for."""
        return self.task.world

    @property
    def before(self) -> Curve:
        """What was released before."""
        return self.task.before

    @property
    def channel(self) -> FloatArray:
        """P(z | input): floats that are whole numbers over 2^bits, exactly."""
        return self.table.channel

    @property
    def counts(self) -> np.ndarray:
        """The same as whole numbers; a row sums to 2^bits."""
        return self.table.counts

    @property
    def bits(self) -> int:
        """log2 of what a row of `counts` sums to."""
        return self.table.bits

    @property
    def outputs(self) -> FloatArray:
        """The numbers that the outputs stand for."""
        return self.task.cost.output_values

    @cached_property
    def cost(self) -> float:
        """The expected cost of this table, the worst over the priors, rounded up."""
        return self.task.price(self.channel)

    @property
    def gap(self) -> float | None:
        """How much of the cost could be saved at most, relative; None when no lower bound is known.

        Costs far below the largest possible one count as SAME of it, as they do where the search stops.
        """
        if self.lower_bound is None:
            return None
        return max(self.cost - self.lower_bound, 0.0) / max(abs(self.cost), SAME * self.task.size, 1e-300)

    @cached_property
    def after(self) -> WorstPair:
        """The curve of everything together, with this mechanism."""
        return self.task.after(self.table)

    @cached_property
    def release(self) -> WorstPair:
        """Everything together as a release, which may be the `existing` of the next design.

        It is a plain curve when its table would be large, when earlier outputs are continuous, or when the secret
        itself is read.
        """
        existing, reads = self.task.before, self.task.reads
        if not isinstance(existing, Release) or reads == "secret":
            return self.after
        if float(existing.table.shape[0]) * existing.outputs * self.channel.shape[1] > MAX_LISTED_ENTRIES:
            return self.after
        if reads == "data":
            together = existing.then(self.table.laws())
        else:  # row x n + y of the table is what is done with the value x after the output y
            together = existing.then_adaptive([self.table.laws().rows(slice(y, None, existing.outputs))
                                               for y in range(existing.outputs)])  # fmt: skip
        together.laws = self.after.laws  # the same numbers as in the certificate, to the last digit
        return together

    @property
    def delta(self) -> Bracket:
        """delta of everything together at the target's epsilon."""
        return self.task.delta_of(self.after)

    def epsilon(self, delta: Any) -> Bracket:
        """epsilon of everything together at this delta."""
        return self.after.epsilon(delta)

    @property
    def assumes(self) -> tuple[str, ...]:
        """What the certificate rests on."""
        if self.task.reads != "secret":
            return self.world.assumes
        return (*self.world.assumes, "the new mechanism alone reads the secret itself, with noise of its own")

    def guarantee(self) -> Guarantee:
        """The whole composition with its words; the curve is exact where it can be listed, else the target itself."""
        curve: Any = self.after
        if isinstance(curve, WorstPair) and curve.laws.low.size > MAX_LISTED_ENTRIES:
            curve = Profile([self.task.epsilon], [float(self.delta.upper)], symmetric=True)
        assumes = (*self.assumes, "outputs are drawn from exactly this table of whole numbers")
        because = ("everything together evaluated outside the solver (theory/confounding.md 4)",)
        return Guarantee(curve, protects=self.world.protects, assumes=assumes, because=because)

    def draw(self, inputs: Any) -> Any:
        """Outputs (their numbers 0, 1, ...) for inputs given by number, drawn from the certified table.

        The randomness is the operating system's; each draw uses `bits` fresh bits and no float.
        """
        from quiltwork.mechanisms.certified_table import draw

        given = np.asarray(inputs)
        limit = self.counts.shape[0]
        if given.dtype.kind not in "iu" or not bool(np.all((given >= 0) & (given < limit))) or not given.size:
            raise InvalidParameter("inputs", inputs, f"whole numbers from 0 to {limit - 1}")
        found = np.array([draw(self.counts[index], self.bits) for index in given.ravel()]).reshape(given.shape)
        return int(found) if found.ndim == 0 else found

    def explain(self) -> str:
        """What was designed, in words."""
        lines = [
            f"Target: {self.task.words} for everything together; protected: {self.world.protects}.",
            f"Before: epsilon {_ends(self.before.epsilon(self.task.delta))} at that delta.",
            f"With the new mechanism: delta {_ends(self.delta)} at that epsilon.",
            f"Expected cost ({self.task.cost.name}): at most {self.cost:.9g}.",
        ]
        if self.lower_bound is not None:
            share = f" (gap {self.gap:.2g})" if self.gap is not None else ""
            lines.append(f"No mechanism that meets the target costs less than {self.lower_bound:.9g}{share}.")
        if not self.finished:
            lines.append("The search ended before the gap was closed; the answer is certified all the same.")
        lines.append("This assumes: " + "; ".join(self.assumes) + ".")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        inputs, outputs = self.counts.shape
        words = markup.paragraphs([f"Design: a table of {inputs} x {outputs}", *self.explain().splitlines()])
        heads = ("input", *(f"{value:.6g}" for value in self.outputs[: markup.MOST_ROWS]))
        rows = [
            (place, *(f"{chance:.4g}" for chance in row[: markup.MOST_ROWS])) for place, row in enumerate(self.channel)
        ]
        left = markup.muted(f"... and {outputs - markup.MOST_ROWS} more outputs") if outputs > markup.MOST_ROWS else ""
        table = markup.capped(heads, rows, "Chance of each output, rounded; `counts` holds it exactly") + left
        return markup.block(words, table, drawing(self.after, "Trade-off function of everything together"))

    def __repr__(self) -> str:
        inputs, outputs = self.counts.shape
        return f"<Design: {inputs} x {outputs} table for {self.task.words}, cost at most {self.cost:.6g}>"

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary with the certified table."""
        return {
            "schema": SCHEMA,
            "target": {"epsilon": self.task.epsilon, "delta": self.task.delta},
            "reads": self.task.reads,
            "method": self.method,
            "finished": self.finished,
            "bits": self.bits,
            "counts": self.counts.tolist(),
            "outputs": json_numbers(self.outputs),
            "cost": {"name": self.task.cost.name, "upper": self.cost},
            "lower_bound": self.lower_bound,
            "gap": self.gap,
            "scale": self.scale,
            "delta": self.delta.to_json(),
            "exact": None
            if self.optimum is None
            else {
                "cost": str(self.optimum.cost),
                "lower_bound": str(self.optimum.lower_bound),
                "channel": [[str(entry) for entry in row] for row in self.optimum.channel],
            },
        }


def design(
    world: World,
    existing: Release | Readout | None = None,
    *,
    epsilon: Any = None,
    delta: Any = 0,
    cost: Any = "squared",
    outputs: Any = None,
    odds: Any = None,
    reads: str = "data",
    exact: bool = False,
    gap: float = 1e-6,
    time_limit: float | None = None,
    clusters: int | None = None,
    bits: int = BITS,
    progress: bool | None = None,
) -> Design:
    """The cheapest next mechanism with which everything together is (epsilon, delta)-private about the secret.

    `cost` is "squared", "absolute", "zero-one", a function of two numbers or a table; `outputs` are the values it may
    return (those of the input if not given).  `reads` says what the mechanism sees: "data", "secret", or "data and
    output" (it is chosen after the earlier outputs are known).  `odds` states e^epsilon as a fraction instead of
    epsilon; with `exact` and fractions everywhere the best channel and its cost are found as fractions
    (`design.optimum`).  The search stops at a relative `gap`, or after `time_limit` seconds with the best certified
    answer so far.  `clusters` solves on that many groups of earlier outputs, or cells when they are continuous; the
    certificate is for all of them.
    """
    task = task_after(world, existing, Target(epsilon, delta, cost, outputs, odds, reads), clusters)
    return searched(task, exact, gap, time_limit, clusters, bits, progress)


def searched(
    task: Task, exact: bool = False, gap: float = 1e-6, time_limit: float | None = None, clusters: int | None = None,
    bits: int = BITS, progress: bool | None = None,
) -> Design:  # fmt: skip
    """The cheapest mechanism of a task, or the best certified one when the time is over."""
    bits, clusters = checked_bits(bits), None if clusters is None else checks.count("clusters", clusters, least=1)
    gap = checks.non_negative("gap", gap)
    time_limit = None if time_limit is None else checks.non_negative("time_limit", time_limit)
    if checks.flag("exact", exact):
        return _exactly(task, bits)
    problem, certain = relaxed(task, clusters)
    with reporting("designing", None if progress is None else checks.flag("progress", progress)) as bar:
        options: dict[str, Any] = {"gap": gap, "report": reporter(bar, gap)}
        found = refine(problem, time_limit=time_limit, **options)
        if isinstance(task, NoisyTask):
            table, found = noisy_answer(task, problem, found, bits, time_limit, options)
        else:
            table = task.certified(found.channel, bits)
    bound = down(found.lower_bound - task.slack) if certain else None
    answer = Design(task, table, bound, found.finished, METHOD, found.rounds, found.seconds)
    # the certificate, or cells of continuous outputs, may leave a gap that the solver does not know of
    closed = answer.gap is None or answer.gap <= max(gap, ROUNDING)
    return answer if closed else attrs.evolve(answer, finished=False)


def task_after(world: World, existing: Any, target: Target, cells: int | None = None) -> Task:
    """The task after any release of this world, with finitely many outputs or with continuous noise."""
    if existing is None or isinstance(existing, Release):
        return task_of(world, existing, target)
    if not isinstance(existing, Readout):
        raise InvalidParameter(
            "existing", existing, "a release of this world", "a curve alone does not say what the data told"
        )
    return noisy_task(world, existing, target, cells)


def binned_design(
    world: ContinuousWorld, existing: Readout | None, edges: Any, values: Any, options: dict[str, Any]
) -> Design:
    """A mechanism that reads the bin of continuous data, after a release with Gaussian noise or after nothing."""
    finite = world.binned(edges, values=values)
    if existing is None:
        return design(finite, None, **options)
    if existing.world is not world:
        raise InvalidParameter("existing", existing, "a release of this same world")
    target, search = split_options(options)
    pieces = binned_pieces(world, existing, checked_edges(edges))
    return searched(noisy_task(finite, existing, target, search.get("clusters"), pieces), **search)


def checked_bits(bits: Any) -> int:
    """How many bits a table may have: few enough for floats to hold it exactly."""
    found = checks.count("bits", bits, least=8)
    if found > MOST_BITS:
        raise InvalidParameter("bits", bits, f"from 8 to {MOST_BITS}, so that floats hold the table exactly")
    return found


def _exactly(task: Task, bits: int) -> Design:
    law = _exact_law(task)
    if task.odds is None or task.joint.exact is None or law is None:
        raise Unsupported(
            "an exact design", "it needs odds = e^epsilon and every table as fractions", "leave out exact=True"
        )
    weights = law[:, :, None] * task.cost.exact[None, :, :]
    found = solve_exactly(task.joint.exact, task.world.ordered, task.odds, task.exact_delta, weights)
    channel = np.array([[float(entry) for entry in row] for row in found.channel])
    table = task.certified(channel, bits)
    lower = math.nextafter(float(found.lower_bound), -math.inf)
    return Design(task, table, lower, found.gap == 0, "exact linear program", optimum=found)


def _exact_law(task: Task) -> Any:
    """P(input) under each prior in fractions."""
    secret, tensor = task.world.secret.exact, task.joint.exact
    if secret is None or tensor is None:
        return None
    inputs = tensor.sum(axis=2).reshape(task.world.priors, task.world.count, -1)
    return (secret[:, :, None] * inputs).sum(axis=1)


def _ends(bracket: Bracket) -> str:
    return f"in [{float(bracket.lower):.6g}, {float(bracket.upper):.6g}]"


# ---- as a document


def _written(value: Design) -> dict[str, Any]:
    task = value.task
    if type(task) is not Task:
        raise Unsupported(
            "writing a design after continuous outputs", "its cells are not data", "write design.to_json(), a summary"
        )
    exact = task.odds is not None and not (task.odds == 1 and task.epsilon == 0)
    return {
        "existing": task.existing,
        "epsilon": None if exact else task.epsilon,
        "odds": task.odds if exact else None,
        "delta": task.exact_delta,
        "cost": task.cost.exact,
        "cost_name": task.cost.name,
        "outputs": task.cost.outputs,
        "reads": task.reads,
        "counts": value.counts,
        "bits": value.bits,
        **{name: getattr(value, name) for name in ("lower_bound", "finished", "method", "rounds", "seconds", "scale")},
        "optimum": value.optimum,
    }


def _read(
    existing: Any, delta: Any, cost: Any, cost_name: str, reads: str, counts: Any, bits: int, epsilon: Any = None,
    odds: Any = None, outputs: Any = None, optimum: Any = None, **told: Any,
) -> Design:  # fmt: skip
    """The table is held against the target anew: a document that was changed is refused."""
    table = np.asarray(counts)
    whole = table.dtype.kind == "i" and table.ndim == 2 and table.size > 0 and type(bits) is int and 0 < bits <= 62
    if not whole or bool((table < 0).any()) or {int(sum(row)) for row in table.tolist()} != {1 << bits}:
        raise InvalidParameter("counts", "other numbers", f"rows of whole numbers >= 0, each of sum 2^bits = 2^{bits}")
    task = task_of(existing.world, existing, Target(epsilon, delta, cost, outputs, odds, reads))
    task = attrs.evolve(task, cost=attrs.evolve(task.cost, name=str(cost_name)))
    found = Counts(table.astype(np.int64), bits)
    if table.shape != task.cost.table.shape:
        raise InvalidParameter(
            "counts", table.shape, f"a table of {task.cost.table.shape[0]} x {task.cost.table.shape[1]}"
        )
    if not task.holds(found):
        raise InvalidParameter("counts", "a table that misses the target", f"one that meets {task.words}")
    return Design(task, found, optimum=optimum, **{"lower_bound": None, **told})


document(
    "design/2",
    fields="existing delta cost cost_name reads counts bits finished method",
    optional="epsilon odds outputs lower_bound rounds seconds scale optimum",
    write=_written,
    read=_read,
)(Design)
