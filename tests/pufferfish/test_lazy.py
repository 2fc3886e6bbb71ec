"""A guarantee computes nothing until it is asked, and nothing twice; what a look refuses is refused at once."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import quiltwork as qw
from quiltwork import pufferfish as pf
from quiltwork.compose import loss as losses
from quiltwork.errors import InvalidParameter, NotCertified, QuiltworkError, Unsupported
from quiltwork.pufferfish.priors.gaussian.prior import GaussianLeaks
from quiltwork.pufferfish.translation.approximate import Shift
from quiltwork.pufferfish.translation.curve import BySize, Leaks
from quiltwork.pufferfish.translation.translate import Translator, _remembered

STAY = [[0.8, 0.2], [0.3, 0.7]]
PRIORS: dict[str, Callable[[], pf.Prior]] = {
    "stationary chain": lambda: pf.MarkovChain(STAY),
    "chain with a given start": lambda: pf.MarkovChain(STAY, [0.5, 0.5], 6),
    "chain with any start": lambda: pf.MarkovChain(STAY, "any", 6),
    "hidden chain": lambda: pf.HiddenMarkov(STAY, [[0.9, 0.1], [0.2, 0.8]], 6),
    "box of chains": lambda: pf.BinaryChains((0.6, 0.8), (0.6, 0.8)),
    "several priors": lambda: pf.AnyOf([pf.MarkovChain(STAY, length=4), pf.Blocks(2, 1.0, 2.0)]),
    "tree": lambda: pf.Tree([None, 0, 0], STAY, [0.5, 0.5]),
    "Ising model": lambda: pf.Ising({(0, 1): 0.4, (1, 2): 0.3}),
    "joint law": lambda: pf.JointLaw([[0.4, 0.1], [0.1, 0.4]]),
    "blocks": lambda: pf.Blocks(3, 1.0, 4.0),
    "independent entries": lambda: pf.Independent(3),
    "Gaussian entries": lambda: pf.GaussianPrior([[1.0, 0.5], [0.5, 1.0]], 1.0),
    "autoregression": lambda: pf.AutoRegressive(0.5, 1.0, gap=1.0, length=20),
    "Gaussian box": lambda: pf.GaussianBox(pf.kernel_covariance(3, 0.5), 1.0, 0.1),
}
WATCHED: list[tuple[Any, str]] = [
    *((kind, name) for kind in {type(make()) for make in PRIORS.values()}
      for name in ("influence", "translations", "query_laws", "atoms", "tells_itself", "joint", "leak", "cases")
      if name in vars(kind)),
    (pf.Prior, "tells_itself"), (pf.Prior, "translations"), (Translator, "__init__"), (Translator, "upper"),
    (Translator, "inverse"), (Shift, "entry_for"), (Shift, "delta_at"), (BySize, "epsilons"), (BySize, "delta"),
    (losses, "ask"), (Leaks, "_epsilon"), (GaussianLeaks, "_epsilon"),
]  # fmt: skip


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each influence curve, translation, composition and search was asked for."""
    counts: Counter[str] = Counter()

    def counting(home: Any, name: str) -> Callable[..., Any]:
        real, label = getattr(home, name), f"{getattr(home, '__name__', home)}.{name}"

        def counted(*args: Any, **how: Any) -> Any:
            counts[label] += 1
            return real(*args, **how)

        return counted

    _remembered.cache_clear()
    for home, name in WATCHED:
        monkeypatch.setattr(home, name, counting(home, name))
    return counts


@pytest.mark.parametrize("loss", [qw.gaussian(50.0), 10 * qw.pure(0.01)], ids=["Gaussian", "pure"])
@pytest.mark.parametrize("make", PRIORS.values(), ids=PRIORS)
def test_nothing_is_computed_before_a_question_and_nothing_twice(
    make: Callable[[], pf.Prior], loss: qw.Loss, calls: Counter[str]
) -> None:
    prior = make()
    calls.clear()
    promise = pf.guarantee(loss, prior, pf.entry_values([0]))
    assert promise.protects
    assert promise.assumes
    assert not calls
    first = promise.epsilon(1e-5)
    assert sum(calls.values()) > 2
    calls.clear()
    assert promise.epsilon(1e-5) is first
    assert not calls


@pytest.mark.parametrize("words", ["because", "witness"])
def test_reasons_and_the_worst_case_are_found_when_they_are_read(words: str, calls: Counter[str]) -> None:
    promise = pf.guarantee(10 * qw.gaussian(50.0), pf.MarkovChain(STAY))
    assert not calls
    assert getattr(promise, words)
    assert calls["MarkovChain.influence"] > 0


REFUSED_AT_ONCE: dict[str, tuple[Callable[[], pf.Prior], Any, type[QuiltworkError]]] = {
    "a state that is not there": (PRIORS["stationary chain"], pf.entry_values(pairs=[(0, 7)]), InvalidParameter),
    "an entry behind the end": (PRIORS["chain with a given start"], pf.entry_values([6]), InvalidParameter),
    "all data of an endless chain": (PRIORS["stationary chain"], pf.joint_values([0, 1]), InvalidParameter),
    "several hidden states": (PRIORS["hidden chain"], pf.joint_values([0, 1]), InvalidParameter),
    "a joint secret of a box": (PRIORS["box of chains"], pf.joint_values([0, 1]), Unsupported),
    "an entry that one member lacks": (PRIORS["several priors"], pf.entry_values([4]), InvalidParameter),
    "a node that is not there": (PRIORS["tree"], pf.entry_values([3]), InvalidParameter),
    "a third spin": (PRIORS["Ising model"], pf.entry_values(pairs=[(0, 2)]), InvalidParameter),
    "a value without a row": (PRIORS["joint law"], pf.joint_values([0, 1], [((0, 0), (0, 2))]), InvalidParameter),
    "two entries of blocks": (PRIORS["blocks"], pf.joint_values([0, 1]), Unsupported),
    "a function of independent entries": (PRIORS["independent entries"], pf.function_values(sum), Unsupported),
    "values that are too far apart": (PRIORS["Gaussian entries"], pf.entry_values(pairs=[(0, 2)]), InvalidParameter),
    "an autoregression's pair of entries": (PRIORS["autoregression"], pf.joint_values([0, 1]), Unsupported),
    "a fourth entry of a box": (PRIORS["Gaussian box"], pf.entry_values([3]), InvalidParameter),
}


@pytest.mark.parametrize(("make", "secrets", "error"), REFUSED_AT_ONCE.values(), ids=REFUSED_AT_ONCE)
def test_what_a_look_refuses_is_refused_at_the_call(
    make: Callable[[], pf.Prior], secrets: Any, error: type[QuiltworkError], calls: Counter[str]
) -> None:
    prior = make()
    calls.clear()
    with pytest.raises(error):
        pf.guarantee(qw.gaussian(50.0), prior, secrets)
    assert not calls


def test_what_depends_on_the_curve_is_refused_at_the_first_question() -> None:
    class Guessed(pf.Independent):
        def influence(self, max_size: int | None = None, secrets: Any = None) -> pf.InfluenceCurve:
            return pf.InfluenceCurve([1], [[0.0]], "approximate", method="guessed")

    promise = pf.guarantee(qw.pure(0.1), Guessed())
    with pytest.raises(NotCertified, match="guessed"):
        promise.epsilon(0.0)
    close = pf.guarantee(qw.gaussian(5.0), pf.AutoRegressive(1.0 - 1e-15, 1.0, gap=1e3))
    with pytest.raises(Unsupported, match="standard deviations"):
        close.epsilon(1e-6)
    possible = pf.JointLaw([[0.5, 0.0], [0.5, 0.0]])
    alone = pf.guarantee(qw.pure(0.1), possible, pf.entry_values([1]))
    with pytest.raises(InvalidParameter, match="positive probability"):
        alone.epsilon(0.0)
    with pytest.raises(InvalidParameter, match="known number of entries"):
        pf.guarantee(qw.pure(0.1), pf.MarkovChain(STAY), method="group")
