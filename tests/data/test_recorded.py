"""Foursquare and Capture24 in their published formats: what is read, how it is split, and what is refused."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from quiltwork import data
from quiltwork.data.recorded.foursquare import CHECKINS, POIS, labels, merged
from quiltwork.errors import InvalidParameter
from quiltwork.pufferfish import MarkovChain

VENUES = [
    ("4b1", "35.70", "139.61", "Cocktail Bar", "JP"),
    ("4b2", "35.71", "139.62", "Café", "JP"),
    ("4b3", "-23.5", "-46.6", "Home (private)", "BR"),
    ("4b4", "-23.6", "-46.7", "Quidditch Pitch", "BR"),
    ("4b5", "0", "0", "Well", "US"),
]
VISITS = [
    ("50756", "4b1", "Tue Apr 03 18:00:06 +0000 2012", "540"),
    ("190571", "4b3", "Tue Apr 03 18:00:07 +0000 2012", "-180"),
    ("50756", "4b2", "Wed Apr 04 01:00:00 +0000 2012", "540"),
    ("190571", "4b4", "Tue May 07 18:00:08 +0000 2013", "-180"),  # day 399
    ("50756", "4b1", "Wed May 08 00:00:00 +0000 2013", "540"),  # day 400
    ("50756", "4b2", "Thu Aug 15 23:59:59 +0000 2013", "540"),  # day 499
    ("50756", "4b5", "Fri Aug 16 00:00:00 +0000 2013", "540"),  # day 500
]


def foursquare_folder(folder, visits=VISITS, venues=VENUES):
    for name, lines in ((CHECKINS, visits), (POIS, venues)):
        (folder / name).write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")
    return folder


def test_the_labels_are_those_of_the_appendix():
    assert len(labels()) == 78
    categories = [category for group in labels().values() for category in group]
    assert len(categories) == len(set(categories)) == 428
    assert next(iter(labels())) == "Nightclub"
    assert list(labels())[-1] == "other"
    assert merged("Hostel") == "Hotel"
    assert merged("Residence") == "Residential Building (Apartment / Condo)"
    assert merged("Thai Restaurant") == "Restaurant"
    assert all(merged(category) == label for label, group in labels().items() for category in group)


def test_check_ins_are_cut_and_split_by_day(tmp_path):
    found = data.foursquare(foursquare_folder(tmp_path))
    assert (len(found), found.people, found.group_names, len(found.states)) == (6, 2, ("JP", "BR"), 78)
    told = found.table()
    assert told["state"].tolist() == ["Bar", "Cafe", "Bar", "Cafe", "Home (private)", "other"]
    assert told["group"].tolist() == ["JP"] * 4 + ["BR"] * 2
    assert found.fit.tolist() == [True, True, False, False, True, True]
    assert told["when"][0] == 1333476006  # seconds from 1970 of 2012-04-03 18:00:06 UTC
    assert found.counts("test").sum() == 2
    first = [[found.states[state] for state in part] for part in found.sequences("fit", 0)]
    assert first == [["Bar", "Cafe"]]
    whole = data.foursquare(tmp_path, days=10_000, fit_days=1)
    assert (len(whole), whole.group_names, int(whole.fit.sum())) == (7, ("JP", "BR", "US"), 2)


def test_a_prior_is_fitted_on_the_part_for_it(tmp_path):
    found = data.foursquare(foursquare_folder(tmp_path))
    chain = MarkovChain.fit(found.sequences("fit"), states=range(78), smoothing=1e-5, public=True)
    bar, cafe = found.states.index("Bar"), found.states.index("Cafe")
    assert chain.transition[bar][cafe] > 0.9


@pytest.mark.parametrize(
    ("name", "line", "replaced", "reason"),
    [
        (CHECKINS, 3, "50756\t4b2\tWed Apr 04 01:00:00 +0000 2012", "3 values instead of 4"),
        (CHECKINS, 2, "secret\t4b3\tTue Apr 03 18:00:07 +0000 2012\t0", "no whole number"),
        (CHECKINS, 4, "190571\t4zz\tTue May 07 18:00:08 +0000 2013\t0", "venue is not in"),
        (CHECKINS, 1, "50756\t4b1\tTue Apr 31 18:00:06 +0000 2012\t0", "time is none such"),
        (CHECKINS, 1, "50756\t4b1\tTue Apr 03 25:00:06 +0000 2012\t0", "time is none such"),
        (CHECKINS, 1, "50756\t4b1\tTue Apr 03 18:00:06 +0100 2012\t0", "time is none such"),
        (CHECKINS, 1, "50756\t4b1\t2012-04-03\t0", "time is none such"),
        (POIS, 2, "4b2\t35.71\t139.62\tSecret Bar", "4 values instead of 5"),
        (POIS, 3, "4b1\t1\t2\tSecret Bar\tBR", "listed before"),
        (POIS, 3, "4b3\t1\t2\tSecret Bar\t ", "country is empty"),
    ],
)
def test_foursquare_refuses_with_file_line_and_reason_and_nothing_of_a_person(tmp_path, name, line, replaced, reason):
    foursquare_folder(tmp_path)
    lines = (tmp_path / name).read_text(encoding="utf-8").splitlines()
    lines[line - 1] = replaced
    (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(InvalidParameter, match=reason) as caught:
        data.foursquare(tmp_path)
    said = str(caught.value)
    assert f"{name}, line {line}" in said
    for private in ("50756", "190571", "4b", "4z", "secret", "Secret", "35.7"):
        assert private not in said


def test_foursquare_refuses_what_is_no_folder_of_it(tmp_path):
    with pytest.raises(InvalidParameter, match="folder"):
        data.foursquare(tmp_path / "nowhere")
    with pytest.raises(InvalidParameter, match="cannot be read"):
        data.foursquare(tmp_path)
    foursquare_folder(tmp_path, visits=[])
    with pytest.raises(InvalidParameter, match="no check-in"):
        data.foursquare(tmp_path)
    with pytest.raises(InvalidParameter, match="at most 10"):
        data.foursquare(tmp_path, days=10, fit_days=11)
    (tmp_path / POIS).write_bytes(b"4b1\t1\t2\tBar\tJP\n\xff\xfe\t\n" + b"4b2\t1\t2\tBar\tJP\n" * 9)
    with pytest.raises(InvalidParameter, match="line 2': this is not UTF-8"):
        data.foursquare(tmp_path)


# ---- Capture24

AGES = {"P001": "18-29", "P002": "18-29", "P003": "53+", "P004": "53+"}
DICTIONARY = [
    ("7030 sleeping;MET 0.95", "sleep"),
    ("home activity;sitting;9060 sitting, reading;MET 1.3", "sitting"),
    ("transportation;walking;17250 walking;MET 3.0", "walking"),
]
ROWS = [
    ("00", ""),
    ("01", "7030 sleeping;MET 0.95"),
    ("02", "7030 sleeping;MET 0.95"),
    ("03", ""),
    ("04", "7030 sleeping;MET 0.95"),
    ("05", '"home activity;sitting;9060 sitting, reading;MET 1.3"'),
    ("06", "transportation;walking;17250 walking;MET 3.0"),
]


def recording(rows):
    lines = [f"2014-05-07 13:29:{second}.430,-0.46,-0.53,0.63,{said}" for second, said in rows]
    return "time,x,y,z,annotation\n" + "\n".join(lines) + "\n"


def capture24_folder(folder, rows=ROWS):
    people = "pid,age,sex\n" + "".join(f"{pid},{age},F\n" for pid, age in AGES.items())
    (folder / "metadata.csv").write_text(people, encoding="utf-8")
    head = "annotation,label:Walmsley2020,label:WillettsMET2018\n"
    body = "".join(f'"{said}",light,{label}\n' for said, label in DICTIONARY)
    (folder / "annotation-label-dictionary.csv").write_text(head + body, encoding="utf-8")
    for pid in AGES:
        with gzip.open(folder / f"{pid}.csv.gz", "wt", encoding="utf-8") as stream:
            stream.write(recording(rows))
    return folder


def test_an_entry_is_a_bout(tmp_path):
    found = data.capture24(capture24_folder(tmp_path), held_out=1)
    assert (len(found), found.people, len(found.states), len(found.group_names)) == (12, 4, 11, 4)
    names = [[found.states[state] for state in sequence] for sequence in found.sequences()]
    assert names == [["sleep", "sitting", "walking"]] * 4
    assert found.counts().sum(axis=1).tolist() == [6, 0, 0, 6]
    assert np.diff(found.when[:3]).tolist() == [4000, 1000]


def test_people_are_held_out_whole_and_by_group(tmp_path):
    capture24_folder(tmp_path)
    seen = set()
    for seed in range(8):
        found = data.capture24(tmp_path, held_out=1, seed=seed)
        assert found.counts("test").sum(axis=1).tolist() == [3, 0, 0, 3]
        assert found.counts("fit").sum(axis=1).tolist() == [3, 0, 0, 3]
        seen.add(tuple(found.fit.tolist()))
        again = data.capture24(tmp_path, held_out=1, seed=seed)
        assert np.array_equal(again.fit, found.fit)
    assert len(seen) > 1
    with pytest.raises(InvalidParameter, match="less than 2"):
        data.capture24(tmp_path)


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("time,x,y,z\n", 1, "columns are not"),
        ("", 1, "columns are not"),
        (recording([("00", "secret habit;MET 9")]), 2, "annotation is not in"),
        (recording(ROWS[:3]) + "2014-05-07 13:29:09.0,-0.4,0.1\n", 5, "fewer than 5"),
        (recording(ROWS[:1]) + "13:29,1,2,3,7030 sleeping;MET 0.95\n", 3, "time is none such"),
        (recording([ROWS[6], ROWS[1]]), 3, "before that of a line above"),
    ],
)
def test_capture24_refuses_with_line_and_reason_and_nothing_of_a_person(tmp_path, text, line, reason):
    capture24_folder(tmp_path)
    with gzip.open(tmp_path / "P003.csv.gz", "wt", encoding="utf-8") as stream:
        stream.write(text)
    with pytest.raises(InvalidParameter, match=reason) as caught:
        data.capture24(tmp_path, held_out=1)
    said = str(caught.value)
    assert f"recording 3 of 4, in order of names, line {line}" in said
    for private in ("P003", "secret", "sleeping", "2014-05-07 13:29:0"):
        assert private not in said


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("metadata.csv", "pid,sex\nP001,F\n", "no column age"),
        ("metadata.csv", "pid,age\nP001,18-29\nP001,53\\+\n", "none of the groups"),
        ("metadata.csv", "pid,age\nP001,18-29\nP001,53+\n", "listed before"),
        ("metadata.csv", "pid,age\nP001,18-29,3\n", "line 2': it has 3 values instead of 2"),
        ("metadata.csv", "pid,age\nP001," + "1" * 200_000 + "\n", "line 2': it cannot be split"),
        ("metadata.csv", "pid,age\nP001,18-29\n", "recording 2 of 4"),
        ("annotation-label-dictionary.csv", "annotation,label:Walmsley2020\n", "no column label:WillettsMET2018"),
        ("annotation-label-dictionary.csv", "annotation,label:WillettsMET2018\nx,flying\n", "none of the 11"),
    ],
)
def test_its_tables_are_checked(tmp_path, name, text, reason):
    capture24_folder(tmp_path)
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InvalidParameter, match=reason) as caught:
        data.capture24(tmp_path, held_out=1)
    assert "P00" not in str(caught.value)


def test_a_damaged_archive_is_refused(tmp_path):
    capture24_folder(tmp_path)
    whole = (tmp_path / "P002.csv.gz").read_bytes()
    (tmp_path / "P002.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidParameter, match="cannot be read") as caught:
        data.capture24(tmp_path, held_out=1)
    assert "P002" not in str(caught.value)
    empty = tmp_path / "empty"
    empty.mkdir()
    for name in ("metadata.csv", "annotation-label-dictionary.csv"):
        (empty / name).write_bytes((tmp_path / name).read_bytes())
    with pytest.raises(InvalidParameter, match="there is none"):
        data.capture24(empty)
