"""Proofs at work: the printed numbers kept as JSON, references proved to a width, random questions judged.

python -m benchmarks.proofs --keep docs/proofs/kept.json
python -m benchmarks.proofs --reference DIRECTORY  # of engine, engine-rare, multi-constraints, sampling .json
python -m benchmarks.proofs --random 2000 --seed 0
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import quiltwork as qw

WIDTHS = ("1e-8", "1e-4")  # what is proved in the narrow claim is proved in the wide one
CERTIFICATE = [(0.4, 1e-9), (0.2, 1e-4), (0.05, 0.02)]
TOTAL = qw.compose(10_000 * qw.poisson(qw.gaussian(0.8), 0.01), 20 * qw.laplace(10.0))
PRINTED: list[tuple[str, str, Any, dict[str, Any]]] = [  # page, what it prints, loss, claim
    ("docs/what_it_computes.md", "11.47448687747[15, 29]", TOTAL,
     {"epsilon": ("11.4744868774715", "11.4744868774729"), "delta": "1e-6"}),
    ("docs/what_it_computes.md", "70.7085567741", TOTAL,
     {"epsilon": ("70.70855677", "70.70855678"), "delta": "1e-100"}),
    ("docs/what_it_computes.md", "3.3842686991636697", 52 * qw.constraints(CERTIFICATE),
     {"epsilon": "3.3842686991636697", "delta": "1e-5"}),
    ("docs/what_it_computes.md", "14.879911702291876", 52 * qw.approximate(0.4, 1e-9),
     {"epsilon": "14.879911702291876", "delta": "1e-5"}),
    ("docs/proofs.md", "3.385", 52 * qw.constraints(CERTIFICATE), {"epsilon": "3.385", "delta": "1e-5"}),
    ("docs/proofs.md", "4.378", qw.gaussian(1.0), {"epsilon": ("4.377", "4.378"), "delta": "1e-5"}),
]  # fmt: skip


def keep(file: Path) -> int:
    """Prove what the pages print, and write it down."""
    proofs = []
    for page, text, loss, claim in PRINTED:
        if text not in Path(page).read_text():
            raise SystemExit(f"{page} no longer prints {text}")
        proof = qw.prove(loss, **claim)
        print(f"{page}: {text}: {proof.verdict}, {proof.seconds} s")
        proofs.append({"page": page, "printed": text, "proof": proof.to_json()})
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"proofs": proofs}, indent=1) + "\n")
    return max((qw.proof.Proof.from_json(one["proof"]).exit_code for one in proofs), default=0)


# ---- references


def _node(kind: str, count: int = 1, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "count": count, **fields}


def _json(side: str, *nodes: dict[str, Any]) -> dict[str, Any]:
    return {"schema": "quiltwork/loss/1", "side": side, "releases": list(nodes)}


def _engine(data: dict[str, Any]) -> Iterator[tuple[str, Any, str, str]]:
    """Name, loss, delta and epsilon: parameters are in the names."""
    for name, found in data["eps"].items():
        kind, *words = name.split("_")
        loss, delta = None, words[-1]
        if kind == "gauss":
            loss = _json("worst", _node("gdp", int(words[1]), mu=words[0]))
        elif kind == "lap":
            loss = _json("worst", _node("laplace", int(words[1]), scale="1", sensitivity=words[0]))
        elif kind == "rr" and "x" in words[0]:
            pairs = [word.split("x") for word in words[:-1]]
            loss = _json("worst", *(_node("pure", int(count), epsilon=e) for count, e in pairs))
        elif kind == "rr":
            loss = _json("worst", _node("pure", int(words[1]), epsilon=words[0]))
        elif kind in ("sg", "sublap"):
            base = _node("gaussian", sigma=words[0]) if kind == "sg" else _node("laplace", scale=words[0])
            base.pop("count")
            loss = _json(words[3], _node("poisson", int(words[2]), base=base, rate=words[1]))
        yield name, loss, delta, found.get("eps", "")


def _rare(data: dict[str, Any]) -> Iterator[tuple[str, Any, str, str]]:
    for item in data["epsilon"]:
        base = {"kind": "gaussian", "sigma": item["sigma"]}
        loss = _json(item["direction"], _node("poisson", item["count"], base=base, rate=item["rate"]))
        yield f"{item['count']} x ({item['sigma']}, {item['rate']})", loss, item["delta"], item["epsilon"]


def questions(folder: Path) -> Iterator[tuple[str, str, Any, dict[str, Any], Any]]:
    """File, name, loss, where it is asked, and the reference; loss None where the reference is of another kind.

    Two numbers are the ends of what is known where a loss lies between two pairs.
    """
    for file, read in (("engine.json", _engine), ("engine-rare.json", _rare)):
        for name, loss, delta, value in read(json.loads((folder / file).read_text())):
            yield file, name, loss, {"delta": delta}, value
    for file, name, constraints, count, values in _constraints(
        json.loads((folder / "multi-constraints.json").read_text())
    ):
        for epsilon, value in values.items():
            yield file, f"{name} delta({epsilon})", _json("worst", *(
                _node("constraints", n, points=points) for points, n in zip(constraints, count, strict=True)
            )), {"epsilon": epsilon}, value  # fmt: skip
    for item in json.loads((folder / "sampling.json").read_text())["items"]:
        if item["kind"] in ("epsilon", "delta"):
            asked = {"delta": item["at"]} if item["kind"] == "epsilon" else {"epsilon": item["at"]}
            known = item["value"] if "value" in item else (item["low"], item["high"])
            yield "sampling.json", item["id"], _spelled(item["loss"]), asked, known


def _constraints(data: dict[str, Any]) -> Iterator[tuple[str, str, list[Any], list[int], dict[str, str]]]:
    for name in ("tiny_delta_k300", "offgrid_k100"):
        given = data[name]["inputs"]
        points = [list(pair) for pair in zip(given["eps"], given["delta"], strict=True)]
        yield "multi-constraints.json", name, [points], [given["k"]], data[name]["delta"]
    given = data["theorem1_hetero"]["inputs"]
    ends = [[[given["eps1"], "0"]], [[given["eps2"], "0"]]]
    yield "multi-constraints.json", "theorem1_hetero", ends, [given["x"], given["y"]], data["theorem1_hetero"]["delta"]
    several = data["heterogeneous_multi"]
    listed = [one["constraints"] for one in several["inputs"]], [one["count"] for one in several["inputs"]]
    yield "multi-constraints.json", "heterogeneous_multi", *listed, several.get("delta", {})


def _spelled(words: Any) -> Any:
    """The JSON of a loss of sampling.json, by the constructors of the library: it is only written down."""
    kind, *rest = words
    if kind == "direction":
        inner = _spelled(rest[1])
        return None if inner is None else inner.direction(rest[0])
    if kind == "times":
        inner = _spelled(rest[1])
        return None if inner is None else rest[0] * inner
    if kind == "group":
        inner = _spelled(rest[1])
        return None if inner is None else inner.group(rest[0])
    made = [
        _spelled(one) if isinstance(one, list) and isinstance(one[0], str) and one[0].isidentifier() else one
        for one in rest
    ]
    made = [float(one) if isinstance(one, str) and one != "replace_one" else one for one in made]
    if kind == "poisson" and len(made) == 3:
        return qw.poisson(*made[:2], neighbors=made[2])
    if kind == "gaussian_mixture":
        return qw.gaussian_mixture(made[0], [float(w) for w in made[1]], made[2])
    return getattr(qw, kind)(*made)


def reference(folder: Path, files: Sequence[str] = ()) -> int:
    """How many questions are proved to each width, by file."""
    counts: dict[str, Counter[str]] = {}
    for file, name, loss, asked, value in questions(folder):
        if files and file not in files:
            continue
        count = counts.setdefault(file, Counter())
        count["questions"] += 1
        if loss is None or not value:
            count["of another kind"] += 1
            continue
        quantity = "epsilon" if "delta" in asked else "delta"
        low, high = map(Decimal, value if isinstance(value, tuple) else (value, value))
        verdicts = []
        for width in WIDTHS:
            ends = str(low * (1 - Decimal(width) / 2)), str(high * (1 + Decimal(width) / 2))
            proof = qw.prove(loss, **{quantity: ends}, **asked)
            verdicts.append(f"{width} {proof.verdict} {proof.seconds:.1f} s")
            if proof.verdict == "proved":
                for wider in WIDTHS[WIDTHS.index(width) :]:
                    count[f"proved {wider}"] += 1
                break
            count[f"{proof.verdict} {width}"] += 1
        why = "" if proof.verdict == "proved" else f": {proof.because[0][:150]}"
        print(f"{file} {name}: {', '.join(verdicts)}{why}", flush=True)
    for file, count in counts.items():
        print(file, dict(count), flush=True)
    return 1 if any(name.startswith("refuted") for count in counts.values() for name in count) else 0


def random(first: int, number: int) -> int:
    """The cases of the soundness campaign, counted: by kind of release, what is proved to four digits."""
    from benchmarks.soundness.claims import Skip
    from benchmarks.soundness.rooms.proofs import compared, drawn

    counts: Counter[str] = Counter()
    for seed in range(first, first + number):
        case = drawn(np.random.default_rng(seed))
        start = time.process_time()
        for found in compared(case):
            if isinstance(found, Skip):
                counts[found.why] += 1
                print(seed, found.why, [part["kind"] for part in case["parts"]], flush=True)
                continue
            counts[f"{found.claim}: {'holds' if found.holds else 'VIOLATED'}"] += 1
            if not found.holds:
                print(seed, json.dumps(case), found, flush=True)
        counts["questions"] += 1
        counts["questions over 10 s"] += time.process_time() - start > 10
    print(f"seeds {first} to {first + number - 1}: {json.dumps(dict(sorted(counts.items())))}")
    return 1 if any("VIOLATED" in name for name in counts) else 0


def main() -> int:
    """One of the three."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--files", nargs="*", default=(), help="only these of the references")
    parser.add_argument("--random", type=int, default=0, help="so many random questions")
    parser.add_argument("--seed", type=int, default=0, help="of the first random question")
    given = parser.parse_args()
    codes = [keep(given.keep)] if given.keep else []
    codes += [reference(given.reference, given.files)] if given.reference else []
    codes += [random(given.seed, given.random)] if given.random else []
    return max(codes, default=0)


if __name__ == "__main__":
    raise SystemExit(main())
