"""The numbers behind `quiltwork influence`: a prior, what it tells, what is allowed under it and what leaks."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from quiltwork.compose.constructors import pure
from quiltwork.compose.loss import compose
from quiltwork.curves.bracket import Bracket
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import NotCertified, QuiltworkError
from quiltwork.numbers.digits import single
from quiltwork.numbers.json import json_numbers
from quiltwork.numbers.rounding import down, up
from quiltwork.pufferfish.guarantee import guarantee
from quiltwork.pufferfish.papers.simple_rules import Totals, totals
from quiltwork.pufferfish.prior import Prior
from quiltwork.pufferfish.secrets import EntryValues
from quiltwork.pufferfish.translation.influence import InfluenceCurve
from quiltwork.pufferfish.translation.translate import Translator
from quiltwork.report.answers.account import Judged, targets_json
from quiltwork.report.answers.account import verdict as verdict_of
from quiltwork.spec.fields.priors import GAUSSIAN
from quiltwork.spec.files.plan import Plan, Release, Target
from quiltwork.spec.files.prior import PriorFile

SCHEMA = "quiltwork/influence_view/1"
USUAL_DELTA = 1e-6  # when nobody names one and delta 0 has no answer
MOST_LEAKS = 24  # sizes at which a Gaussian prior is asked
NARROWEST = 14.0  # per-entry epsilons below exp(-14) of the target are not looked for
MOST_ADDED = 1000  # releases up to which the other ways of adding up are computed
GROUP_PRIVACY = "group privacy"
GROUP = "all entries may change together"
ADDED_OR_REMOVED = (
    "the plan's losses must hold when the value of one entry changes; this plan protects {words}, and replacing a "
    "record is one removed and one added: take each loss for a group of two, unless it covers that already"
)


@attrs.frozen
class Size:
    """a(b) at one size, or the mu of a Gaussian prior."""

    size: int
    value: float
    status: str


@attrs.frozen
class Bound:
    """What one theorem allows or says; the size is that of Theorem 6."""

    name: str
    epsilon: float
    size: int | None = None
    note: str = ""


@attrs.frozen(eq=False)
class Leak:
    """What a release with this epsilon for each entry leaks at delta 0."""

    epsilon: float
    bracket: Bracket | None  # None when nothing is certified at delta 0
    bounds: tuple[Bound, ...]


@attrs.frozen(eq=False)
class Released:
    """Everything that is released, and what that says about the secrets."""

    releases: tuple[Release, ...]
    guarantee: Guarantee
    epsilon: Bracket
    totals: Totals | None  # of pure releases


@attrs.frozen(eq=False)
class View:
    """Everything that is shown, computed once."""

    file: PriorFile
    prior: Prior
    sizes: tuple[Size, ...]
    curve: InfluenceCurve | None  # None for a Gaussian prior
    translator: Translator | None  # None when the curve is approximate, or infinite
    delta: float
    target: float | None  # epsilon of the secrets
    targets: tuple[Target, ...]  # that releases are judged by
    budgets: tuple[Bound, ...]
    leak: Leak | None
    released: Released | None
    verdicts: tuple[Judged, ...]
    warned: tuple[str, ...]

    @property
    def gaussian(self) -> bool:
        return isinstance(self.prior, GAUSSIAN)

    @property
    def secrets(self) -> EntryValues:
        return self.file.asked() or EntryValues()

    @property
    def certified(self) -> bool:
        """Whether anything is promised."""
        return self.gaussian or self.translator is not None

    @property
    def met(self) -> bool:
        """Every verdict is good; without one, some per-entry epsilon keeps the target."""
        if self.targets and not self.certified:
            return False
        if self.target is not None and not self.verdicts:
            return any(budget.epsilon > 0 for budget in self.budgets)
        return all(one.word == "met" for one in self.verdicts)


def view(
    file: PriorFile,
    plan: Plan | None = None,
    *,
    max_size: int | None = None,
    epsilon: float | None = None,
    per_entry: float | None = None,
    delta: float | None = None,
) -> View:
    """Everything about a prior file; what is given here is used instead of what the file says."""
    prior, secrets = file.model(), file.asked()
    gaussian = isinstance(prior, GAUSSIAN)
    curve = None if gaussian else prior.influence(max_size, secrets)
    warned: list[str] = []
    translator = None
    if curve is not None:
        try:
            translator = Translator.of(prior, secrets)
        except NotCertified as error:
            warned.append(str(error))
    asked = epsilon if epsilon is not None else file.target.epsilon if file.target is not None else None
    entry = per_entry if per_entry is not None else file.per_entry.epsilon if file.per_entry is not None else None
    releases = plan.releases if plan is not None else file.releases or ()
    delta = _delta(delta, file, plan, gaussian or not _pure(releases))
    targets = [] if plan is None else list(plan.targets)
    if asked is not None:
        targets = [Target(epsilon=asked, delta=delta)]
    if plan is not None and ("protects" not in plan.model_fields_set or "removed" in plan.protects):
        warned.append(ADDED_OR_REMOVED.format(words=plan.protects))
    certified = gaussian or translator is not None
    leak = None if entry is None or not certified else _leak(prior, translator, entry)
    released = _released(releases, prior, secrets, delta) if releases and certified else None
    verdicts = []
    if released is not None:
        verdicts += Judged.by((verdict_of(released.guarantee, target) for target in targets), "all releases")
    if leak is not None and targets:
        loss = guarantee(pure(leak.epsilon), prior, secrets)
        verdicts += Judged.by((verdict_of(loss, target) for target in targets), "the per-entry epsilon")
    return View(
        file,
        prior,
        _sizes(prior, curve, secrets, max_size),
        curve,
        translator,
        delta,
        asked,
        tuple(targets),
        ()
        if asked is None or not certified
        else _budgets(prior, secrets, translator, Target(epsilon=asked, delta=delta)),
        leak,
        released,
        tuple(verdicts),
        tuple(warned),
    )


def _delta(asked: float | None, file: PriorFile, plan: Plan | None, needed: bool) -> float:
    """The delta that was asked for, that of a target, or one at which there is an answer."""
    if asked is not None:
        return asked
    if file.target is not None:
        return file.target.delta
    if plan is not None and plan.targets:
        return plan.targets[0].delta
    return USUAL_DELTA if needed else 0.0


def _pure(releases: Sequence[Release]) -> bool:
    return all(math.isfinite(float(release.mechanism.loss().epsilon(0.0).upper)) for release in releases)


def _sizes(prior: Any, curve: InfluenceCurve | None, secrets: EntryValues | None, most: int | None) -> tuple[Size, ...]:
    if curve is not None:
        found = zip(curve.sizes.tolist(), curve.values.tolist(), strict=True)
        return tuple(Size(size, value, curve.status) for size, value in found)
    tried = [size for size in prior.sizes if most is None or size <= most]
    spread = np.unique(np.geomspace(1, len(tried), MOST_LEAKS).round().astype(int)) - 1
    status = getattr(prior, "status", lambda size: "exact")  # an autoregression has a closed form
    return tuple(Size(tried[i], prior.leak(tried[i], secrets), status(tried[i])) for i in spread)


def theorem_6(found: Translator) -> Translator:
    """The same prior with this theorem alone."""
    return attrs.evolve(found, others=())


def _worst(found: Translator, epsilon: float) -> str:
    return f"worst case: {found.curve.worst_case(epsilon)}"


def _budgets(prior: Prior, secrets: EntryValues | None, found: Translator | None, wanted: Target) -> tuple[Bound, ...]:
    """The largest per-entry epsilon by each way of reasoning, from the safe side; a Gaussian prior needs the delta."""
    budgets, target = [], wanted.epsilon
    if found is None and wanted.delta > 0:
        allowed = _searched(prior, secrets, wanted)
        budgets.append(Bound(f"the best size, at delta {single(wanted.delta)}", allowed))
    if found is not None:
        six = theorem_6(found)
        allowed = six.inverse(target)
        size = six.curve.size(allowed) if allowed > 0 else None
        budgets.append(Bound("Theorem 6", allowed, size, _worst(six, allowed) if size else ""))
        if found.others:
            best = found.inverse(target)
            budgets.append(Bound("all theorems", best, None, "; ".join(found.because(best)) if best > 0 else ""))
    if prior.entries is not None:
        share = target / prior.entries
        share = share if Fraction(share) * prior.entries <= Fraction(target) else down(share)
        budgets.append(Bound(GROUP_PRIVACY, share, prior.entries, GROUP))
    return tuple(budgets)


def _searched(prior: Prior, secrets: EntryValues | None, wanted: Target) -> float:
    """The largest epsilon that was seen to keep the target, within a percent; 0 when none did."""
    low, high, best = math.log(wanted.epsilon) - NARROWEST, math.log(wanted.epsilon), 0.0
    while high - low > 0.01:
        middle = (low + high) / 2
        epsilon = math.exp(middle)
        if float(guarantee(pure(epsilon), prior, secrets).epsilon(wanted.delta).upper) <= wanted.epsilon:
            low, best = middle, epsilon
        else:
            high = middle
    return best


def _leak(prior: Prior, found: Translator | None, epsilon: float) -> Leak:
    bounds = []
    bracket = None
    if found is not None:
        six = theorem_6(found)
        most = six.upper(epsilon)
        size = six.curve.size(epsilon) if math.isfinite(most) else None
        bounds.append(Bound("Theorem 6", most, size, _worst(six, epsilon)))
        bounds += [Bound(t.name, float(np.max(t.epsilons(epsilon))), None, t.because) for t in found.others]
        upper = found.upper(epsilon)
        bracket = Bracket(min(down(found.lower(epsilon)), upper), upper, "epsilon", "; ".join(found.because(epsilon)))
    if prior.entries is not None:
        bounds.append(Bound(GROUP_PRIVACY, up(prior.entries * epsilon), prior.entries, GROUP))
    return Leak(epsilon, bracket, tuple(bounds))


def _released(releases: Sequence[Release], prior: Prior, secrets: EntryValues | None, delta: float) -> Released:
    loss = compose(*(release.loss() for release in releases))
    found = guarantee(loss, prior, secrets)
    return Released(tuple(releases), found, found.epsilon(delta), _added(releases, prior, secrets))


def _added(releases: Sequence[Release], prior: Prior, secrets: EntryValues | None) -> Totals | None:
    """The other ways to add up; None when a release is not pure, or there are too many."""
    if isinstance(prior, GAUSSIAN) or sum(release.count for release in releases) > MOST_ADDED:
        return None
    each = [(float(release.mechanism.loss().epsilon(0.0).upper), release.count) for release in releases]
    epsilons = [epsilon for epsilon, count in each for _ in range(count) if epsilon > 0]
    if not epsilons or not all(map(math.isfinite, epsilons)):
        return None
    try:
        return totals(prior, epsilons, secrets)
    except QuiltworkError:  # a comparison, not an answer
        return None


SHOWN = 14  # sizes in a table to read, besides those that decide
TOTALS = {  # ways to add up, with the field of Totals and what they do
    "all theorems": ("best", "the sum of the per-entry epsilons, translated to the secrets once"),
    "Theorem 6": ("one_size", "the same sum, at the best size"),
    "Theorem 7": ("theorem_7", "each release at its own best size, the penalty of the smallest"),
    "each by itself": ("naive", "every release is translated, and the penalties add up"),
}


def spread(sizes: Sequence[Size], special: Sequence[int] = ()) -> list[int]:
    """Sizes to show: the first ones, then wider apart, the last infinite, the first finite one, the last, and some."""
    count = len(sizes)
    if count <= SHOWN:
        return list(range(count))
    finite = next((i for i, entry in enumerate(sizes) if math.isfinite(entry.value)), count - 1)
    places = {entry.size: i for i, entry in enumerate(sizes)}
    kept = {0, count - 1, finite, max(finite - 1, 0), *(places[size] for size in special if size in places)}
    found, wanted, rest = sorted(kept), 2, count - finite
    while wanted <= 4 * count:  # positions that coincide leave room for others
        steps = {finite + round(rest ** (i / (wanted - 1))) - 1 for i in range(wanted)}
        if len(steps | kept) > SHOWN + 2:
            break
        found, wanted = sorted(steps | kept), wanted + 1
    return found


def sizes_csv(found: View) -> str:
    """One size a line, rounded up."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("size", "mu" if found.gaussian else "influence", "status"))
    writer.writerows((entry.size, entry.value, entry.status) for entry in found.sizes)
    return text.getvalue()


def to_json(found: View) -> dict[str, Any]:
    """A plain dictionary that `json.dumps(..., allow_nan=False)` accepts; infinities are strings."""
    released, leak = found.released, found.leak
    return {
        "schema": SCHEMA,
        "prior": found.file.to_dict(),
        "protects": found.secrets.words,
        "assumes": [found.prior.words, *found.file.assumes],
        "warnings": list(found.warned),
        "sizes": [entry.size for entry in found.sizes],
        "mu" if found.gaussian else "influence": json_numbers([entry.value for entry in found.sizes]),
        "status": [entry.status for entry in found.sizes],
        "delta": found.delta,
        "target": found.target,
        "per_entry_epsilons": _bounds_json(found.budgets),
        "leak": None
        if leak is None
        else {
            "per_entry": leak.epsilon,
            "bracket": None if leak.bracket is None else leak.bracket.to_json(),
            "bounds": _bounds_json(leak.bounds),
        },
        "releases": None
        if released is None
        else {
            "list": [{"name": r.name, "mechanism": r.describe(), "count": r.count} for r in released.releases],
            "epsilon": released.epsilon.to_json(),
            "witness": released.guarantee.witness,
            "assumes": list(released.guarantee.assumes),
            "because": list(released.guarantee.because),
            "totals": None
            if released.totals is None
            else {field: json_numbers(getattr(released.totals, field)) for field, _ in TOTALS.values()},
        },
        "met": found.met,
        "targets": [
            {"of": one.about, **said} for one, said in zip(found.verdicts, targets_json(found.verdicts), strict=True)
        ],
    }


def _bounds_json(bounds: Sequence[Bound]) -> list[dict[str, Any]]:
    return [{**attrs.asdict(bound), "epsilon": json_numbers(bound.epsilon)} for bound in bounds]
