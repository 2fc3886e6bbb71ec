"""A report as one HTML file: no script, no network, figures inside, fit for screens and for paper."""

from __future__ import annotations

from html import escape

from quiltwork import __version__
from quiltwork.audit.figure import draw_epsilons, draw_errors, inline
from quiltwork.audit.report import AuditReport
from quiltwork.audit.result import Audit
from quiltwork.numbers.digits import at_least, at_most, single

STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --panel: #f5f7f9; --line: #d9dee4;
  --ink: #24292f; --muted: #656d78; --accent: #1f5f99; --bad: #b3342d; --warm: #8f5a08; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181d; --panel: #1c2229; --line: #333b45;
  --ink: #e4e8ec; --muted: #98a2ad; --accent: #6fb1e8; --bad: #ef8078; --warm: #e0ab5a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.5rem 4rem; max-width: 62rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .3rem; text-wrap: balance; }
h2 { font-size: 1.15rem; margin: 2.6rem 0 .7rem; }
p { margin: .5rem 0; max-width: 46rem; }
ul { margin: .3rem 0; padding-left: 1.2rem; max-width: 46rem; }
.muted, figcaption, caption, footer { color: var(--muted); }
.bad { color: var(--bad); }
.headline { display: flex; flex-wrap: wrap; gap: 1rem; margin: 1.6rem 0; }
.headline > div { flex: 1 1 12rem; background: var(--panel); border: 1px solid var(--line); border-radius: .6rem;
  padding: 1rem 1.2rem; }
.headline strong { display: block; font-size: 1.6rem; line-height: 1.25; font-weight: 650; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .93rem; min-width: 24rem; }
caption { text-align: left; padding-bottom: .5rem; }
th, td { text-align: right; padding: .4rem 0 .4rem 2rem; border-bottom: 1px solid var(--line);
  font-variant-numeric: tabular-nums; white-space: nowrap; }
th:first-child, td:first-child { padding-left: 0; text-align: left; }
thead th { border-bottom: 1.5px solid var(--muted); }
tr.asked td { font-weight: 600; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1.5rem; }
figure { margin: 0; }
figure svg { width: 100%; height: auto; display: block; }
figcaption { font-size: .9rem; margin-top: .4rem; }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: .87rem; }
@media print { :root { color-scheme: light; --paper: #fff; --panel: #fff; --line: #ccc; --ink: #000; --muted: #555;
  --accent: #1f5f99; --bad: #b3342d; --warm: #8f5a08; } body { max-width: none; padding: 0; font-size: 10.5pt; }
  h2 { break-after: avoid; } tr, figure, .headline > div { break-inside: avoid; }
  .figures { grid-template-columns: 1fr 1fr; } }
"""
ERRORS = "Trade-off plane: the share of misses for each share of false alarms, guaranteed and audited"
EPSILONS = "Guaranteed and audited epsilon for each delta, on a logarithmic scale"


def page(report: AuditReport) -> str:
    """The whole page; the same report gives the same text."""
    title = escape(report.title)
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>",
        f"<header>\n<h1>{title}</h1>",
        f'<p class="muted">Guarantee: {escape(report.claim)}.</p>' if report.curve is not None else "",
        "</header>",
        _headline(report),
        _section("In plain words", "".join(f"<p>{escape(line)}</p>\n" for line in _story(report))),
        _section("What is possible, what was seen", _figures(report)),
        _section("Numbers", _table(report)),
        _section("What is assumed", _list([text for audit in report.audits for text in audit.assumes])),
        _section("Why it holds", _list([text for audit in report.audits for text in audit.because])),
        f"<footer>Made with quiltwork {__version__}. Bounds are rounded to the safe side.</footer>\n</body>\n</html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _headline(report: AuditReport) -> str:
    boxes = [
        _box(f"Audited, {_named(audit)}", f"epsilon &ge; {at_least(audit.epsilon_lower)}", _under(audit))
        for audit in report.audits
    ]
    if report.curve is not None and report.certified is not None:
        boxes.append(
            _box("Guaranteed", f"epsilon &le; {at_most(report.certified)}", f"at delta {single(report.delta)}")
        )
        word, css = ("contradicted", "bad") if report.contradicted else ("not contradicted", "")
        sure = (
            f"with {single(100 * report.confidence)}% confidence" if report.contradicted else "no proof that it holds"
        )
        boxes.append(_box("The guarantee is", f'<span class="{css}">{word}</span>', sure))
    return '<div class="headline">\n' + "\n".join(boxes) + "\n</div>"


def _box(above: str, large: str, below: str) -> str:
    return f'<div><span class="muted">{above}</span>\n<strong>{large}</strong>\n{below}</div>'


def _named(audit: Audit) -> str:
    return "if Gaussian" if audit.method == "gdp" else f"by {audit.method}" if audit.method != "one run" else "one run"


def _under(audit: Audit) -> str:
    return f"at delta {single(audit.delta)}, {single(100 * audit.confidence)}% confidence"


def _story(report: AuditReport) -> list[str]:
    said = ("Guarantee:", "This assumes", "It follows from")
    return [line for line in report.explain().splitlines() if not line.startswith(said)]


def _figures(report: AuditReport) -> str:
    one = (
        "An attacker errs in two ways. A guarantee says that nobody comes into the shaded region; an audit that, with "
        "the stated confidence, the mechanism's own curve lies at or below the line through the corner."
    )
    two = (
        "The same as pairs of epsilon and delta. Pairs left of an audited line are refuted, pairs right of the "
        "guaranteed line are promised; the truth lies between them."
    )
    return (
        f'<div class="figures">\n<figure>\n{inline(report, draw_errors, "errors", ERRORS)}\n'
        f"<figcaption>{one}</figcaption>\n</figure>\n"
        f"<figure>\n{inline(report, draw_epsilons, 'epsilons', EPSILONS)}\n"
        f"<figcaption>{two}</figcaption>\n</figure>\n</div>"
    )


def _table(report: AuditReport) -> str:
    heads = ["delta", *(f"audited, {_named(audit)}" for audit in report.audits)]
    heads += ["guaranteed"] if report.curve is not None else []
    rows = []
    for row in report.rows:
        cells = [single(row.delta), *("-" if value is None else at_least(value) for value in row.audited)]
        cells += [] if row.certified is None else [at_most(row.certified)]
        mark = ' class="asked"' if row.delta == report.delta else ""
        rows.append(f"<tr{mark}>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    words = "Epsilon at several deltas: at least, by the audit; at most, by the guarantee. All rows hold at once."
    table = f"<table>\n<caption>{words}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n"
    return '<div class="scroll">\n' + table + "\n".join(rows) + "\n</tbody>\n</table>\n</div>"


def _list(lines: list[str]) -> str:
    return "<ul>\n" + "".join(f"<li>{escape(line)}</li>\n" for line in dict.fromkeys(lines)) + "</ul>"


def _section(title: str, body: str) -> str:
    return f"<h2>{title}</h2>\n{body}"
