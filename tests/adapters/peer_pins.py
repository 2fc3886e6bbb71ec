"""Numbers that test suites of other libraries pin, as losses: only their inputs and values were taken over."""

import json
from pathlib import Path

import quiltwork as qw
from quiltwork.adapters.dp_accounting import from_dp_accounting
from quiltwork.compose.loss import compose

PINS = json.loads(Path(__file__).with_suffix(".json").read_text())


class SingleEpochTreeAggregationDpEvent:
    def __init__(self, noise_multiplier, step_counts):
        self.noise_multiplier, self.step_counts = noise_multiplier, step_counts


class RandomizedResponseDpEvent:
    def __init__(self, noise_parameter, num_buckets):
        self.noise_parameter, self.num_buckets = noise_parameter, num_buckets


def part(one, neighbors, noise):
    """One kind of release; None in the table is the noise that a target needs."""
    given = {key: noise if value is None else value for key, value in one.items()}
    moved = given.get("sensitivity", 1)
    if "gaussian" in given:
        loss = qw.gaussian(given["gaussian"], float(moved))
    elif "laplace" in given:
        loss = qw.laplace(given["laplace"], float(moved))
    elif "discrete_laplace" in given:  # the peer states the rate of decay
        loss = qw.discrete_laplace(1 / given["discrete_laplace"], int(moved))
    elif "mixture" in given:
        loss = qw.gaussian_mixture(*given["mixture"], given["deviation"])
    elif "truncated" in given:
        return qw.truncated_poisson(qw.gaussian(given["truncated"]), given["rate"], given["most"], given["of"])
    elif "fixed" in given:
        return qw.fixed_size(qw.gaussian(given["fixed"], 2.0), given["batch"], given["of"])
    elif "approximate" in given:
        loss = qw.approximate(*given["approximate"]) if given["approximate"][1] else qw.pure(given["approximate"][0])
    elif "pair" in given:
        loss = qw.pair(*given["pair"])
    elif "renyi" in given:
        loss = qw.rdp(*given["renyi"])
    elif "tree" in given:
        loss = from_dp_accounting(SingleEpochTreeAggregationDpEvent(given["tree"], given["steps"]), neighbors=neighbors)
    else:
        loss = from_dp_accounting(RandomizedResponseDpEvent(given["response"], given["buckets"]), neighbors=neighbors)
    if "best" in given:
        loss = qw.repeat_and_select(loss, *given["best"])
    return qw.poisson(loss, given["rate"]) if "rate" in given else loss


def loss_of(pin, noise=None):
    """Everything that the pin is about."""
    neighbors = pin.get("neighbors", "add_remove")
    total = compose(*(one.get("times", 1) * part(one, neighbors, noise) for one in pin["run"]))
    return total.group(pin["group"]) if "group" in pin else total


def answer(pin):
    """Both ends of what quiltwork says."""
    loss = loss_of(pin)
    if "order" in pin:
        return tuple(map(float, loss.renyi(pin["order"])))
    bracket = loss.delta(pin["at"]) if "at" in pin else loss.epsilon(pin["delta"], rtol=1e-4)
    return float(bracket.lower), float(bracket.upper)


def agrees(pin):
    """Whether a pinned value is what `reads` says of it.

    equal       within the peer's tolerance
    above       the upper end of an interval that the peer states, as wide as the tolerance
    bound       an upper bound that ours does not exceed
    inside      within our bracket, which is wide
    too small   below our lower end: the peer errs
    """
    value, tolerance = pin["value"], pin["tolerance"]
    if "epsilon" in pin:
        return solved(pin)
    low, high = answer(pin)
    return {
        "equal": value - tolerance <= low <= high <= value + tolerance,
        "above": value - tolerance <= low <= high <= value,
        "bound": high <= value + tolerance,
        "inside": low <= value <= high,
        "too small": low > value + tolerance,
    }[pin["reads"]]


def solved(pin):
    """The same of noise that a target needs: with a little more it is met, with a little less it is not."""
    less, more = pin["value"] - pin["tolerance"], pin["value"] + pin["tolerance"]
    if any("discrete_laplace" in one for one in pin["run"]):  # rates of decay
        less, more = more, less
    target = pin["epsilon"]
    met = loss_of(pin, more).epsilon(pin["delta"], rtol=1e-4)
    if pin["reads"] == "too small":
        return met.lower > target
    if pin["reads"] == "bound":
        return met.upper <= target
    return met.upper <= target < loss_of(pin, less).epsilon(pin["delta"], rtol=1e-4).lower
