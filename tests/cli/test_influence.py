"""`quiltwork influence`: the numbers, the files, the exit codes, the complaints."""

import csv
import json
import math
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import pytest
from tests.cli.lines import one_line

import quiltwork as qw
from quiltwork import pufferfish
from quiltwork.cli import main
from quiltwork.curves import Bracket
from quiltwork.pufferfish.prior import Prior
from quiltwork.pufferfish.translation.influence import InfluenceCurve
from quiltwork.report.answers.influence import Size, spread
from quiltwork.spec.files.prior import PriorFile

ACTIVITY = "examples/plans/activity.yaml"
BINARY = ["--binary", "0.8,0.8"]
CHAIN = pufferfish.MarkovChain([[0.8, 0.2], [0.2, 0.8]])
SHORT = "{markov_chain: {transition: [[0.8, 0.2], [0.2, 0.8]], length: 6}}"
REVERSING = "{markov_chain: {transition: [[0, 1], [1, 0]]}}"  # every entry tells all others
WALK = "{auto_regressive: {rho: 0.5, sigma: 1, gap: 1}}"
PURE = "releases: [{name: a, pure: {epsilon: 0.05}, count: 4}, {name: b, laplace: {scale: 10}}]\n"


def answered(capsys, *arguments, code=0):
    """The JSON that a run prints."""
    assert main(["influence", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def file(tmp_path):
    """Write a prior file, get its name."""

    def write(prior, more=""):
        path = tmp_path / "prior.yaml"
        path.write_text(f"quiltwork: 1\nprior: {prior}\n{more}")
        return str(path)

    return write


def bounds(entries):
    return {entry["name"]: entry["epsilon"] for entry in entries}


# ---- numbers


def test_influence_of_a_binary_chain(capsys):
    """What both nearest entries tell: log of a ratio of two-step, three-step, ... probabilities, on each side."""
    data = answered(capsys, *BINARY, "--max-size", "5")
    tells = {d: math.log((1 + 0.6**d) / (1 - 0.6**d)) for d in range(1, 6)}
    truth = [min(tells[d] + tells[b + 1 - d] for d in range(1, b + 1)) for b in range(1, 6)]
    assert data["schema"] == "quiltwork/influence_view/1"
    assert data["sizes"] == [1, 2, 3, 4, 5]
    assert data["influence"] == pytest.approx(truth, rel=1e-12)
    assert all(found >= exact for found, exact in zip(data["influence"], truth, strict=True))
    assert set(data["status"]) == {"exact"}


def test_the_largest_per_entry_epsilon(capsys):
    data = answered(capsys, *BINARY, "--epsilon", "1")
    found = bounds(data["per_entry_epsilons"])
    assert found == {
        "Theorem 6": pytest.approx(0.0764812, rel=1e-6),
        "all theorems": pytest.approx(0.2598166, rel=1e-5),
    }
    assert found["Theorem 6"] == pufferfish.per_entry_epsilon(CHAIN, 1.0, method="theorem 6")
    size = data["per_entry_epsilons"][0]["size"]
    assert size == 9
    assert size * found["Theorem 6"] + data["influence"][size - 1] <= 1.0
    assert pufferfish.translate(CHAIN, found["all theorems"]).upper <= 1.0


def test_what_a_per_entry_epsilon_leaks(capsys, file):
    data = answered(capsys, file(SHORT), "--per-entry", "0.3")
    found = bounds(data["leak"]["bounds"])
    least = min(b * 0.3 + a for b, a in zip(data["sizes"], data["influence"], strict=True))
    assert found["Theorem 6"] == pytest.approx(least, rel=1e-12)
    assert found["group privacy"] == pytest.approx(1.8, rel=1e-12)
    assert found["group privacy"] >= 6 * 0.3
    bracket = Bracket.from_json(data["leak"]["bracket"])
    chain = pufferfish.MarkovChain(CHAIN.transition, length=6)
    assert bracket.upper == pufferfish.translate(chain, 0.3).upper <= min(found.values())
    assert bracket.lower >= 0.3 * (1 - 1e-12)


@pytest.mark.parametrize(("epsilon", "count"), [(0.3, 10), (2.0, 10**12), (2.0, 11), (1.0, 11), (0.7, 3), (1.0, 10)])
def test_group_privacy_is_the_share_of_each_entry(capsys, file, epsilon, count):
    data = answered(capsys, file(f"{{independent: {{entries: {count}}}}}"), "--epsilon", str(epsilon))
    found = bounds(data["per_entry_epsilons"])
    assert found["Theorem 6"] == pytest.approx(epsilon, rel=1e-12)
    share = found["group privacy"]
    assert Fraction(share) * count <= Fraction(epsilon) < Fraction(math.nextafter(share, 1)) * count


def test_releases_are_composed_once(capsys, file):
    data = answered(capsys, file(SHORT, PURE + "target: {epsilon: 2, delta: 1e-6}\n"))
    chain = pufferfish.MarkovChain(CHAIN.transition, length=6)
    loss = qw.compose(4 * qw.pure(0.05), qw.laplace(10.0))
    released = data["releases"]
    assert Bracket.from_json(released["epsilon"]) == pufferfish.guarantee(loss, chain).epsilon(1e-6)
    ways = pufferfish.totals(chain, [0.05] * 4 + [0.1])
    assert released["totals"] == {
        name: pytest.approx(getattr(ways, name), rel=1e-9) for name in ("best", "one_size", "theorem_7", "naive")
    }
    assert released["totals"]["best"] < released["totals"]["naive"]
    assert [target["verdict"] for target in data["targets"]] == ["met"]
    assert [entry["count"] for entry in released["list"]] == [4, 1]


def test_gaussian_noise_has_no_pure_totals(capsys, file):
    data = answered(capsys, file(SHORT, "releases: [{name: a, gaussian: {sigma: 20}}]\n"))
    assert data["releases"]["totals"] is None
    assert data["delta"] == 1e-6
    assert 0 < data["releases"]["epsilon"]["upper"] < math.inf


def test_a_plan_instead_of_releases(capsys, file, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "quiltwork: 1\nprotects: the value of one entry\ntargets: [{epsilon: 0.01, delta: 1e-5}]\n"
        "releases: [{name: noisy, pure: {epsilon: 0.2}}]\n"
    )
    data = answered(capsys, file(SHORT, PURE), "--plan", str(plan), code=1)
    assert [entry["name"] for entry in data["releases"]["list"]] == ["noisy"]
    assert data["delta"] == 1e-5
    assert data["targets"][0]["verdict"] == "missed"
    assert data["warnings"] == []
    data = answered(capsys, file(SHORT, "target: {epsilon: 3, delta: 1e-3}\n"), "--plan", str(plan))
    assert (data["targets"][0]["epsilon"], data["targets"][0]["delta"]) == (3, 1e-3)


def test_a_plan_about_records_that_come_and_go_is_warned_about(capsys, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text("quiltwork: 1\nreleases: [{name: noisy, pure: {epsilon: 0.2}}]\n")
    assert main(["influence", *BINARY, "--plan", str(plan)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Warning: the plan's losses must hold when the value of one entry changes" in out
    assert "protects one record, added or removed" in out


def test_options_come_before_the_file(capsys, file):
    name = file(SHORT, "target: {epsilon: 2, delta: 1e-6}\nper_entry: {epsilon: 0.1}\n")
    data = answered(capsys, name)
    assert (data["target"], data["delta"], data["leak"]["per_entry"]) == (2, 1e-6, 0.1)
    data = answered(capsys, name, "--epsilon", "3", "--delta", "0", "--per-entry", "0.2")
    assert (data["target"], data["delta"], data["leak"]["per_entry"]) == (3, 0, 0.2)


def test_secrets_are_those_of_the_file(capsys, file):
    asymmetric = "{markov_chain: {transition: [[0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]], states: [a, b, c]}}"
    everything = answered(capsys, file(asymmetric))["influence"][0]
    chosen = answered(capsys, file(asymmetric, "secrets: {pairs: [[a, b]]}\n"))
    assert 0 < chosen["influence"][0] < everything
    assert chosen["protects"] == "the value of each single entry, for 1 pairs of values"


def test_a_target_without_delta_means_delta_0(capsys, file):
    noisy = "releases: [{name: a, gaussian: {sigma: 40}}]\n"
    data = answered(capsys, file(SHORT, noisy + "target: {epsilon: 3}\n"), code=1)
    assert data["delta"] == 0
    assert data["targets"][0]["verdict"] == "missed"
    assert data["targets"][0]["bracket"]["upper"] == "inf"
    data = answered(capsys, file(SHORT, noisy), "--epsilon", "3")  # nobody asked for delta 0
    assert data["delta"] == 1e-6


def test_too_many_releases_are_not_added_up_one_by_one(capsys, file):
    data = answered(capsys, file(SHORT, "releases: [{name: a, pure: {epsilon: 1e-5}, count: 2000}]\n"))
    assert data["releases"]["totals"] is None
    assert data["releases"]["epsilon"]["upper"] < 2000 * 1e-5 * 6


# ---- infinite, Gaussian and approximate curves


def test_infinite_influence(capsys, file):
    data = answered(capsys, file(REVERSING), "--epsilon", "1", "--max-size", "20", code=1)
    assert data["influence"] == ["inf"] * 20
    assert set(bounds(data["per_entry_epsilons"]).values()) == {0.0}
    assert main(["influence", file(REVERSING), "--epsilon", "1"]) == 1
    out = capsys.readouterr().out
    assert "inf  " in out
    assert "by Theorem 6 none" in " ".join(out.split())
    assert "Target: missed" in out
    data = answered(capsys, file(REVERSING), "--per-entry", "0.5")
    assert [entry["epsilon"] for entry in data["leak"]["bounds"]] == ["inf", "inf"]
    assert data["leak"]["bounds"][0]["size"] is None


def test_a_gaussian_prior_prints_mu(capsys, file):
    data = answered(capsys, file(WALK, "releases: [{name: a, gaussian: {sigma: 40}}]\n"))
    assert "influence" not in data
    prior = pufferfish.AutoRegressive(0.5, 1.0, 1.0)
    assert data["mu"] == [prior.leak(size) for size in data["sizes"]]
    assert data["mu"][0] == pytest.approx(math.sqrt(2 / 3), rel=1e-12)
    truth = pufferfish.guarantee(qw.gaussian(40.0), prior).epsilon(1e-6)
    assert Bracket.from_json(data["releases"]["epsilon"]) == truth
    assert main(["influence", file(WALK)]) == 0
    assert "mu of the rest" in capsys.readouterr().out


def test_what_a_gaussian_prior_allows(capsys, file):
    data = answered(capsys, file(WALK, "target: {epsilon: 2, delta: 1e-4}\n"))
    (budget,) = data["per_entry_epsilons"]
    prior = pufferfish.AutoRegressive(0.5, 1.0, 1.0)

    def leaks(epsilon):
        return float(pufferfish.guarantee(qw.pure(epsilon), prior).epsilon(1e-4).upper)

    assert leaks(budget["epsilon"]) <= 2 < leaks(budget["epsilon"] * 1.02)
    data = answered(capsys, file(WALK, "target: {epsilon: 2, delta: 0}\n"), code=1)
    assert data["per_entry_epsilons"] == []
    data = answered(capsys, file(WALK, "per_entry: {epsilon: 0.1}\n"))
    assert data["leak"]["bracket"] is None
    assert main(["influence", file(WALK, "per_entry: {epsilon: 0.1}\n")]) == 0
    assert "No finite epsilon at delta 0" in capsys.readouterr().out


class Guess(Prior):
    """A prior whose influence is only estimated."""

    entries = 7
    words = "somebody guessed"

    def influence(self, max_size=None, secrets=None):
        return InfluenceCurve([1, 2], [[0.5, 0.1]], "approximate", method="a guess")


def test_an_approximate_curve_is_labelled_and_promises_nothing(capsys, file, monkeypatch, tmp_path):
    monkeypatch.setattr(PriorFile, "model", lambda self: Guess())
    data = answered(capsys, file("independent"))
    assert data["status"] == ["approximate"] * 2
    data = answered(capsys, file("independent", PURE), "--epsilon", "5", "--per-entry", "1", code=1)
    assert data["per_entry_epsilons"] == []
    assert data["leak"] is data["releases"] is None
    assert "approximate" in data["warnings"][0]
    plan = tmp_path / "plan.yaml"
    plan.write_text("quiltwork: 1\ntargets: [{epsilon: 9, delta: 0}]\nreleases: [{name: a, pure: {epsilon: 0.1}}]\n")
    assert answered(capsys, file("independent"), "--plan", str(plan), code=1)["met"] is False
    picture = tmp_path / "f.svg"
    assert main(["influence", file("independent"), "--epsilon", "5", "--figure", str(picture)]) == 1
    out = capsys.readouterr().out
    assert "Certified: nothing (the influence is approximate: no bound on its error is known)" in out
    assert "Target: undecided" in out
    assert "approximate, no promise" in picture.read_text(encoding="utf-8")


# ---- text


def test_the_printed_view(capsys, file):
    assert main(["influence", *BINARY, "--epsilon", "1", "--per-entry", "0.1"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for words in (
        "Binary chain that stays with probability 0.8 in 0 and 0.8 in 1",
        "Protected: the value of each single entry",
        "- the entries follow the given Markov chain of 2 states",
        "Size b",
        "2.78 2.88 exact",
        "The largest per-entry epsilon that keeps epsilon 1 for the secrets, at delta 0.",
        "by Theorem 6 0.0764 9",
        "What a per-entry epsilon of 0.1 leaks about the secrets",
        "epsilon \N{LESS-THAN OR EQUAL TO} 1 at delta 0 the per-entry epsilon met",
    ):
        assert words in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 120


def test_numbers_are_rounded_to_the_safe_side(capsys, file):
    name = file("{markov_chain: {transition: [[0.85, 0.15], [0.35, 0.65]], length: 30}}")
    data = answered(capsys, name, "--epsilon", "0.7")
    assert main(["influence", name, "--epsilon", "0.7"]) == 0
    lines = capsys.readouterr().out.splitlines()
    exact = dict(zip(data["sizes"], data["influence"], strict=True))
    rows = [line.split() for line in lines if line.endswith("exact")]
    assert len(rows) > 10
    for size, value, _ in rows:
        assert Decimal(value) >= Decimal(exact[int(size)])
        assert float(value) == pytest.approx(exact[int(size)], rel=1e-2, abs=1e-300)
    for entry in data["per_entry_epsilons"]:
        (line,) = (line for line in lines if line.startswith(f"by {entry['name']}"))
        shown = line.removeprefix(f"by {entry['name']}").split()[0]
        assert Decimal(shown) <= Decimal(entry["epsilon"])


def test_releases_in_the_text(capsys, file):
    assert main(["influence", file(SHORT, PURE)]) == 0
    out = capsys.readouterr().out
    for words in (
        "Laplace noise, scale 10",
        "Theorem 7",
        "each by itself",
        "Certified loss of the secrets: epsilon",
        "at delta 0;",
    ):
        assert words in out


def test_the_example(capsys):
    assert main(["influence", ACTIVITY]) == 0
    out = capsys.readouterr().out
    assert "Activity log" in out
    assert "- the transitions come from a public time-use survey" in out
    assert "by group privacy" in out
    assert "all releases" in out
    assert max(map(len, out.splitlines())) <= 120


@pytest.mark.parametrize("count", [1, 5, 14, 15, 16, 17, 40, 1000])
@pytest.mark.parametrize("infinite", [0, 1, 3, 12, 900])
def test_few_sizes_are_shown(count, infinite):
    sizes = [Size(b, math.inf if b <= infinite else 1 / b, "exact") for b in range(1, count + 1)]
    chosen = spread(sizes, [7, 11, 123456])
    assert len(chosen) <= 16
    assert chosen == sorted(set(chosen))
    assert chosen[0] == 0
    assert chosen[-1] == count - 1
    if infinite < count:
        assert infinite in chosen  # the first finite one
    if count >= 11:
        assert {6, 10} <= set(chosen)
    assert count > 14 or len(chosen) == count


# ---- files


def test_files(tmp_path, capsys, file):
    table, picture = tmp_path / "sizes.csv", tmp_path / "influence.png"
    data = answered(capsys, file(REVERSING), "--max-size", "6", "--csv", str(table), "--figure", str(picture))
    with table.open(encoding="utf-8") as opened:
        head, *rows = csv.reader(opened)
    assert head == ["size", "influence", "status"]
    assert [int(row[0]) for row in rows] == data["sizes"]
    assert [row[1] for row in rows] == ["inf"] * 6
    assert picture.read_bytes().startswith(b"\x89PNG")
    answered(capsys, file(WALK), "--csv", str(table))
    assert table.read_text(encoding="utf-8").startswith("size,mu,status\n1,0.8")


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        (SHORT, ["influence a(b), nats", "Theorem 6", "all theorems", "group privacy, 6 entries", "the entry alone"]),
        (REVERSING, ["infinite up to b", "influence a(b), nats"]),
        ("{gaussian: {covariance: [[1, 0.5], [0.5, 1]], gap: 1}}", ["mu of the rest", "the best size", "at delta"]),
        ("independent", ["influence a(b), nats", "Theorem 6"]),
    ],
)
def test_figures_are_drawn_and_reproducible(tmp_path, capsys, file, prior, words):
    one, two = tmp_path / "a.svg", tmp_path / "b.svg"
    name = file(prior, "title: 'Costs $5 {and $6'\n")
    assert main(["influence", name, "--per-entry", "0.5", "--figure", str(one)]) == 0
    assert main(["influence", name, "--per-entry", "0.5", "--figure", str(two)]) == 0
    assert capsys.readouterr().err.splitlines() == [f"wrote {one}", f"wrote {two}"]
    assert one.read_bytes() == two.read_bytes()
    text = one.read_text(encoding="utf-8")
    assert all(word in text for word in [*words, "Costs $5 {and $6"])


# ---- exit codes and complaints


@pytest.mark.parametrize(("per_entry", "code", "word"), [(0.2, 0, "met"), (0.3, 1, "missed")])
def test_a_target_decides_the_exit_code(capsys, per_entry, code, word):
    """The bound for this chain is attained, so that both verdicts are certain."""
    assert main(["influence", *BINARY, "--epsilon", "1", "--per-entry", str(per_entry)]) == code
    assert f"the per-entry epsilon {word}" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "a prior file, or --binary P,Q, got 'nothing'"),
        ([ACTIVITY, *BINARY], "either a prior file or --binary, got 'both'"),
        (["--binary", "0.8"], "P,Q, two probabilities of staying such as 0.8,0.9, got '0.8'"),
        (["--binary", "0.8,0.8,0.8"], "P,Q, two probabilities"),
        (["--binary", "a,b"], "got 'a,b'"),
        (["--binary", "0.8,1.5"], "must be in [0, 1], got 1.5"),
        (["--binary", "nan,0.5"], "must be in [0, 1], got nan"),
        (["--binary", "1,1"], "one stationary law"),
        ([*BINARY, "--max-size", "0"], "max-size must be a number from 1 to 4096, got 0"),
        ([*BINARY, "--max-size", "100000"], "max-size must be"),
        ([*BINARY, "--epsilon", "0"], "epsilon must be in"),
        ([*BINARY, "--epsilon", "nan"], "epsilon must be in"),
        ([*BINARY, "--per-entry", "-1"], "per-entry must be in"),
        ([*BINARY, "--per-entry", "inf"], "per-entry must be in"),
        ([*BINARY, "--delta", "2"], "delta must be in [0, 1]"),
        ([*BINARY, "--figure", "f.gif"], "figure must be"),
        ([*BINARY, "--csv", "no/such/folder/sizes.csv"], "No such file"),
        ([*BINARY, "--plan", "no/such/plan.yaml"], "no such file"),
        ([*BINARY, "--plan", ACTIVITY], "prior"),
        (["no/such/prior.yaml"], "no such file"),
        (["."], "cannot be read"),
        (["examples/plans/hospital.yaml"], "is a plan of releases, which quiltwork account FILE takes"),
    ],
)
def test_bad_input(capsys, arguments, words):
    assert main(["influence", *arguments]) == 2
    assert words in one_line(capsys.readouterr().err)


def test_an_error_in_the_file_names_the_line(capsys, file):
    name = file("\n  markov_chain:\n    transition:\n      - [0.8, 0.2]\n      - [0.3, 0.6]")
    assert main(["influence", name]) == 2
    said = one_line(capsys.readouterr().err)
    assert f"{name}:6: prior.markov_chain.transition[1]: must sum to 1, got 0.9" in said


def test_a_figure_without_matplotlib(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    target = tmp_path / "f.svg"
    assert main(["influence", *BINARY, "--figure", str(target)]) == 2
    assert "matplotlib is not installed" in one_line(capsys.readouterr().err)
    assert not target.exists()


def test_the_schema_of_prior_files(capsys):
    assert main(["schema", "--priors"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "quiltwork prior"
    assert main(["schema", "--priors", "--tables"]) == 2
    assert "not both" in one_line(capsys.readouterr().err)


def test_help_loads_nothing_heavy():
    report = "print(*sys.modules, file=sys.stderr)"
    helped = f"import sys; from quiltwork.cli import main; main(['influence', '--help']); {report}"
    idle, done = (
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
        for code in (f"import sys; {report}", helped)
    )
    assert "--per-entry" in done.stdout
    loaded = set(done.stderr.split()) - set(idle.stderr.split())
    assert "typer" in loaded
    assert not loaded & {"numpy", "scipy", "matplotlib", "yaml", "quiltwork.spec", "quiltwork.pufferfish"}
