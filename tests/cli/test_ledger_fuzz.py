"""Random command lines against one ledger: no traceback, and what is refused changes nothing."""

import os
import sqlite3
import warnings
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import examples

import quiltwork as qw
from quiltwork.cli import _command, main

pytest.importorskip("sqlalchemy")

LINES = examples(2000)
BUDGETS = ("pure", "renyi", "planned", "blocks", "fresh")
NAMES = [*3 * BUDGETS, "none", "a", "", " ", "über", "\u202e", "a\nb", "\x00", "x" * 300]
NUMBERS = [*("1", "2", "3", "0", "-1", "nan", "inf", "-inf", "1e-6", "0.5", "1e400", "1e-400", "0x1", "", "\u0967")]
NUMBERS += ["9" * 40, "9" * 5000]
LOSSES = [
    *("gaussian: {sigma: 40}", "gaussian: {sigma: 40, sensitivity: 2}", "laplace: {scale: 1000}", "zcdp: {rho: 1e-5}"),
    *("pure: {epsilon: 0.001}", "gdp: {mu: 0.01}", "approximate: {epsilon: 0.01, delta: 1e-9}", "pure: {epsilon: 0}"),
    *("{poisson: {rate: 0.01, of: {gaussian: {sigma: 2}}}}", "gaussian: {sigma: 0}", "gaussian: {sigma: -1}"),
    *("gaussian: {sigma: .nan}", "gaussian: {sigma: .inf}", "gaussian: {sigma: 1e-300}", "pure: {epsilon: 1e308}"),
    *("gaussian", "{", "[[[[", "&a [*a]", "!!python/object:os.system {}", "pair: {p: [1], q: [1]}"),
    *("pair: {p: [0.5, 0.5], q: [1, 0]}", "rdp: {orders: [2], epsilons: [0.1]}", "constraints: {points: []}"),
    "gaussian: {sigma: 40}\nlaplace: {scale: 1}",
]
FILES = ["plan.yaml", "out.json", "l.db", "l.db.key", "l.db-wal", "sub", "none.json", "r.json", "e.jsonl", ".", "-"]
FILES += ["f.svg", "f.gif"]
PLACES = [
    "l.db",
    "sqlite:///l.db",
    "none.db",
    "plan.yaml",
    "sqlite://",
    "mysql://a/b",
    "://",
    "sqlite:///l.db?a=b",
    "sub",
]
TIMES = [
    "2990-01-01T00:00Z",
    "1990-01-01T00:00Z",
    "2990-01-01",
    "now",
    "9999-12-31T23:59-12:00",
    "0001-01-01T00:00+12:00",
]
SPANS = ["1h", "30d", "0s", "-1h", "1y", "999999999w", "nan h", "1e9d"]
COMMANDS = {
    **{
        name: [NAMES]
        for name in ("open", "balance", "history", "pause", "resume", "close", "revoke", "accept-clock", "reservations")
    },
    **{name: [NAMES, LOSSES] for name in ("spend", "reserve", "forecast")},
    **{name: [NUMBERS] for name in ("start", "settle", "refund")},
    **{name: [] for name in ("budgets", "verify", "principals", "upgrade")},
    **{name: [FILES] for name in ("export", "import", "key")},
    "receipt": [FILES + NUMBERS],
    "admit": [NAMES, ["viewer", "spender", "king", ""]],  # never an admin, and no rotate: nobody could follow
}
WORDS = ("--release", "--block", "--key", "--note", "--owner", "--protects", "--blocks", "--block-names")
AMOUNTS = ("--epsilon", "--delta", "--rho", "--mu", "--order", "--reveal", "--most", "--times", "--after", "--limit")
OPTIONS = {
    **dict.fromkeys(AMOUNTS, NUMBERS),
    **dict.fromkeys(WORDS, NAMES),
    **dict.fromkeys(("--plan", "--receipt", "--figure", "--save", "--token-file", "--key-file"), FILES),
    "--filter": ["pure", "zcdp", "gdp", "renyi", "best"],
    "--neighbors": ["add_remove", "user: {id: person}", "metric: {}", "{"],
    "--ledger": PLACES,
    "--expires": TIMES,
    "--refresh": SPANS,
    "--lease": SPANS,
    "--public-key": ["", "x", "A" * 43 + "="],
    "--token": ["qw_1"],
}
FLAGS = ["--all", "--make", "--unsigned", "-x", "--"]
OWN = {
    name: sorted(option for param in command.params for option in param.opts if option in OPTIONS)
    for name, command in _command().commands["ledger"].commands.items()
}
# no slash: whatever a command writes stays in the directory of the test
GARBAGE = st.text(st.characters(exclude_characters="/"), max_size=30)


@st.composite
def lines(draw):
    """A command, most of its arguments, some options, now and then garbage in their place."""

    def word(choices):
        return draw(GARBAGE) if draw(st.integers(0, 19)) == 0 else draw(st.sampled_from(choices))

    command = draw(st.sampled_from(sorted(COMMANDS)))
    line = [word([command])] if draw(st.integers(0, 40)) == 0 else [command]
    line += [word(choices) for choices in COMMANDS[command] if draw(st.integers(0, 9))]
    known = OWN[command] if draw(st.integers(0, 9)) else sorted(OPTIONS)
    for option in draw(st.lists(st.sampled_from(known), max_size=draw(st.sampled_from((0, 0, 1, 3))))) if known else ():
        line += [option, word(OPTIONS[option])]
    line += ["--json"] * draw(st.integers(0, 1)) + [draw(st.sampled_from(FLAGS))] * (draw(st.integers(0, 9)) == 0)
    if draw(st.booleans()) and command == "open":
        line += ["--epsilon", "1", "--protects", "x"]
    return line


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """One small ledger with a budget of each sort."""
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "plan.yaml").write_text("quiltwork: 1\nreleases: [{name: a, laplace: {scale: 1000}, count: 5}]\n")
    (folder / "sub").mkdir()
    with qw.Ledger(f"sqlite:///{folder}/l.db") as ledger:
        ledger.open("pure", epsilon=1.0, protects="x")
        ledger.open("renyi", epsilon=2.0, delta=1e-6, protects="x")
        ledger.open(
            "planned", epsilon=2.0, delta=1e-6, kind="planned", plan=[("a", qw.gaussian(40.0), 5)], protects="x"
        )
        ledger.open("blocks", rho=0.5, protects="x", blocks=qw.ledger.Blocks("name", most=2))
        ledger.open("fresh", mu=1.0, protects="x", refresh=3600)
        ledger.spend("pure", qw.laplace(1000.0)).save(folder / "r.json")
        with open(folder / "e.jsonl", "w") as stream:
            ledger.export(stream)
    return folder


def written(place):
    """How many entries there are; that a wrong token was refused is an entry too, and is not counted."""
    with closing(sqlite3.connect(f"file:{place}/l.db?mode=ro", uri=True)) as connection:
        return connection.execute("select count(*), max(seq) from ledger_entries where kind != 'denied'").fetchone()


def holds(place):
    with qw.Ledger(f"sqlite:///{place}/l.db") as ledger:
        return ledger.verify()


@pytest.mark.slow
def test_random_command_lines(place, monkeypatch, capfd):
    monkeypatch.chdir(place)
    monkeypatch.setenv("QUILTWORK_LEDGER", "l.db")
    for name in ("QUILTWORK_LEDGER_KEY", "QUILTWORK_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    codes = {0: 0, 1: 0, 2: 0}

    @settings(max_examples=LINES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(lines())
    def run(line):
        before = written(place)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a picture without the glyphs of a random title
            code = main(["ledger", *line])
        out, err = capfd.readouterr()
        assert code in codes
        codes[code] += 1
        assert "Traceback" not in out + err
        if code:
            assert written(place) == before, line
            assert err.startswith("quiltwork: ") or out
        if sum(codes.values()) % 250 == 0:
            assert holds(place)

    run()
    assert holds(place)
    assert min(codes.values()) >= 10, codes  # every outcome was met
    assert os.stat("l.db.key").st_mode & 0o777 == 0o600
