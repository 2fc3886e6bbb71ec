"""The worlds in which printed statements of seed 000 fail, in fractions. Reference: theory/confounding.md 2.1."""

from fractions import Fraction

from quiltwork.confounding import World

HALF = Fraction(1, 2)
COPY = [["3/4", "1/4"], ["1/4", "3/4"]]  # P(x | s) of a bit of data
TWIN = (COPY, [["99/100", "1/100"], ["1/100", "99/100"]])
LIES = [["7/10", "3/10"], ["3/10", "7/10"]]
SECRET_ITSELF = [["1", "0"], ["0", "1"]]
NOISY_DATA = [["9/10", "1/10"], ["1/10", "9/10"]]
PAD = [["1/2", "0", "0", "1/2"], ["0", "1/2", "1/2", "0"]]  # x = (r, r xor s) with a fair r


def released(data, *channels):
    return World(data=data).release(*channels)


def halves(flip):
    """Both bits of the pad, each told with this probability of a lie."""
    flip = Fraction(flip)
    first = [[1 - flip, flip] if x < 2 else [flip, 1 - flip] for x in range(4)]
    second = [[1 - flip, flip] if x % 2 == 0 else [flip, 1 - flip] for x in range(4)]
    return first, second


def xor_pad(flip):
    """Two bits that are fair coins each and tell the secret together."""
    return released(PAD, *halves(flip))


def noisy_twin():
    """Two almost noiseless copies of one bit of data."""
    data, channel = TWIN
    return released(data, channel, channel)


def crossing():
    """Three values of the data: the product is too small at one epsilon and too large at another."""
    data = [["7/10", "1/10", "1/5"], ["1/5", "2/5", "2/5"]]
    first = [["1/5", "4/5"], ["1/5", "4/5"], ["7/10", "3/10"]]
    second = [["4/5", "1/5"], ["1/2", "1/2"], ["7/10", "3/10"]]
    return released(data, first, second)


def all_binary():
    """Secret, data and outputs are bits, and the product is still too small at delta = 0."""
    data = [["1/10", "9/10"], ["2/5", "3/5"]]
    return released(data, [["1/2", "1/2"], ["1/5", "4/5"]], [["3/10", "7/10"], ["1/2", "1/2"]])


def part_of_the_data():
    """x = (s, r), and three mechanisms that read s only: no inverse, no dependence."""
    zero = Fraction(0)
    channel = [["4/5", "1/5"]] * 2 + [["3/10", "7/10"]] * 2
    return released([[HALF, HALF, zero, zero], [zero, zero, HALF, HALF]], channel, channel, channel)


def rare_secret(rare=Fraction(1, 1000), told=Fraction(1, 20)):
    """Prior and P(y | s) of two secrets: an output after which the rare one has probability `told`, else 0."""
    shown = rare / told
    other = shown * (1 - told) / (1 - rare)
    return [rare, 1 - rare], [[Fraction(0), Fraction(1)], [1 - other, other]]
