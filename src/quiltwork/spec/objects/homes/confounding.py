# ruff: noqa: E501
"""Worlds, laws, releases, bounds and designs for inferred secrets as documents; exact fractions stay exact."""

from __future__ import annotations

from typing import Any

from quiltwork.spec.objects.homes import laws as tables
from quiltwork.spec.objects.kinds import Kind, Refusal

__all__ = ["KINDS", "REFUSED"]

_ROOM = "quiltwork.confounding."


def _attributes(*names: str) -> Any:
    return lambda value: {name: getattr(value, name) for name in names}


def _made(home: str) -> Any:
    return lambda **fields: Kind("", _ROOM + home).type(**fields)


# ---- finite worlds and releases


def _world(value: Any) -> dict[str, Any]:
    pairs = sorted({(min(pair), max(pair)) for pair in (value.ordered % value.count).tolist()})
    rows = [slice(start, start + value.count) for start in range(0, value.priors * value.count, value.count)]
    return {
        "secret": value.secret,
        "data": tuple(value.laws.rows(part) for part in rows) if value.priors > 1 else (value.laws,),
        "pairs": tuple(tuple(map(int, pair)) for pair in pairs),
        "values": value.exact_values,
        "secrets": value.secrets,
        "data_names": value.data_names,
    }


def _read_world(data: tuple[Any, ...], **fields: Any) -> Any:
    from quiltwork.confounding.world import World

    return World(data=data[0] if len(data) == 1 else list(data), **fields)


def _release(value: Any) -> dict[str, Any]:
    """The channels alone when everything follows from them; the table, and the laws, where it does not."""
    from quiltwork.confounding.finite.channels import independent

    parts, through = value._parts, value.world.laws.through(value.table)
    together = parts is not None and tables.same(independent(*parts), value.table)
    return {
        "world": value.world,
        "parts": parts,
        "table": None if together else value.table,
        "sizes": tuple(map(int, value.sizes)),
        "words": value.words,
        "laws": None if tables.same(through, value.laws) else value.laws,
    }


def _read_release(
    world: Any, sizes: tuple[int, ...], words: str, parts: Any = None, table: Any = None, laws: Any = None
) -> Any:
    from quiltwork.confounding.finite.channels import independent
    from quiltwork.confounding.finite.release import Release
    from quiltwork.errors import InvalidParameter

    if table is None and not parts:
        raise InvalidParameter("parts", parts, "a list of channels", "or give the table of all outputs together")
    channel = independent(*parts) if table is None else table
    found = Release(world, channel, sizes, parts, words)
    if laws is not None:
        tables.overlapping(laws, found.laws)
        found.laws = laws
    return found


def _pairs(value: Any) -> dict[str, Any]:
    return {"laws": value.laws, "pairs": value.pairs, "method": value.method, "certified": value.certified}


def _read_pairs(laws: Any, pairs: Any, method: str, certified: bool) -> Any:
    import numpy as np

    from quiltwork.confounding.finite.release import WorstPair
    from quiltwork.errors import InvalidParameter

    found = np.asarray(pairs)
    if found.dtype.kind != "i" or found.ndim != 2 or found.shape[1] != 2 or not found.size:
        raise InvalidParameter("pairs", pairs, "pairs of rows")
    if int(found.min()) < 0 or int(found.max()) >= laws.shape[0]:
        raise InvalidParameter("pairs", pairs, f"rows from 0 to {laws.shape[0] - 1}")
    return WorstPair(laws, found, str(method), certified=certified is True)


def _amplified(value: Any) -> dict[str, Any]:
    return {"world": value.world, "loss": value.loss, "distance": value.distance}


# ---- continuous worlds


def _readout(value: Any) -> dict[str, Any]:
    return {"world": value.world, "readings": value.readings}


def _read_readout(world: Any, readings: Any) -> Any:
    from quiltwork.confounding.line.release import Readout

    return Readout(world, readings, *world._curve(readings))


def _gaussian_curve(value: Any) -> dict[str, Any]:
    return {"square": value.square, "method": value.method, "certified": value.certified}


def _read_gaussian_curve(method: str, certified: bool, square: Any = None) -> Any:
    from quiltwork.confounding.line.gaussian import GaussianCurve

    return GaussianCurve(square, str(method), certified=certified is True)


# ---- designs


def _design(value: Any) -> dict[str, Any]:
    from quiltwork.confounding.design.task import Task
    from quiltwork.errors import Unsupported

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


def _read_design(
    existing: Any, delta: Any, cost: Any, cost_name: str, reads: str, counts: Any, bits: int, epsilon: Any = None,
    odds: Any = None, outputs: Any = None, optimum: Any = None, **told: Any,
) -> Any:  # fmt: skip
    """The table is held against the target anew: a document that was changed is refused."""
    import attrs
    import numpy as np

    from quiltwork.confounding.design.certificate import Counts
    from quiltwork.confounding.design.design import Design
    from quiltwork.confounding.design.task import Target, task_of
    from quiltwork.errors import InvalidParameter

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
    return Design(task, found, optimum=optimum, **told)


_RELEASE = ("world", "sizes", "words")
_DESIGN = ("existing", "delta", "cost", "cost_name", "reads", "counts", "bits", "finished", "method")
_PLAIN = {
    "noise": "line.noise:Noise",
    "point": "line.laws.components:Point",
    "normal": "line.laws.components:Normal",
    "laplace": "line.laws.components:Laplace",
    "normal_laplace": "line.laws.components:NormalLaplace",
    "uniform": "line.laws.components:Uniform",
    "readings": "line.readings:Readings",
    "continuous_world": "line.world:ContinuousWorld",
    "penalised": "papers.penalty:Penalised",
    "copula": "copula_noise:CopulaPerturbation",
    "copula_curve": "copula_noise:CopulaCurve",
    "clustered": "finite.clusters:Clustered",
    "exact_design": "design.exact.design:RationalSolution",
    "exact_duals": "design.exact.program:Duals",
}
KINDS = (
    *(Kind(name, _ROOM + home) for name, home in _PLAIN.items()),
    Kind("line_mixture", _ROOM + "line.laws.mixture:Mixture", restore=("weights",)),
    Kind("normal_vectors", _ROOM + "line.laws.vectors:NormalVectors", restore=("weights",)),
    Kind("laws", "quiltwork.numbers.laws:Laws", fields=(),
         optional=("table", "low", "high", "exponents", "exact", "of", "times"),
         write=tables.written, read=tables.read),
    Kind("world", _ROOM + "world:World", fields=("data",),
         optional=("secret", "pairs", "values", "secrets", "data_names"), write=_world, read=_read_world),
    Kind("world_release", _ROOM + "finite.release:Release", fields=_RELEASE, optional=("parts", "table", "laws"),
         write=_release, read=_read_release),
    Kind("worst_pair", _ROOM + "finite.release:WorstPair", fields=("laws", "pairs", "method", "certified"), write=_pairs,
         read=_read_pairs),
    Kind("amplified", _ROOM + "bounds:Amplified", fields=("world", "loss"), optional=("distance",), write=_amplified,
         read=_made("bounds:Amplified")),
    Kind("world_bounds", _ROOM + "bounds:Bounds", fields=("release",), write=_attributes("release"),
         read=_made("bounds:Bounds")),
    Kind("ignoring", _ROOM + "finite.ignoring:Ignoring", fields=("release",), write=_attributes("release"),
         read=_made("finite.ignoring:Ignoring")),
    Kind("readout", _ROOM + "line.release:Readout", fields=("world", "readings"), write=_readout, read=_read_readout),
    Kind("gaussian_curve", _ROOM + "line.gaussian:GaussianCurve", fields=("method", "certified"), optional=("square",),
         write=_gaussian_curve, read=_read_gaussian_curve),
    Kind("design", _ROOM + "design.design:Design", 2, fields=_DESIGN, write=_design, read=_read_design,
         optional=("epsilon", "odds", "outputs", "lower_bound", "rounds", "seconds", "scale", "optimum")),
)  # fmt: skip
REFUSED = {
    _ROOM + "line.laws.user:Unimodal": Refusal(
        "its density is a Python function", "keep it in your program, or state a mixture of named laws"
    ),
    _ROOM + "pairs:Within": Refusal("its distance may be a Python function", "write the world, which lists its pairs"),
    _ROOM + "line.enclosure.curve:EnclosedCurve": Refusal(
        "its cells are not data", "write the release that it is the curve of"
    ),
    "quiltwork.spec.files.world:Used": Refusal("it belongs to a world file", "write the file: WorldFile.to_yaml()"),
}
