"""Two mixtures of one noise, moved to several places, in many digits: tails, hockey sticks and cells by definition."""

import math
from fractions import Fraction

from tests.truth.numbers import mp

TINY = mp.mpf(10) ** -60


class MovedNoise:
    """P = sum p_k N(. - c_k) against Q = sum q_k N(. - c_k); the likelihood ratio rises with the output."""

    def __init__(self, noise, places, p, q):
        self.gaussian = noise == "gaussian"
        self.places, self.p, self.q = ([_exact(value) for value in values] for values in (places, p, q))

    def swapped(self):
        """The line read from the other end."""
        found = MovedNoise("gaussian" if self.gaussian else "laplace", [], [], [])
        found.places = [-place for place in reversed(self.places)]
        found.p, found.q = self.q[::-1], self.p[::-1]
        return found

    def loss(self, x):
        """log dP/dQ at an output."""
        x = mp.mpf(x)
        ratios = [mp.exp(c * x - c * c / 2) if self.gaussian else mp.exp(abs(x) - abs(x - c)) for c in self.places]
        up, down = (mp.fsum(w * r for w, r in zip(ws, ratios, strict=True)) for ws in (self.p, self.q))
        return -mp.inf if not up else mp.inf if not down else mp.log(up / down)

    def threshold(self, loss, near=None):
        """The least output beyond which the loss is above this one; `near` is a guess."""
        loss, reach = mp.mpf(loss), 60 if self.gaussian else 0
        low, high = self.places[0] - reach, self.places[-1] + reach
        if self.loss(low) > loss:
            return -mp.inf
        if self.loss(high) <= loss:
            return mp.inf
        for power in range(-40, 0, 4) if near is not None and math.isfinite(near) else ():
            left, right = max(low, near - mp.mpf(10) ** power), min(high, near + mp.mpf(10) ** power)
            if self.loss(left) <= loss < self.loss(right):
                low, high = left, right
                break
        below, above = self.loss(low) - loss, self.loss(high) - loss
        for turn in range(500):
            if high - low <= TINY * (1 + abs(low)):
                break
            middle = (low + high) / 2
            if turn % 3 != 2 and not mp.isinf(below) and not mp.isinf(above) and above != below:
                secant = (low * above - high * below) / (above - below)
                middle = secant if low < secant < high else middle
            miss = self.loss(middle) - loss
            if miss <= 0:
                low, below = middle, miss
            else:
                high, above = middle, miss
        return (low + high) / 2

    def beyond(self, x, right=True):
        """P and Q mass on one side of an output."""
        sign = 1 if right else -1
        masses = [self._tail(sign * (x - c)) for c in self.places]
        return tuple(mp.fsum(w * m for w, m in zip(ws, masses, strict=True)) for ws in (self.p, self.q))

    def _tail(self, far):
        if mp.isinf(far):
            return mp.mpf(far < 0)
        if self.gaussian:
            return mp.erfc(far / mp.sqrt(2)) / 2
        return mp.exp(-far) / 2 if far > 0 else 1 - mp.exp(far) / 2

    def delta(self, loss, near=None):
        """The hockey-stick divergence at e^loss."""
        p, q = self.beyond(self.threshold(loss, near))
        return p - mp.exp(mp.mpf(loss)) * q

    def cell(self, left, right, near=(None, None)):
        """Of the losses in between, atoms apart: P mass and E_P[1 - e^(left - L)]."""
        ends = [self.threshold(loss, guess) for loss, guess in zip((left, right), near, strict=True)]
        if not self.gaussian:
            ends = [min(max(end, self.places[0]), self.places[-1]) for end in ends]
        masses = [
            self._tail(ends[0] - c) - self._tail(ends[1] - c)
            if ends[0] >= c
            else self._tail(c - ends[1]) - self._tail(c - ends[0])
            for c in self.places
        ]
        p, q = (mp.fsum(w * m for w, m in zip(ws, masses, strict=True)) for ws in (self.p, self.q))
        return p, p - mp.exp(mp.mpf(left)) * q


def sampled_group(noise, move, rate, size, exchanged=False):
    """Of `size` records each is sampled with this rate and moves the answer by `move`."""
    rate, move = Fraction(rate), Fraction(move)
    weights = [math.comb(size, i) * rate**i * (1 - rate) ** (size - i) for i in range(size + 1)]
    moves = [i * move for i in range(size + 1)]
    nothing = [Fraction(0)] * size
    if exchanged:
        places = [-place for place in moves[:0:-1]] + moves
        return MovedNoise(noise, places, nothing + weights, weights[::-1] + nothing)
    return MovedNoise(noise, moves, weights, [Fraction(1), *nothing])


def gaussian_mixture(moves, weights):
    """The answer moves by moves[i] with weights[i]; moves in units of the noise."""
    total = sum(map(Fraction, weights))
    law = {0.0: Fraction(0)}
    for move, weight in zip(moves, weights, strict=True):
        law[move] = law.get(move, Fraction(0)) + Fraction(weight) / total
    places = sorted(law)
    return MovedNoise("gaussian", places, [law[c] for c in places], [Fraction(not c) for c in places])


def _exact(value):
    value = Fraction(value)
    return mp.mpf(value.numerator) / value.denominator
