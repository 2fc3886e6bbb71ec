"""Exact deltas of two constraints composed many times, to 30 digits; written once to region_truths.json.

    python benchmarks/region_truths.py [--check]

Two independent ways. Commensurable epsilons: coefficients of the k-th power of the polynomial of one release, by the
recurrence of its logarithmic derivative, in thousands of bits. Any epsilons: the number of releases at epsilon_1 is
binomial, and given it the two counts of likely answers are independent binomials; tails of one are summed over the
other, in 300 bits. --check compares both ways, and the stored values of small counts, instead of writing. A full run
takes ten minutes.
"""

import argparse
import json
import math
import sys
from fractions import Fraction
from pathlib import Path

import mpmath

STORE = Path(__file__).parent / "region_truths.json"
PAIRS = {
    "on grid": (("0.3", "0"), ("0.15", "0.02")),
    "off grid": (("0.31415926", "0"), ("0.12345678", "0.03")),
}
EPSILONS = {  # exact in binary; deltas from about 1e-2 down to 1e-150
    ("on grid", 100): (5.5, 10.5, 14.5, 22.0, 26.5),
    ("on grid", 300): (13.125, 21.5, 31.75, 43.0, 57.25, 69.25, 79.0),
    ("on grid", 1000): (33.0, 48.0, 62.0, 89.0, 117.0, 146.0, 172.0),
    ("on grid", 3000): (82.0, 109.0, 133.0, 182.0, 232.0, 284.0, 332.5),
    ("off grid", 100): (6.0, 10.5, 14.5, 21.0, 25.5),
    ("off grid", 300): (14.0, 22.0, 32.0, 43.0, 57.0, 71.0, 83.5),
    ("off grid", 1000): (35.0, 49.0, 62.0, 89.0, 118.0, 149.0, 176.0),
    ("off grid", 3000): (85.0, 111.0, 135.0, 183.0, 235.0, 288.0, 338.0),
}
DIGITS = 30


def weights(mp, points):
    """The weights of randomized response at both epsilons; delta_1 is 0 here, so nothing is revealed."""
    (one, _), (two, delta) = [[mp.mpf(x) for x in point] for point in points]
    s, t = mp.exp(one), mp.exp(two)
    slope = delta / (s - t)
    low = (1 + s) * slope
    return low, 1 - low


def on_lattice(points, count, epsilons):
    """delta at each epsilon when both epsilons are multiples of one unit."""
    mp = mpmath.mp.clone()
    mp.prec = 2000 + 10 * count  # the recurrence is unstable, digits are cheap
    exact = [Fraction(e) for e, _ in points]
    scale = math.lcm(*(e.denominator for e in exact))
    unit = Fraction(math.gcd(*(int(e * scale) for e in exact)), scale)
    top = int(exact[0] / unit)
    step = mp.mpf(unit.numerator) / unit.denominator
    one = [mp.zero] * (2 * top + 1)  # masses at losses -top ... top
    for weight, e in zip(weights(mp, points), exact, strict=True):
        j = int(e / unit)
        one[top + j] += weight / (1 + mp.exp(-j * step))
        one[top - j] += weight / (1 + mp.exp(j * step))
    power = [one[0] ** count]  # f = g^k: g f' = k g' f, coefficient by coefficient
    for n in range(1, 2 * top * count + 1):
        reach = range(1, min(n, 2 * top) + 1)
        power.append(mp.fsum((count * j - (n - j)) * one[j] * power[n - j] for j in reach) / (n * one[0]))
    return [
        mp.fsum(
            p * -mp.expm1(epsilon - loss) for n, p in enumerate(power) if (loss := (n - top * count) * step) > epsilon
        )
        for epsilon in map(mp.mpf, epsilons)
    ]


def on_plane(points, count, epsilons):
    """delta at each epsilon for any two epsilons."""
    mp = mpmath.mp.clone()
    mp.prec = 300
    high, low = weights(mp, points)
    one, two = (mp.mpf(e) for e, _ in points)
    shares = binomial(mp, count, high, low)
    growths = [mp.exp(epsilon) for epsilon in map(mp.mpf, epsilons)]
    totals = [mp.zero] * len(epsilons)
    for n in range(count + 1):
        rest = count - n
        p, q = _answers(mp, n, one)
        p_tails, q_tails = (_tails(mp, masses) for masses in _answers(mp, rest, two))
        for place, (epsilon, growth) in enumerate(zip(epsilons, growths, strict=True)):
            found = mp.zero
            for a in range(n + 1):
                least = int(mp.floor(((epsilon - one * (2 * a - n)) / two + rest) / 2)) + 1
                if least <= rest:
                    least = max(least, 0)
                    found += p[a] * p_tails[least] - growth * q[a] * q_tails[least]
            totals[place] += shares[n] * found
    return totals


def _answers(mp, count, epsilon):
    """Law of the number of likely answers among `count` randomized responses, in both worlds."""
    likely, rare = 1 / (1 + mp.exp(-epsilon)), 1 / (1 + mp.exp(epsilon))
    p = binomial(mp, count, likely, rare)
    return p, p[::-1]


def binomial(mp, count, one, other):
    """C(count, n) one^n other^(count - n) for every n."""
    out = [other**count]
    ratio = one / other
    for n in range(count):
        out.append(out[-1] * ratio * (count - n) / (n + 1))
    return out


def _tails(mp, masses):
    out = [mp.zero]
    for mass in reversed(masses):
        out.append(out[-1] + mass)
    return out[::-1]


def main() -> int:
    """Compute all, write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare the two ways and the stored values instead")
    if parser.parse_args().check:
        return check()
    table = {}
    for (name, count), epsilons in EPSILONS.items():
        way = on_lattice if name == "on grid" else on_plane
        values = way(PAIRS[name], count, epsilons)
        table[f"{name} {count}"] = {str(e): mpmath.nstr(v, DIGITS) for e, v in zip(epsilons, values, strict=True)}
        print(name, count, [mpmath.nstr(value, 4) for value in values], flush=True)
    store = {"source": "benchmarks/region_truths.py", "pairs": PAIRS, "delta": table}
    STORE.write_text(json.dumps(store, indent=1) + "\n", encoding="utf-8")
    return 0


def check() -> int:
    """0 when both ways, and the file, agree to 25 digits for small counts."""
    stored = json.loads(STORE.read_text(encoding="utf-8"))["delta"]
    worst, mp = 0.0, mpmath.mp.clone()
    mp.prec = 300
    for (name, count), epsilons in EPSILONS.items():
        if count <= 300:
            known = [mp.mpf(stored[f"{name} {count}"][str(e)]) for e in epsilons]
            ways = [on_plane, on_lattice] if name == "on grid" else [on_plane]
            for way in ways:
                found = way(PAIRS[name], count, epsilons)
                worst = max(worst, *(abs(float(mp.mpf(a) / b - 1)) for a, b in zip(found, known, strict=True)))
    print(f"largest relative difference {worst:.1e}")
    return 0 if worst < 1e-25 else 1


if __name__ == "__main__":
    sys.exit(main())
