"""Genotypes in the format of the specification: what is read, what is left out, and what is refused."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from quiltwork.errors import InvalidParameter
from quiltwork.game.populations import from_vcf

HEAD = '##fileformat=VCFv4.2\n##contig=<ID=10>\n##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n'
COLUMNS = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t"
PEOPLE = ["NA00001", "NA00002", "NA00003", "NA00004"]


def site(position, *genotypes, chromosome="10", alternate="G", passed="PASS", form="GT"):
    return "\t".join([chromosome, str(position), "rs1", "A", alternate, "29", passed, "NS=4", form, *genotypes])


SITES = [
    site(61, "0|0", "0|1", "1|1", "0|0"),
    site(75, "0/0", "1/2", "0/0", "0/0", alternate="G,T"),
    site(80, "0|0", ".|.", "1|1", "0|0"),  # somebody's is missing
    site(90, "0|0", "0|1", "1|1", "0|0", passed="q10"),  # filtered out
    site(95, "0|0", "0|0", "0|0", "0|0"),  # nobody carries it
    site(99, "1:48:8", "0:9:1", "0:9:1", "1:2:2", form="GT:GQ:DP"),  # one copy, as on the X of men
    site(7, "0|1", "0|0", "0|0", "0|1", chromosome="11"),
]


def written(folder, sites=SITES, people=PEOPLE, head=HEAD, columns=COLUMNS, name="people.vcf"):
    text = head + columns + "\t".join(people) + "\n" + "\n".join(sites) + "\n"
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    return path


def rows_of(population):
    """All people, in an order that does not depend on the shuffle."""
    return sorted(map(tuple, np.concatenate([population.candidates, population.reference]).astype(int).tolist()))


@pytest.mark.parametrize("name", ["people.vcf", "people.vcf.gz"])
def test_who_carries_what(tmp_path, name):
    population = from_vcf(written(tmp_path, name=name), 2)
    assert population.attributes == ("10:61", "10:75", "10:99", "11:7")
    assert rows_of(population) == sorted([(0, 0, 1, 1), (1, 1, 0, 0), (1, 0, 0, 0), (0, 0, 1, 1)])
    assert population.size == (2, 4)
    assert f"{name}: 4 people, 4 sites kept and 3 left out" in str(population.source)
    assert all(person not in str(population.source) for person in PEOPLE)


def test_one_chromosome_and_some_sites(tmp_path):
    path = written(tmp_path)
    assert from_vcf(path, 2, chromosome="11").attributes == ("11:7",)
    assert from_vcf(path, 2, attributes=2).attributes == ("10:61", "11:7")
    assert from_vcf(path, 2, rarest=0.3).attributes == ("10:61", "10:99", "11:7")
    with pytest.raises(InvalidParameter, match="at most 4"):
        from_vcf(path, 2, attributes=5)
    with pytest.raises(InvalidParameter, match="no site is left"):
        from_vcf(path, 2, chromosome="12")
    for bad in ({"rarest": 0.5}, {"rarest": -0.1}, {"attributes": 0}, {"chromosome": 10}, {"candidates": 4}):
        with pytest.raises(InvalidParameter):
            from_vcf(path, **({"candidates": 2} | bad))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"head": ""}, "line 1': it does not begin"),
        ({"columns": "#CHROM\tPOS\tID\t"}, "line 4': the line #CHROM does not have"),
        ({"people": ["NA00001", "NA00001"]}, "line 4': two people have the same name"),
        ({"sites": [SITES[0], site(70, "0|0", "0|1", "1|1")]}, "line 6': it has 12 columns instead of 13"),
        ({"sites": [site("seventy", "0|0", "0|1", "1|1", "0|0")]}, "line 5': the position"),
        ({"sites": [site(70, "0|0", "0|1", "1|1", "0|0", form="GQ:GT")]}, "line 5': genotypes"),
        ({"sites": [site(70, "0|0", "0|1", "secret", "0|0")]}, "line 5': the genotype in column 12 is none"),
        ({"sites": [site(70, "0|0", "9" * 5000, "1|1", "0|0")]}, "line 5': the genotype in column 11 is none"),
        ({"sites": [site(70, "0|0", "0|2", "1|1", "0|0")]}, "line 5': column 11 has an allele"),
        ({"sites": [COLUMNS + "A"]}, "line 5': there is a second line"),
    ],
)
def test_malformed_files_are_refused_with_line_and_reason_and_nothing_of_a_person(tmp_path, change, reason):
    with pytest.raises(InvalidParameter) as caught:
        from_vcf(written(tmp_path, **change), 2)
    said = str(caught.value)
    assert reason in said
    for private in (*PEOPLE, "secret", "0|1", "0|2"):
        assert private not in said


def test_files_that_are_none(tmp_path):
    with pytest.raises(InvalidParameter, match="cannot be read"):
        from_vcf(tmp_path / "nothing.vcf", 2)
    empty = tmp_path / "empty.vcf"
    empty.write_text("")
    with pytest.raises(InvalidParameter, match="nothing in it"):
        from_vcf(empty, 2)
    empty.write_text(HEAD)
    with pytest.raises(InvalidParameter, match="no line #CHROM"):
        from_vcf(empty, 2)
    empty.write_text(HEAD + SITES[0] + "\n")
    with pytest.raises(InvalidParameter, match="before the line #CHROM"):
        from_vcf(empty, 2)
    empty.write_bytes(HEAD.encode() + b"\xff\xfe\n" + SITES[0].encode() * 99)
    with pytest.raises(InvalidParameter, match="line 4': this is not UTF-8"):
        from_vcf(empty, 2)
    zipped = written(tmp_path, name="cut.vcf.gz")
    zipped.write_bytes(zipped.read_bytes()[:-20])
    with pytest.raises(InvalidParameter, match="read past line"):
        from_vcf(zipped, 2)
