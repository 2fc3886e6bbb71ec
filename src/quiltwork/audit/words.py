"""What each audit assumes and rests on, in words."""

from __future__ import annotations

INDEPENDENT = (
    "every score comes from a run of its own on one of two fixed neighbouring inputs, independent of all other runs; "
    "decisions about several people from one release depend on each other and must not be pooled"
)
FIXED = "the two inputs and the way of scoring were fixed before these runs, and larger scores mean the record is in"
GIVEN = "the threshold was fixed before these scores were seen"
ONE_ATTEMPT = "one audit was made: seed, split, method and confidence were not chosen by their result"
COUNTED = "the four counts are those of an attack that was fixed before the runs it is counted on"
THINNED = "the trials were thinned at random to numbers that fair coins would give"
COINS = "each canary was included by a fair coin of its own, not exactly half of them"
FIXED_GUESSES = "how many canaries are guessed was fixed before the output was seen"
ONE_CANARY = "neighbours differ by one canary, added or removed"

CLOPPER_PEARSON = "one-sided Clopper-Pearson limits of both rates of error, at (1 - confidence)/2 each"
TESTING = "(epsilon, delta)-privacy bounds every test: TPR <= e^epsilon FPR + delta, TNR <= e^epsilon FNR + delta"
GDP = "Gaussian differential privacy: no test has Phi^-1(TPR) - Phi^-1(FPR) above mu (Dong, Roth and Su 2022)"
COIN_BY_COIN = (
    "an (epsilon, delta)-private output reveals its coin with chance delta and names it rightly with chance at most "
    "e^epsilon/(1 + e^epsilon) otherwise (Kairouz, Oh and Viswanath 2015), so right guesses are at most binomial"
)
ONE_RUN = "privacy auditing with one run (Steinke, Nasr and Jagielski 2023): right guesses are at most binomial"


def chosen(set_aside: int) -> str:
    """On how many trials a threshold was chosen."""
    return f"the threshold was chosen on {set_aside:,} other trials, never on those that are counted"


def chosen_share(set_aside: int) -> str:
    """On how many trials a number of guesses was chosen."""
    return f"the number of guesses was chosen on {set_aside:,} other trials, never on those that are guessed"


def chance_of_half(chance: float) -> str:
    """A remark about a suspicious number."""
    return (
        f"Exactly half of the canaries are included, which fair coins do with probability {chance:.2g}: if it was so "
        "by design, this bound is not valid."
    )


TURNED = (
    "The scores of runs without the record tend to be larger than those with it: larger must mean that the record is "
    "in. If the sign is wrong, turn it around and audit new runs."
)
UNLUCKY = "Thinning asked for more trials of one kind than there are, which is rare; nothing is claimed then."
