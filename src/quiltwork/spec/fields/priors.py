"""How a prior file writes what the entries tell about each other."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from quiltwork.pufferfish.prior import Prior as AnyPrior
from quiltwork.pufferfish.priors.any_of import AnyOf
from quiltwork.pufferfish.priors.binary_chains import BinaryChains as BinaryChainsPrior
from quiltwork.pufferfish.priors.blocks import Blocks as BlocksPrior
from quiltwork.pufferfish.priors.blocks import Independent as IndependentPrior
from quiltwork.pufferfish.priors.chain.chain import MarkovChain as MarkovChainPrior
from quiltwork.pufferfish.priors.gaussian.prior import AutoRegressive as AutoRegressivePrior
from quiltwork.pufferfish.priors.gaussian.prior import GaussianPrior
from quiltwork.pufferfish.priors.hidden_chain import HiddenMarkov as HiddenMarkovPrior
from quiltwork.pufferfish.priors.ising import Ising as IsingPrior
from quiltwork.pufferfish.priors.joint.law import JointLaw as JointLawPrior
from quiltwork.pufferfish.priors.network.network import Network as NetworkPrior
from quiltwork.pufferfish.priors.tree import Tree as TreePrior
from quiltwork.spec.fields.columns import Values
from quiltwork.spec.fields.fields import Choice, Count, Positive, Rate, Strict, located, refused
from quiltwork.spec.fields.matrices import MOST_STRENGTH, Law, Level, Matrix, Start, Stochastic, Table, ValueNames
from quiltwork.spec.fields.notions import SomeNames

MOST_LAWS = 50  # of any_of
MOST_STARTED = 10_000  # entries that are looked at one by one
MOST_NODES = 1000
GAUSSIAN = (AutoRegressivePrior, GaussianPrior)  # they have no finite a(b)

Interval = Annotated[tuple[Rate, Rate], Field(strict=False)]
Index = Annotated[int, Field(ge=0)]
Parents = Annotated[tuple[Index | None, ...], Field(strict=False, min_length=1, max_length=MOST_NODES)]


class Described(Strict):
    """One kind of prior: its fields are what the class that it `makes` is told."""

    makes: ClassVar[type[Any]]

    def prior(self) -> AnyPrior:
        """The prior itself."""
        told = {name: value for name in type(self).model_fields if (value := getattr(self, name)) is not None}
        made: AnyPrior = self.makes(**told)
        return made


class MarkovChain(Described):
    """A chain: a row of `transition` for each state; it starts in its stationary law, in any or in a given law."""

    makes = MarkovChainPrior
    transition: Stochastic
    states: Values | None = None
    initial: Start = "stationary"
    length: Count | None = None

    @model_validator(mode="after")
    def _short(self) -> Self:
        if not isinstance(self.initial, str) and (self.length or 0) > MOST_STARTED:
            raise refused(f"must be at most {MOST_STARTED:,} when the initial law is given", ("length",))
        return self


class BinaryChains(Described):
    """Every chain of two states that stays with a probability in `p` in the first and in `q` in the second."""

    makes = BinaryChainsPrior
    p: Interval
    q: Interval
    length: Count | None = None
    states: Values | None = None


class HiddenMarkov(Described):
    """What a hidden chain emits; the secret is the hidden state or the emission."""

    makes = HiddenMarkovPrior
    transition: Stochastic
    emission: Stochastic
    states: Values | None = None
    symbols: Values | None = None
    secret: Annotated[str, Field(json_schema_extra={"enum": ["hidden", "emission"]})] = "hidden"
    length: Count | None = None


class Tree(Described):
    """Entries on a tree: the number of each one's parent (null for the root), and the law of a child given it."""

    makes = TreePrior
    parents: Parents
    transition: Stochastic
    root: Law
    states: Values | None = None


class Blocks(Described):
    """Blocks of binary entries, each with a rate from Beta(alpha, beta)."""

    makes = BlocksPrior
    size: Count
    alpha: Positive
    beta: Positive
    count: Count = 1


class Independent(Described):
    """Entries that tell nothing about each other."""

    makes = IndependentPrior
    entries: Count | None = None


class Coupling(Strict):
    """How much two entries like to agree."""

    between: Annotated[tuple[Index, Index], Field(strict=False)]
    strength: Annotated[float, Field(ge=-MOST_STRENGTH, le=MOST_STRENGTH)]


class Ising(Described):
    """Binary entries with weights exp(sum of strength s_i s_j + sum of field s_i), s = -1 or 1."""

    couplings: Annotated[tuple[Coupling, ...], Field(strict=False, min_length=1)]
    fields: Level = 0.0

    @model_validator(mode="after")
    def _once(self) -> Self:
        seen: set[frozenset[int]] = set()
        for index, entry in enumerate(self.couplings):
            pair = frozenset(entry.between)
            if len(pair) < 2 or pair in seen:
                raise refused("must be two different entries, each pair once", ("couplings", index, "between"))
            seen.add(pair)
        return self

    def prior(self) -> AnyPrior:
        return IsingPrior({entry.between: entry.strength for entry in self.couplings}, self.fields)


class Dependence(Strict):
    """How the values of some entries go together: one level of weights for each of them."""

    entries: Annotated[tuple[Index, ...], Field(strict=False, min_length=1)]
    weights: Table


class Network(Described):
    """A product of factors: a Bayesian network has one for each entry, its law given others (the last level)."""

    factors: Annotated[tuple[Dependence, ...], Field(strict=False, min_length=1)]
    states: Values | None = None

    def prior(self) -> AnyPrior:
        told = {} if self.states is None else {"states": self.states}
        return NetworkPrior([(one.entries, one.weights) for one in self.factors], **told)


class JointLaw(Described):
    """The probability of every dataset."""

    makes = JointLawPrior
    law: Table
    values: ValueNames | None = None


class AutoRegressive(Described):
    """A stationary Gaussian chain; the secrets are two values of an entry at most `gap` apart."""

    makes = AutoRegressivePrior
    rho: float
    sigma: Positive
    gap: Positive
    length: Count | None = None


class Gaussian(Described):
    """Jointly Gaussian entries; the secrets are two values of an entry at most `gap` apart."""

    makes = GaussianPrior
    covariance: Matrix
    gap: Positive
    names: SomeNames | None = None


class OneLaw(Choice):
    """A prior for which a(b) is known."""

    noun: ClassVar[str] = "kind of prior"
    bare: ClassVar[frozenset[str]] = frozenset({"independent"})

    markov_chain: MarkovChain | None = None
    binary_chains: BinaryChains | None = None
    hidden_markov: HiddenMarkov | None = None
    tree: Tree | None = None
    blocks: Blocks | None = None
    independent: Independent | None = None
    ising: Ising | None = None
    network: Network | None = None
    joint_law: JointLaw | None = None

    @model_validator(mode="after")
    def _holds(self) -> Self:
        """What the library refuses is refused here, where the line is known."""
        if isinstance(self.chosen, Described):
            fields = {name: name for name in type(self.chosen).model_fields}
            with located(self.kind, fields=fields):
                self.prior()
        return self

    def prior(self) -> AnyPrior:
        """The prior itself."""
        found: AnyPrior = self.chosen.prior()
        return found


class Prior(OneLaw):
    """One of the priors, or any one of several."""

    any_of: Annotated[tuple[OneLaw, ...], Field(strict=False, min_length=1, max_length=MOST_LAWS)] | None = None
    auto_regressive: AutoRegressive | None = None
    gaussian: Gaussian | None = None

    def prior(self) -> AnyPrior:
        if self.any_of is not None:
            return AnyOf([entry.prior() for entry in self.any_of])
        return super().prior()
