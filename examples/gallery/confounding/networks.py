"""Appendix N: the networks behind Tables VIII and IX, by the text and by Tables IV to VII."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from examples.gallery.item import Check, Effort, Finding, alone
from quiltwork.document.blocks import Grid

# units of all layers, the input first; each layer but the first has as many inputs as the one before has outputs
PRINTED_LAYERS = {
    "Table IV, Defender, single re-design": ((800, 5000), (5000, 9000), (9000, 3000), (3000, 1000)),
    "Table V, Defender, copula": ((830, 3000), (3000, 2000), (2000, 1200), (1200, 1200), (1200, 1)),
    "Table VI, Attacker, single re-design": ((1500, 14000), (14000, 9500), (9500, 4500), (4500, 800)),
    "Table VII, Attacker, copula": ((1500, 31000), (31000, 25000), (25000, 15000), (15000, 800)),
}
PRINTED_HIDDEN = 3  # "the third hidden layer" of the Defender, in the text


def layers(effort: Effort) -> Mapping[str, Finding]:
    """Hidden layers counted, and whether the layers fit each other."""
    hidden = {name: len(units) - 2 for name, units in PRINTED_LAYERS.items()}
    fits = all(one[1] == two[0] for units in PRINTED_LAYERS.values() for one, two in itertools.pairwise(units))
    defenders = [count for name, count in hidden.items() if "Defender" in name]
    rows = [[name, str(hidden[name]), ", ".join(f"{b:,}" for _, b in units)] for name, units in PRINTED_LAYERS.items()]
    return {
        "confounding-appendix-n": Finding(
            f"The Defenders of Tables IV and V have {defenders[0]} and {defenders[1]} hidden layers.",
            "One description stands for both networks. Table IV, for the single-shot re-design of Figure 1a, has no "
            "third hidden layer, so that either the text or the table is of another network. None of them is trained "
            "here: the attackers of this room are the optimal ones.",
            [
                Check(
                    "both Defenders have the third hidden layer of the text",
                    all(count >= PRINTED_HIDDEN for count in defenders),
                    printed=f"{PRINTED_HIDDEN}",
                    ours=", ".join(map(str, defenders)),
                ),
                Check("in all four tables each layer takes what the one before gives", fits),
            ],
            [Grid(["network", ("hidden layers", "number"), "units, printed"], rows, "Tables IV to VII.")],
        )
    }


STUDIES = (
    alone(
        "confounding-appendix-n",
        "Appendix N, Tables IV to VII",
        'Of the Defender: "The first and second hidden layers use ReLU activation, while the third hidden layer '
        'employs LeakyReLU activation." Its configurations are in Tables IV and V.',
        layers,
    ),
)
