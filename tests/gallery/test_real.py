"""The gallery and the examples on real files: written here in the published formats, about nobody."""

import gzip

import numpy as np
import pytest
from examples import pufferfish_capture24, pufferfish_foursquare
from examples import pufferfish_tables as shared
from examples.gallery.game import people
from examples.gallery.item import Effort
from examples.gallery.pufferfish import activities, places, tables
from examples.gallery.sources import fingerprint

from quiltwork.data.recorded.capture24 import ACTIVITIES, AGES, DICTIONARY
from quiltwork.data.recorded.foursquare import CHECKINS, POIS, labels

STATES = list(labels())
BUDGETS = [shared.Budget(epsilon, 0.1 * epsilon, 0.2 * epsilon, 0.01 * epsilon, 5) for epsilon in shared.EPSILONS]


@pytest.fixture
def quick_budgets(monkeypatch):
    """Those of a prior of 78 states take seconds, and are tested with the example."""
    monkeypatch.setattr(shared, "budgets", lambda population, epsilons=shared.EPSILONS: BUDGETS[: len(epsilons)])


@pytest.fixture
def visits(tmp_path):
    """Thirty people in two countries; the second half of what they do is after day 400."""
    rng = np.random.default_rng(1)
    months = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    names = [f"v{country}{place}\t0\t0\t{STATES[place]}\t{country}\n" for country in "AB" for place in range(6)]
    lines = []
    for person in range(30):
        for day in sorted(rng.integers(0, 450, 40).tolist()):
            month, of = divmod(day, 28)
            clock = f"{day % 24:02d}:{person:02d}:{day % 60:02d} +0000 {2012 + month // 12}"
            venue = f"v{'AB'[person % 2]}{min(rng.geometric(0.4) - 1, 5)}"
            lines.append(f"{person}\t{venue}\tTue {months[month % 12]} {of + 1:02d} {clock}\t0\n")
    (tmp_path / POIS).write_text("".join(names), encoding="utf-8")
    (tmp_path / CHECKINS).write_text("".join(lines), encoding="utf-8")
    return tmp_path


@pytest.fixture
def recordings(tmp_path):
    """Nine people of each age, so that one is left when eight are held out."""
    rng = np.random.default_rng(2)
    head = "annotation,label:WillettsMET2018\n"
    (tmp_path / DICTIONARY).write_text(
        head + "".join(f"doing {name},{name}\n" for name in ACTIVITIES), encoding="utf-8"
    )
    persons = [(f"P{number:03d}", AGES[number % 4]) for number in range(36)]
    (tmp_path / "metadata.csv").write_text(
        "pid,age,sex\n" + "".join(f"{name},{age},F\n" for name, age in persons), encoding="utf-8"
    )
    for name, _ in persons:
        drawn = np.minimum(rng.geometric(0.3, 60), 11) - 1
        lines = [
            f"2014-05-07 07:{step:02d}:00.000,0.1,0.2,0.3,doing {ACTIVITIES[place]}\n"
            for step, place in enumerate(drawn)
        ]
        with gzip.open(tmp_path / f"{name}.csv.gz", "wt", encoding="utf-8") as stream:
            stream.write("time,x,y,z,annotation\n" + "".join(lines))
    return tmp_path


def test_check_ins_take_the_place_of_simulated_visits(visits, quick_budgets):
    effort = Effort(quick=True, data=str(visits))
    make, why = places.crowd(effort)
    assert why == places.REAL
    seen = make(np.random.default_rng(0))
    assert seen is make(np.random.default_rng(1))
    assert seen.group_names == ("A", "B")
    assert seen.transition.shape == (78, 78)
    assert np.allclose(seen.transition.sum(axis=1), 1)
    assert seen.counts.sum() + seen.known.sum() == 30 * 40
    assert 0 < seen.counts.sum() < seen.known.sum()
    sample = tables.sampled(make, (7, 78), 2, 5, (3,))[3]
    assert sample.real
    finding = tables.table_finding(sample, 2, why, places.PEOPLE)
    assert finding.verdict == "differ"  # the files are there: what is not as printed is a disagreement
    assert not finding.missing
    assert "runs on recorded people" in finding.why
    assert len(places._majority(sample).checks) == 2
    assert places.crowd(Effort(quick=True))[1] == places.WHY


def test_recordings_take_the_place_of_simulated_activities(recordings, quick_budgets):
    make, why = activities.crowd(Effort(quick=True, data=str(recordings)))
    assert why == activities.REAL
    one, two = (make(np.random.default_rng(seed)) for seed in (0, 1))
    assert one.counts.shape == (4, 11)
    assert not np.array_equal(one.counts, two.counts)  # others are held out
    sample = tables.sampled(make, (7, 24), 2, 5, (3,))[3]
    assert not tables.table_finding(sample, 4, why, activities.PEOPLE).missing
    assert not any(check.needs for check in activities._majority(sample).checks)


def test_the_examples_run_on_them(visits, recordings, quick_budgets, capsys, tmp_path):
    pytest.importorskip("opendp")
    written = pufferfish_foursquare.main(str(tmp_path / "out"), quick=True, data=str(visits))
    assert "Recorded visits" in written.read_text(encoding="utf-8")
    written = pufferfish_capture24.main(str(tmp_path / "out"), quick=True, data=str(recordings))
    assert "Recorded activities" in written.read_text(encoding="utf-8")
    told = capsys.readouterr().out
    assert told.count("people are recorded") == 2
    assert "calibrated" not in told


def test_a_variant_call_file_takes_the_place_of_simulated_genomes(tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    names = "\t".join(f"S{person}" for person in range(20))
    sites = [
        f"10\t{site + 1}\t.\tA\tG\t.\tPASS\t.\tGT\t" + "\t".join(rng.choice(["0|0", "0|1"], 20).tolist()) + "\n"
        for site in range(30)
    ]
    head = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t"
    (tmp_path / "people.vcf").write_text(head + names + "\n" + "".join(sites), encoding="utf-8")
    effort = Effort(quick=True, data=str(tmp_path))
    small = people.Size(8, 12, 10, 20, 1, 1, 10, 10, people.QUICK.budget)
    monkeypatch.setattr(people, "QUICK", small)
    found = people.genomes(effort, 10)
    assert found.size == (8, 10)
    assert "people.vcf" in str(found)
    assert people.whose(effort) == "Genomes of people.vcf"
    assert people.whose(Effort(quick=True)) == "Simulated genomes"


def test_what_was_measured_on_other_files_is_measured_again(visits):
    (study,) = (study for study in places.STUDIES if study.measure is places.measured)
    effort = Effort(quick=True, data=str(visits))
    before = fingerprint(study, effort)
    assert before == fingerprint(study, effort) != fingerprint(study, Effort(quick=True))
    with (visits / CHECKINS).open("a") as stream:
        stream.write("1\tvA1\tTue Jan 03 18:00:06 +0000 2012\t0\n")
    assert fingerprint(study, effort) != before
