"""An accountant with the manners of Opacus' `IAccountant`: training steps in, a certified epsilon out.

Opacus need not be installed.  Where it is, the accountant is registered there as "quiltwork":

    PrivacyEngine(accountant="quiltwork")

Reference: theory/sampling.md section 11.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, MutableMapping
from typing import Any

from quiltwork import checks
from quiltwork.adapters.history import steps_of, three
from quiltwork.compose.loss import Loss, compose
from quiltwork.errors import InvalidParameter, Unsupported

NAME = "quiltwork"
RTOL = 1e-6  # asked of every bracket: a search for a noise multiplier needs answers that fall smoothly
Step = tuple[float, float, int]


class Accountant:
    """Keeps (noise multiplier, sample rate, steps), and answers with the upper end of a certified bracket.

    Each step is Gaussian noise on a clipped sum over a Poisson sample of the records, for one record added or removed.
    Opacus passes the sample rate times the number of accumulated batches: beyond 1 it is 1, a step without sampling. A
    step without noise costs an infinite epsilon.
    """

    def __init__(self) -> None:
        self.history: list[Step] = []  # public: Opacus' search for a noise multiplier assigns it

    @classmethod
    def mechanism(cls) -> str:
        """The name under which Opacus knows it."""
        return NAME

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Add one step."""
        noise = checks.non_negative("noise_multiplier", noise_multiplier)
        rate = min(1.0, checks.positive("sample_rate", sample_rate, "it is the chance that a record is sampled"))
        if self.history and tuple(self.history[-1][:2]) == (noise, rate):
            self.history[-1] = (noise, rate, self.history[-1][2] + 1)
        else:
            self.history.append((noise, rate, 1))

    def __len__(self) -> int:
        """How many steps there were."""
        return sum(steps for _, _, steps in self.history)

    @property
    def loss(self) -> Loss:
        """All steps so far: ask it for both ends, for beta, or compose it with other releases."""
        entries = list(self._entries())
        if any(noise == 0 and steps for noise, _, steps in entries):
            raise Unsupported("the loss of steps without noise", "nothing bounds it")
        return compose(*(steps_of(place, entry) for place, entry in enumerate(entries, 1) if entry[2]))

    def get_epsilon(self, delta: float, *args: Any, **kwargs: Any) -> float:
        """An epsilon that holds at this delta; what other accountants take besides is not needed."""
        if any(noise == 0 and steps for noise, _, steps in self._entries()):
            checks.probability("delta", delta)
            return math.inf
        return float(self.loss.epsilon(delta, rtol=RTOL).upper)

    def _entries(self) -> list[Step]:
        """The history, checked, with rates of at most 1."""
        if not isinstance(self.history, (list, tuple)):
            raise InvalidParameter("history", type(self.history).__name__, "a list of triples")
        found = []
        for place, triple in enumerate(self.history, 1):
            noise, rate, steps = three(place, triple)
            where = f"of entry {place} of the history"
            noise = checks.non_negative(f"the noise multiplier {where}", noise)
            rate = checks.positive(f"the sample rate {where}", rate, "it is the chance that a record is sampled")
            found.append((noise, min(1.0, rate), checks.count(f"the steps {where}", steps)))
        return found

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """What Opacus' optimizers call after each of their steps."""

        def hook(optimizer: Any) -> None:
            rate = sample_rate * optimizer.accumulated_iterations
            self.step(noise_multiplier=optimizer.noise_multiplier, sample_rate=rate)

        return hook

    def state_dict(self, destination: MutableMapping[str, Any] | None = None) -> MutableMapping[str, Any]:
        """What a checkpoint keeps."""
        state: MutableMapping[str, Any] = OrderedDict() if destination is None else destination
        state["history"], state["mechanism"] = list(self.history), NAME
        return state

    def load_state_dict(self, state_dict: Any) -> None:
        """Go on from a checkpoint of this accountant; another one's is refused, for `from_opacus` to read."""
        allowed = "a state_dict() of this accountant"
        for name in ("history", "mechanism"):
            if not hasattr(state_dict, "keys") or name not in state_dict:
                raise InvalidParameter("state_dict", state_dict, allowed, f"it has no {name!r}")
        named = state_dict["mechanism"]
        named = named() if callable(named) else named
        if named != NAME:
            raise InvalidParameter("the mechanism of state_dict", named, f"{NAME!r}", "read it with from_opacus")
        earlier, self.history = self.history, list(state_dict["history"])
        try:
            self.history = self._entries()
        except InvalidParameter:
            self.history = earlier
            raise


def _register() -> None:
    """Make the accountant known to Opacus by its name, and as one of its kind."""
    try:
        from opacus.accountants.accountant import IAccountant
        from opacus.accountants.registry import register_accountant
    except ImportError:  # not installed, or too old to take accountants of others
        return
    IAccountant.register(Accountant)
    register_accountant(NAME, Accountant)


_register()
