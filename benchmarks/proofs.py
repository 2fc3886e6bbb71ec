"""Proofs at work: the printed numbers kept as JSON, references proved to a width, random questions judged.

python -m benchmarks.proofs --keep docs/proofs/kept.json
python -m benchmarks.proofs --references [engine engine-rare multi-constraints sampling]
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
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import quiltwork as qw
from benchmarks.sampling_values import ITEMS, built
from quiltwork.proof.prove import prove_claim

REFERENCES = Path(__file__).resolve().parents[1] / "tests" / "soundness"
WIDTHS = ("1e-8", "1e-4")  # what is proved in the narrow claim is proved in the wide one
COUNTED = ("questions", *(f"proved to {width}" for width in reversed(WIDTHS)), "refuted")


def keep(file: Path) -> int:
    """Prove what the pages and the gallery print, and write it down; 1 where something is refuted."""
    from benchmarks.printed import documentation, gallery

    proofs: list[dict[str, Any]] = []
    undecided: list[dict[str, Any]] = []
    for one in chain(documentation(), gallery()):
        proof = prove_claim(one.claim)
        print(f"{one.page}: {one.shown}: {proof.verdict}, {proof.seconds} s", flush=True)
        told = {"page": one.page, "printed": one.shown}
        if proof.verdict == "undecided":
            undecided.append({**told, "claim": one.claim.to_json(), "because": list(proof.because)})
        else:
            proofs.append({**told, "proof": proof.to_json()})
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"proofs": proofs, "undecided": undecided}, indent=1) + "\n")
    print(f"{len(proofs)} proved, {len(undecided)} undecided")
    return 1 if any(one["proof"]["verdict"] == "refuted" for one in proofs) else 0


# ---- references


def questions() -> Iterator[tuple[str, str, Any, dict[str, Any], tuple[str, str]]]:
    """File of theory, name, loss, where it is asked, and what is known, twice, or from both sides."""
    engine = json.loads((REFERENCES / "reference_engine.json").read_text())
    for item in engine["epsilon"]:
        yield "engine", item["name"], _built(item), {"delta": item["delta"]}, (item["epsilon"],) * 2
    for item in engine["delta"]:
        for epsilon, delta in item["delta"].items():
            yield "multi-constraints", f"{item['name']} at {epsilon}", _built(item), {"epsilon": epsilon}, (delta,) * 2
    for item in json.loads((REFERENCES / "reference_rare.json").read_text())["epsilon"]:
        one = {"kind": "poisson", "rate": item["rate"], "base": {"kind": "gaussian", "sigma": item["sigma"]}}
        loss = {"schema": "quiltwork/loss/1", "side": item["direction"], "releases": [{**one, "count": item["count"]}]}
        name = f"{item['count']} x ({item['sigma']}, {item['rate']}) {item['direction']}"
        yield "engine-rare", name, loss, {"delta": item["delta"]}, (item["epsilon"],) * 2
    for item in ITEMS:
        if item["kind"] in ("epsilon", "delta") and item["loss"] is not None:
            asked = {"delta" if item["kind"] == "epsilon" else "epsilon": item["at"]}
            known = (item["value"],) * 2 if "value" in item else (item["low"], item["high"])
            yield "sampling", item["id"], built(item["loss"]), asked, known


def _built(item: dict[str, Any]) -> qw.Loss:
    loss: qw.Loss = eval(item["loss"], {"qw": qw})
    return loss.direction(item["direction"]) if "direction" in item else loss


def references(files: Sequence[str] = ()) -> int:
    """How many questions are proved to each width, by file; 1 where one is refuted."""
    counts: dict[str, Counter[str]] = {}
    for file, name, loss, asked, known in questions():
        if files and file not in files:
            continue
        count = counts.setdefault(file, Counter())
        count["questions"] += 1
        quantity = "epsilon" if "delta" in asked else "delta"
        low, high = map(Decimal, known)
        verdicts = []
        for width in WIDTHS:
            ends = str(low * (1 - Decimal(width) / 2)), str(high * (1 + Decimal(width) / 2))
            claimed: dict[str, Any] = {quantity: ends, **asked}
            proof = qw.prove(loss, **claimed)
            verdicts.append(f"{width} {proof.verdict} {proof.seconds:.1f} s")
            count["refuted"] += proof.verdict == "refuted"
            if proof.verdict == "proved":
                count.update(f"proved to {wider}" for wider in WIDTHS[WIDTHS.index(width) :])
                break
        why = "" if proof.verdict == "proved" else f": {proof.because[0][:150]}"
        print(f"{file} {name}: {', '.join(verdicts)}{why}", flush=True)
    for file, count in counts.items():
        print(file, {name: count[name] for name in COUNTED}, flush=True)
    return 1 if any(count["refuted"] for count in counts.values()) else 0


def random(first: int, number: int) -> int:
    """The cases of the soundness campaign, counted, and by kind: what is proved to four digits, what is undecided."""
    from benchmarks.soundness.claims import Skip
    from benchmarks.soundness.rooms.proofs import compared, drawn

    counts: Counter[str] = Counter()
    kinds: dict[str, Counter[str]] = {}
    for seed in range(first, first + number):
        case = drawn(np.random.default_rng(seed))
        start = time.process_time()
        found = [(one.why, True) if isinstance(one, Skip) else (one.claim, one.holds) for one in compared(case)]
        seconds = time.process_time() - start
        named = sorted({f"{part['kind']} {part.get('base', {}).get('kind', '')}".strip() for part in case["parts"]})
        for words, holds in found:
            counts[words if holds else f"VIOLATED: {words}"] += 1
            if not holds:
                print(seed, words, json.dumps(case), flush=True)
        counts["questions"] += 1
        counts["questions over 10 s"] += seconds > 10
        for kind in named:
            kinds.setdefault(kind, Counter()).update(
                {"questions": 1, **dict.fromkeys([words for words, _ in found], 1)}
            )
        print(f"{seed}: {seconds:.2f} s, {' + '.join(named)}: {'; '.join(words for words, _ in found)}", flush=True)
    for kind, count in sorted(kinds.items()):
        print(f"{kind}: {json.dumps(dict(sorted(count.items())))}")
    print(f"seeds {first} to {first + number - 1}: {json.dumps(dict(sorted(counts.items())))}", flush=True)
    return 1 if any("VIOLATED" in name for name in counts) else 0


def main() -> int:
    """One of the three."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--references", nargs="*", metavar="FILE", help="known values: all, or those of these files")
    parser.add_argument("--random", type=int, default=0, help="so many random questions")
    parser.add_argument("--seed", type=int, default=0, help="of the first random question")
    given = parser.parse_args()
    codes = [keep(given.keep)] if given.keep else []
    codes += [references(given.references)] if given.references is not None else []
    codes += [random(given.seed, given.random)] if given.random else []
    return max(codes, default=0)


if __name__ == "__main__":
    raise SystemExit(main())
