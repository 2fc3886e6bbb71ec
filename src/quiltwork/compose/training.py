"""What a training run with clipped gradients and Gaussian noise (DP-SGD) costs, by how its batches are drawn.

The noise multiplier is the standard deviation of the noise on the sum of clipped gradients, over the clipping norm; a
mean must be divided by a fixed number, not by the size of the batch that was drawn.

Reference: theory/sampling.md section 10.
"""

from __future__ import annotations

import math
from fractions import Fraction

from quiltwork import checks
from quiltwork.compose.constructors import fixed_size, gaussian, poisson, random_allocation
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter
from quiltwork.losses.families.sampling.shuffled import Shuffled
from quiltwork.numbers.stated import double_above, typed

SAMPLING = {  # neighbouring tables that each way of drawing batches is priced for
    "poisson": "one record is added or removed",
    "fixed_size": "one record is exchanged for another",
    "random_allocation": "one record is added or removed, all others stay in their batches",
    "shuffle": "one record is zeroed, or put in the place of a zero",
}


def training(examples: int, batch: int, epochs: float, noise_multiplier: float, sampling: str = "poisson") -> Loss:
    """The loss of a whole run of DP-SGD.

    `sampling` says how batches are drawn.  "poisson": each record takes part in each step with probability batch /
    examples (Opacus' default).  "fixed_size": a fresh batch of exactly `batch` records each step, without replacement.
    "random_allocation": each record draws one batch of each epoch for itself.  "shuffle": the table is shuffled and cut
    into batches, as data loaders do; no amplification by sampling is proved for it, and little of it is there: an epoch
    costs what one step without sampling costs.

    Parameters
    ----------
    examples
        Records of the table.
    batch
        Records of a batch, expected ones where the size varies.
    epochs
        Passes over the table; a part of a pass counts.
    noise_multiplier
        Standard deviation of the noise on the sum of clipped gradients over the clipping norm.
    sampling
        "poisson", "fixed_size", "random_allocation" or "shuffle".

    Returns
    -------
    Loss
        The whole run, all its models published.

    Raises
    ------
    InvalidParameter
        A value is outside its domain; the message says which, and what is allowed.

    Examples
    --------
    >>> run = training(60000, 256, 20, 1.1)
    >>> round(run.epsilon(1e-5).safe, 3)
    1.319
    """
    examples = checks.count("examples", examples, least=1)
    batch = checks.count("batch", batch, least=1)
    if batch > examples:
        raise InvalidParameter("batch", batch, f"at most examples, {examples}")
    passes = typed(checks.positive("epochs", epochs))
    noise = checks.positive("noise_multiplier", noise_multiplier, "noise over clipping norm")
    if sampling not in SAMPLING:
        raise InvalidParameter("sampling", sampling, "one of " + ", ".join(map(repr, SAMPLING)))
    steps = checks.count("steps", math.ceil(passes * examples / batch))
    batches, whole = math.ceil(Fraction(examples, batch)), math.ceil(passes)
    if sampling == "poisson":
        rate = double_above(Fraction(batch, examples))  # none below the stated one
        return steps * poisson(gaussian(noise, 1.0), rate)
    if sampling == "fixed_size":
        return steps * fixed_size(gaussian(noise, 2.0), batch, examples)
    if sampling == "shuffle":
        return whole * Loss.of(Shuffled(gaussian(noise, 1.0).single("one step"), batches))
    return whole * random_allocation(gaussian(noise, 1.0), batches)
