"""People from a variant call file (VCF 4): one attribute a site, 1 where a person carries an alternate allele.

    ##fileformat=VCFv4.2
    #CHROM  POS  ID  REF  ALT  QUAL  FILTER  INFO  FORMAT  person  person ...
    10      61   .   A    G    .     PASS    .     GT      0|0     0|1

Text or gzip.  A site is left out when a genotype is missing, when the carried share is outside [rarest, 1 - rarest], or
when the file says that it did not pass its filters.  Messages name a line and a reason; names of people and genotypes
are in none of them.

Reference: seed 004 section 5 (presence of the alternate allele); the VCF specification, version 4.3, section 1.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.files import FilePath, PeopleFile, file_path
from quiltwork.game.people.population import MAX_ENTRIES, Population, Prior

_ALLOWED = "a variant call file (VCF 4) with genotypes"
_FIXED = ("#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT")
_GENOTYPE = re.compile(r"([0-9]{1,9}|\.)([/|]([0-9]{1,9}|\.))*")


def from_vcf(
    path: FilePath,
    candidates: int,
    reference: int | None = None,
    *,
    chromosome: str | None = None,
    attributes: int | None = None,
    rarest: float = 0.05,
    prior: Prior | None = None,
    seed: int = 0,
) -> Population:
    """Candidates and reference people (default: all others) from the genotypes of a VCF file, .vcf or .vcf.gz.

    `chromosome` keeps the sites of one, by its name in the file; `attributes` keeps so many, spread evenly over those
    that are left.
    """
    file = file_path("path", path)
    least = checks.ranged("rarest", rarest, "in [0, 1/2)", lambda share: 0.0 <= share < 0.5)
    most = None if attributes is None else checks.count("attributes", attributes, 1)
    if chromosome is not None:
        checks.text("chromosome", chromosome, "the name of a chromosome in the file, such as '10'")
    columns, names, left_out = _sites(PeopleFile(file, "path", _ALLOWED), chromosome, least)
    if not columns:
        raise InvalidParameter("path", str(file), _ALLOWED, "no site is left: all are rare, incomplete or filtered out")
    if most is not None and most > len(columns):
        raise InvalidParameter("attributes", most, f"at most {len(columns)}, the sites that are left")
    chosen = np.arange(len(columns))
    if most is not None:
        chosen = np.linspace(0, len(columns) - 1, most).astype(int)
    matrix = np.stack([columns[place] for place in chosen], axis=1)
    source = f"genotypes of {file.name}: {len(matrix)} people, {len(columns)} sites kept and {left_out} left out"
    kept = [names[place] for place in chosen]
    return Population.of(matrix, candidates, reference, prior=prior, seed=seed, source=source, attributes=kept)


def _sites(file: PeopleFile, chromosome: str | None, rarest: float) -> tuple[list[NDArray[np.bool_]], list[str], int]:
    """Whether each person carries an alternate allele, site by site; names of sites, and how many were left out."""
    columns: list[NDArray[np.bool_]] = []
    names: list[str] = []
    people = left_out = 0
    number = 0
    for number, line in file:
        if number == 1 and not line.startswith("##fileformat=VCFv4"):
            file.refuse(number, "it does not begin with ##fileformat=VCFv4")
        if line.startswith("##") or not line:
            continue
        cells = line.split("\t")
        if line.startswith("#"):
            people = _people(file, number, cells, people)
            continue
        if not people:
            file.refuse(number, "a site stands before the line #CHROM")
        if len(cells) != len(_FIXED) + people:
            file.refuse(number, f"it has {len(cells)} columns instead of {len(_FIXED) + people}")
        if chromosome is not None and cells[0] != chromosome:
            continue
        carried = _carried(file, number, cells)
        if carried is None or not max(rarest, 1e-300) <= carried.mean() <= min(1.0 - rarest, 1.0 - 1e-16):
            left_out += 1
            continue
        columns.append(carried)
        names.append(f"{cells[0]}:{cells[1]}")
        if len(columns) * people > MAX_ENTRIES:
            hint = "ask for one chromosome, or a larger `rarest`"
            raise InvalidParameter("path", file.shown, f"a file of at most {MAX_ENTRIES} genotypes", hint)
    if not people:
        missing = "no line #CHROM" if number else "nothing"
        raise InvalidParameter("path", file.shown, _ALLOWED, f"there is {missing} in it")
    return columns, names, left_out


def _people(file: PeopleFile, number: int, cells: list[str], before: int) -> int:
    """How many people the line #CHROM names."""
    if before:
        file.refuse(number, "there is a second line #CHROM")
    if tuple(cells[: len(_FIXED)]) != _FIXED:
        file.refuse(number, f"the line #CHROM does not have the columns {', '.join(_FIXED)} and people")
    people = cells[len(_FIXED) :]
    if not people:
        file.refuse(number, "there is nobody in it")
    if len(set(people)) < len(people):
        file.refuse(number, "two people have the same name")
    return len(people)


def _carried(file: PeopleFile, number: int, cells: list[str]) -> NDArray[np.bool_] | None:
    """Who carries an alternate allele at one site; None for a site that is left out."""
    if not cells[1].isdigit():
        file.refuse(number, "the position is no whole number")
    if cells[8].split(":")[0] != "GT":
        file.refuse(number, "genotypes (GT) do not come first in its FORMAT")
    alternates = 0 if cells[4] == "." else cells[4].count(",") + 1
    known: dict[str, bool | None] = {}
    found: list[bool] = []
    whole = cells[6] in (".", "PASS")
    for person, cell in enumerate(cells[len(_FIXED) :], 1):
        genotype = cell.partition(":")[0]
        if genotype not in known:
            if not _GENOTYPE.fullmatch(genotype):
                file.refuse(number, f"the genotype in column {len(_FIXED) + person} is none")
            alleles = re.split(r"[/|]", genotype)
            if any(allele != "." and int(allele) > alternates for allele in alleles):
                file.refuse(number, f"column {len(_FIXED) + person} has an allele that the site does not list")
            known[genotype] = None if "." in alleles else any(allele != "0" for allele in alleles)
        carried = known[genotype]
        whole &= carried is not None
        found.append(bool(carried))
    return np.array(found, dtype=np.bool_) if whole else None
