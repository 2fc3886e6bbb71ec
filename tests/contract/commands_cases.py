"""Command lines with what they answer: the help of every command, and sessions in a folder of their own."""

import contextlib
import io
import json
import os
import random
import re
import shlex
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from tests.contract.normal import normal

from quiltwork.cli import main

ROOT = Path(__file__).parents[2]
KEPT = {"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH"}
SETTINGS = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "MPLBACKEND": "agg"}
COMMAND = re.compile(r"^  ([a-z][a-z-]*)  +\S")


def _scores() -> str:
    draw = random.Random(11)
    rows = [(draw.random() < 0.5) for _ in range(1200)]
    return "score,member\n" + "".join(f"{draw.gauss(1.5 * row, 1.0):.6f},{int(row)}\n" for row in rows)


def _people() -> str:
    draw = random.Random(12)
    return "".join(",".join(str(int(draw.random() < 0.3)) for _ in range(12)) + "\n" for _ in range(60))


WORLD = "quiltwork: 1\ntitle: Test\nsecrets: {names: [s, t]}\ndata: {given_secret: [[3/4, 1/4], [1/4, 3/4]]}\n"
TABLE = """quiltwork: 1
title: Regions
table: {columns: {region: {cat: [n, s, w]}, age: {int: [0, 99]}}}
neighbors: replace_one
targets: [{epsilon: 0.5, delta: 0}]
queries:
  - {name: by region, split_by: region, count: true, laplace: {scale: 10}, holds: {on_input: add_remove}}
  - {name: young, where: age < 20, pure: {epsilon: 0.1}, holds: {on_input: add_remove}}
"""
PLAN = """quiltwork: 1
title: A plan
targets: [{epsilon: 1.0, delta: 1.0e-6}]
releases:
  - {name: counts, gaussian: {sigma: 20.0}, count: 4}
  - {name: '[red]odd[/red]', pure: {epsilon: 0.1}}
"""
FILES = {
    "plan.yaml": PLAN,
    "loud.yaml": PLAN.replace("20.0", "10.0"),
    "bad.yaml": "quiltwork: 1\nreleases:\n  - {name: a, pure: {epsilon: -1}}\n",
    "mixed.yaml": "quiltwork: 1\nreleases: [{name: a, mixture: {components: [{weight: 0.5, "
    "of: {pure: {epsilon: 1}}}, {weight: 0.5, of: {laplace: {scale: 2}}}]}}, "
    "{name: b, poisson: {rate: 0.1, of: {gaussian: {sigma: 2}}}, count: 50}]\n",
    "tables.yaml": TABLE,
    "tables_next.yaml": TABLE.replace("scale: 10", "scale: 5"),
    "chain.yaml": "quiltwork: 1\nprior: {markov_chain: {transition: [[0.8, 0.2], [0.2, 0.8]], length: 6}}\n"
    "releases: [{name: a, pure: {epsilon: 0.05}, count: 4}, {name: b, laplace: {scale: 10}}]\n",
    "walk.yaml": "quiltwork: 1\nprior: {auto_regressive: {rho: 0.5, sigma: 1, gap: 1}}\n",
    "independent.yaml": "quiltwork: 1\nprior: independent\n",
    "bsc.yaml": WORLD + "existing: [{name: bsc, table: [[9/10, 1/10], [1/10, 9/10]], times: 2}]\n",
    "bsc_target.yaml": WORLD + "existing: [{name: bsc, table: [[9/10, 1/10], [1/10, 9/10]]}]\n"
    "target: {odds: 15, delta: 1/10}\n",
    "scores.csv": _scores(),
    "people.csv": _people(),
}
SMALL = "attack --from independent --candidates 20 --reference 60 --attributes 40 --quick"
PATIENTS = "--epsilon 2 --delta 1e-6 --protects 'one person'"
SESSIONS: dict[str, list[str]] = {
    "account": [
        "--version",
        "account examples/plans/hospital.yaml --json",
        "account examples/plans/hospital.yaml",
        "account examples/plans/too_much.yaml --delta 1e-3 --json",
        "account examples/plans/zcdp.yaml --json",
        "account examples/plans/constraints.yaml --json",
        "account mixed.yaml --json",
        "account plan.yaml --json --html account.html",
        "account plan.yaml",
        "account bad.yaml",
        "account nothing.yaml",
        "account plan.yaml --delta 2",
        "acount plan.yaml",
        "account plan.yaml --loud",
    ],
    "calibrate": [
        "calibrate gaussian --epsilon 1 --delta 1e-6 --count 10 --json",
        "calibrate gaussian --epsilon 1 --delta 1e-6 --count 10",
        "calibrate gaussian --epsilon 1 --delta 1e-6 --count 8 --rate 0.1 --json",
        "calibrate laplace --epsilon 1 --delta 1e-6 --count 3 --json",
        "calibrate discrete_gaussian --epsilon 1 --delta 1e-6 --count 3 --sensitivity 2 --json",
        "calibrate discrete_laplace --epsilon 1 --delta 0 --count 3 --json",
        "calibrate pure --epsilon 1 --delta 1e-6 --count 100 --json",
        "calibrate gdp --epsilon 1 --delta 1e-6 --json",
        "calibrate zcdp --epsilon 1 --delta 1e-6 --count 4 --json",
        "calibrate gaussian --epsilon 1",
        "calibrate zcdp --epsilon 1 --delta 1e-6 --rate 0.1",
    ],
    "region": [
        "region examples/plans/constraints.yaml --json",
        "region examples/plans/constraints.yaml --times 3 --json",
        "region --constraint 0.3,0 --constraint 0.15,0.02 --times 20 --delta 0.05 --json --csv faces.csv",
        "region --constraint 0.3,0 --constraint 0.15,0.02 --epsilon 0.2 --delta 0.01 --json",
        "region --constraint 0.3,0.1 --alpha 0.2 --markdown region.md",
        "region --constraint 0.3",
    ],
    "tables": [
        "tables examples/plans/clinics.yaml --json",
        "tables examples/plans/clinics.yaml",
        "tables tables.yaml --json",
        "tables tables.yaml --to add_remove --delta 0 --json",
        "tables tables_next.yaml --json",
        "tables plan.yaml",
    ],
    "influence": [
        "influence examples/plans/activity.yaml --json",
        "influence --binary 0.8,0.9 --epsilon 1 --json",
        "influence --binary 0.8,0.8 --max-size 5 --per-entry 0.1 --json --csv influence.csv",
        "influence --binary 0.8,0.8 --plan plan.yaml --json",
        "influence chain.yaml --json",
        "influence walk.yaml --per-entry 0.1 --json",
        "influence independent.yaml --epsilon 5 --json",
        "influence plan.yaml",
    ],
    "design": [
        "design examples/worlds/xor_pad.yaml --exact --json",
        "design examples/worlds/xor_pad.yaml --epsilon 1 --json",
        "design examples/worlds/medical.yaml --no-compare --json --csv channel.csv",
        "design examples/worlds/medical.yaml --family gaussian --no-compare --json",
        "design bsc.yaml --delta 0.1 --json",
        "design bsc_target.yaml --json",
        "design bsc_target.yaml --exact",
        "design plan.yaml",
    ],
    "diff": [
        "diff examples/plans/hospital.yaml examples/plans/hospital_next.yaml --json",
        "diff plan.yaml loud.yaml --json --markdown change.md",
        "diff plan.yaml loud.yaml",
        "diff plan.yaml loud.yaml --at-most-more 0.01 --json",
        "diff plan.yaml plan.yaml --json",
        "diff tables.yaml tables_next.yaml --json",
        "diff bsc.yaml bsc_target.yaml --json",
        "diff independent.yaml walk.yaml --json",
        "diff plan.yaml tables.yaml",
    ],
    "audit": [
        "audit scores.csv --seed 5 --json",
        "audit scores.csv --seed 5",
        "audit scores.csv --method gdp --delta 1e-6 --confidence 0.9 --seed 5 --json",
        "audit scores.csv --method guesses --seed 5 --json",
        "audit scores.csv --method both --mu 2 --seed 5 --json",
        "audit scores.csv --one-run --guesses 100,50 --seed 5 --claim 9 --json",
        "audit scores.csv --claim 0.5,1e-6 --seed 5 --json",
        "audit scores.csv --plan plan.yaml --threshold 0.5 --seed 5 --json",
        "audit nothing.csv",
    ],
    "attack": [
        f"{SMALL} --defence gaussian:0.1 --defence none --json",
        f"{SMALL} --defence constant-reference --at-most 0.7 --json",
        "attack people.csv --candidates 20 --quick --defence laplace:0.2 --seed 3 --json",
        f"{SMALL} --defence nothing",
    ],
    "report": [
        "report plan.yaml tables.yaml independent.yaml bsc.yaml --out report.json",
        "report plan.yaml --out report.md",
        "report examples/budgets/hospital.yaml --out budgets.json",
        "report nothing.yaml",
        "schema --tables",
        "schema --worlds --priors",
    ],
    "ledger": [
        f"ledger open patients {PATIENTS} --note 'vote 12' --json",
        "ledger open visits --rho 0.5 --blocks day --refresh 30d --protects 'one visit' --json",
        "ledger open gdp --mu 0.5 --protects x --json",
        f"ledger open survey {PATIENTS} --plan plan.yaml --json",
        f"ledger open patients {PATIENTS}",
        "ledger open nobody --protects x",
        "ledger spend patients 'gaussian: {sigma: 40}' --times 3 --key job-7 --json --receipt spent.json",
        "ledger spend patients 'gaussian: {sigma: 40}' --times 3 --key job-7 --json",
        "ledger spend patients 'gaussian: {sigma: 41}' --key job-7 --json",
        "ledger spend patients --plan plan.yaml --json",
        "ledger spend patients 'pure: {epsilon: 5}' --json",
        "ledger spend visits 'laplace: {scale: 20}' --block monday --json",
        "ledger spend survey --release counts --json",
        "ledger spend survey --release nothing --json",
        "ledger reserve patients 'gaussian: {sigma: 60}' --lease 2h --json",
        "ledger reserve patients 'gaussian: {sigma: 60}' --lease 2h --json",
        "ledger reservations --json",
        "ledger start 10 --json",
        "ledger settle 10 --note done --json",
        "ledger refund 11 --json",
        "ledger refund 11 --json",
        "ledger forecast patients 'laplace: {scale: 20}' --json",
        "ledger balance patients --json",
        "ledger balance patients",
        "ledger balance visits --block monday --json",
        "ledger balance survey --json",
        "ledger balance nothing",
        "ledger budgets --json",
        "ledger budgets",
        "ledger pause gdp --json",
        "ledger spend gdp 'gaussian: {sigma: 40}' --json",
        "ledger resume gdp --json",
        "ledger close gdp --json",
        "ledger history patients --json",
        "ledger history --after 4 --limit 3 --json",
        "ledger history survey",
        "ledger verify --receipt spent.json --json",
        "ledger verify",
        "ledger receipt spent.json --json",
        "ledger receipt 6 --json",
        "ledger key --json",
        "ledger export chain.jsonl --json",
        "ledger import chain.jsonl --ledger again.db --json",
        "ledger principals --json",
        "ledger upgrade --json",
        "report plan.yaml --ledger quiltwork.db --budget patients --out patients.json",
    ],
    "ledger of a file": [
        "ledger open-all examples/budgets/hospital.yaml --json",
        "ledger open-all examples/budgets/hospital.yaml --json",
        "ledger balance survey --json",
        "ledger admit ada admin --save ada.token --json",
        "ledger budgets --json",
        "ledger budgets --token-file ada.token --json",
        "ledger principals --token-file ada.token --json",
        "ledger spend patients 'gaussian: {sigma: 40}' --token-file ada.token --json",
        "ledger key next.key --make --json",
        "ledger rotate next.key --token-file ada.token --json",
        "ledger revoke ada --token-file ada.token --json",
        "ledger verify --token-file ada.token --json",
    ],
}


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A folder with the files of the cases and the examples, where commands run with no settings of the user."""
    before = Path.cwd()
    kept = {name: value for name, value in os.environ.items() if name in KEPT}
    with tempfile.TemporaryDirectory() as place, mock.patch.dict(os.environ, {**kept, **SETTINGS}, clear=True):
        for name, text in FILES.items():
            (Path(place) / name).write_text(text, encoding="utf-8")
        (Path(place) / "examples").symlink_to(ROOT / "examples")
        os.chdir(place)
        try:
            yield Path(place)
        finally:
            os.chdir(before)


def said(line: str) -> tuple[int, str, str]:
    """The exit code of a command line, and what it wrote to either stream."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries, once a process
        code = main(shlex.split(line))
    return code, out.getvalue(), err.getvalue()


def answered(line: str, place: Path) -> dict[str, Any]:
    """What a command line answers: exit code, JSON or lines of text, complaint, files that it wrote."""
    before = {path.name for path in place.iterdir()}
    code, out, err = said(line)
    found: dict[str, Any] = {"code": code}
    if out:
        found |= _content(out)
    if err:
        found["err"] = err.splitlines()
    new = sorted(path for path in place.iterdir() if path.name not in before)
    if new:
        found["files"] = {path.name: _file(path) for path in new}
    return dict(normal(found, {os.path.realpath(place): "FOLDER", str(place): "FOLDER"}))


def _content(text: str) -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        return {"json": json.loads(text)}
    return {"out": text.splitlines()}


def _file(path: Path) -> Any:
    if path.suffix in {".json", ".csv", ".md"}:
        return _content(path.read_text(encoding="utf-8"))
    return "written"


def session(name: str) -> dict[str, Any]:
    """The answers of a session's command lines, one after the other in one folder."""
    with folder() as place:
        lines = enumerate(SESSIONS[name], 1)
        return {f"{name} {number}: {line}": answered(line, place) for number, line in lines}


def helped(line: str) -> dict[str, Any]:
    """The help of a command and of every command below it."""
    with folder():
        _, out, _ = said(f"{line} --help")
    found: dict[str, Any] = {f"help: {line}".strip(): out.splitlines()}
    if " COMMAND " in out.splitlines()[0]:
        for below in filter(None, map(COMMAND.match, out.splitlines())):
            found |= helped(f"{line} {below[1]}".strip())
    return found


def cases() -> dict[str, Any]:
    """All that is recorded of the command line."""
    found = helped("")
    for name in SESSIONS:
        found |= session(name)
    return found
