"""Tables 3 to 5 of the paper, as printed: AUC and standard deviation."""

from __future__ import annotations

import attrs


@attrs.frozen
class Printed:
    """One printed area."""

    area: float
    spread: float

    def __str__(self) -> str:
        if self.spread == 0.0:  # printed without decimals
            return f"{self.area:g} ± {self.spread:g}"
        return f"{self.area:.4f} ± {self.spread:.4f}"


BAYESIAN, FIXED, ADAPTIVE, SCORE = "Bayesian", "fixed LRT", "adaptive LRT", "score"
TREE, SUPPORT = "decision tree", "support vectors"

PRINTED_TABLE_3 = {
    0.0: {BAYESIAN: Printed(0.5205, 0.0055), FIXED: Printed(0.5026, 0.0062), ADAPTIVE: Printed(0.1552, 0.0100)},
    1.5: {BAYESIAN: Printed(0.7253, 0.0069), FIXED: Printed(0.6214, 0.0322), ADAPTIVE: Printed(0.1716, 0.0144)},
    50.0: {BAYESIAN: Printed(0.8076, 0.0040), FIXED: Printed(0.7284, 0.0089), ADAPTIVE: Printed(0.1719, 0.0174)},
}
PRINTED_1B = {  # the Bayesian attacker against three defenders
    "Bayesian defender": Printed(0.7237, 0.0066),
    "fixed LRT defender": Printed(0.9124, 0.0026),
    "adaptive LRT defender": Printed(0.7487, 0.0027),
}
PRINTED_1C = {"Bayesian defender": Printed(0.5318, 0.0222), "epsilon-DP": Printed(0.9153, 0.0025)}
PRINTED_1D = {
    BAYESIAN: Printed(0.5600, 0.0040),
    FIXED: Printed(0.5287, 0.0052),
    ADAPTIVE: Printed(0.1431, 0.0120),
    SCORE: Printed(0.1267, 0.0207),
}
PRINTED_1E = {
    BAYESIAN: Printed(0.6317, 0.0050),
    FIXED: Printed(0.5865, 0.0060),
    ADAPTIVE: Printed(0.1722, 0.0752),
    SCORE: Printed(0.1223, 0.0170),
}
PRINTED_1F = {
    BAYESIAN: Printed(0.5868, 0.0035),
    FIXED: Printed(0.5615, 0.0065),
    ADAPTIVE: Printed(0.2076, 0.0160),
    SCORE: Printed(0.1229, 0.0028),
}
PRINTED_1G = {
    BAYESIAN: Printed(1.0, 0.0),
    FIXED: Printed(0.8618, 0.0019),
    ADAPTIVE: Printed(0.2221, 0.0106),
    SCORE: Printed(0.1542, 0.0227),
}
PRINTED_1H = {
    BAYESIAN: Printed(0.7422, 0.0085),
    TREE: Printed(0.6609, 0.0110),
    SUPPORT: Printed(0.5226, 0.0108),
}
PRINTED_KAPPA_1C = 50.0  # the price of one SNV in ten; the others have none
PRINTED_SHARE_1C = 0.1
PRINTED_EPSILON_2D = 600.0
PRINTED_TABLE_5 = {  # epsilon: the composition of five, and one mechanism at five times epsilon
    0.05: (Printed(0.7387, 0.0050), Printed(0.7427, 0.0063)),
    0.1: (Printed(0.8033, 0.0057), Printed(0.8241, 0.0035)),
    0.3: (Printed(0.8921, 0.0037), Printed(0.9018, 0.0033)),
    0.6: (Printed(0.9108, 0.0032), Printed(0.9201, 0.0032)),
    1.0: (Printed(0.9318, 0.0031), Printed(0.9373, 0.0030)),
}
