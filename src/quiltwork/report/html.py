"""An account as one HTML file: no script, no network, figures inside, fit for screens and for paper."""

from __future__ import annotations

import math
from importlib import resources

from quiltwork import __version__
from quiltwork.curves.digits import at_most, single
from quiltwork.errors import MissingExtra
from quiltwork.report.accounts import Account
from quiltwork.report.figures import profile_svg, tradeoff_svg
from quiltwork.report.text import column, ends, percent

_SAID_ELSEWHERE = ("Protected:", "This assumes", "It follows from")


def html_report(account: Account) -> str:
    """The whole page; the same account gives the same text."""
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise MissingExtra("jinja2", "report") from None
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"at_most": at_most, "plain": single, "ends": ends, "percent": percent, "column": column}
    source = resources.files("quiltwork.report").joinpath("templates", "account.html").read_text(encoding="utf-8")
    style = resources.files("quiltwork.report").joinpath("templates", "account.css").read_text(encoding="utf-8")
    return environment.from_string(source).render(
        account=account,
        plan=account.plan,
        guarantee=account.guarantee,
        explanation=[line for line in account.explain().splitlines() if not line.startswith(_SAID_ELSEWHERE)],
        style=style,
        tradeoff=tradeoff_svg(account),
        profile=profile_svg(account),
        version=__version__,
        infinity=math.inf,
    )
