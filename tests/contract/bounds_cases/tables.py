"""Plans of tables: every relation of neighbours, every kind of statement, sessions.

Persons have few cells and few records, so that the worst choice is listed in full and no search is cut short.
"""

from typing import Any

from tests.contract.bounds_cases.draws import Draw, kind, refused

import quiltwork as qw
from quiltwork import tables
from quiltwork.tables import Cat, Date, Float, Id, Int, Plan, SubsetOf, Table, add_remove, on_input, on_table


def _people() -> Any:
    return Table(
        region=Cat("N", "S", "E"),
        age=Int(0, 9),
        ward=Cat("A", "B", nullable=True),
        tags=SubsetOf(range(4), max_size=2),
        day=Int(0, 9),
        person=Id(),
    )


def _loss(draw: Draw, family: str) -> Any:
    make = {
        "pure": lambda: qw.pure(draw.share(0.02, 0.8)),
        "gdp": lambda: qw.gdp(draw.share(0.02, 0.8)),
        "zcdp": lambda: qw.zcdp(draw.power(-4, -1)),
        "laplace": lambda: qw.laplace(draw.share(2, 20), 1.0),
        "gaussian": lambda: qw.gaussian(draw.share(2, 20), 1.0),
        "approximate": lambda: qw.approximate(draw.share(0.02, 0.5), draw.power(-12, -9)),
    }
    return make[draw.pick(list(make)) if family == "any" else family]()


def _where(draw: Draw, t: Any) -> Any:
    return draw.pick([
        lambda: None,
        lambda: t.region.isin(["N", "S"]),
        lambda: t.region == draw.pick(["N", "S", "E"]),
        lambda: t.age.between(draw.whole(0, 3), draw.whole(5, 9)),
        lambda: (t.age < draw.whole(2, 8)) & (t.region != "E"),
        lambda: (t.ward == "A") | (t.age >= draw.whole(5, 9)),
        lambda: ~t.ward.is_null() & t.tags.has(draw.whole(0, 3)),
        lambda: t.tags.has(draw.whole(0, 3)),
    ])()  # fmt: skip


def _asked(found: Any, draw: Draw, beta: bool = False) -> Any:
    return {
        "epsilon": found.epsilon(draw.power(-9, -3)), "delta": found.delta(draw.share(0.1, 2)),
        "beta": found.beta(draw.share(0.01, 0.4)) if beta else None, "exact": found.exact,
        "touched": found.touched(1e-6), "words": found,
    }  # fmt: skip


def _carried(found: Any, notion: Any, delta: float) -> Any:
    return found.to(notion).epsilon(delta)


def _spent(session: Any, name: str, **options: Any) -> None:
    session.spend(name, **options)


def _counts(draw: Draw, notion: Any, holds: Any, family: str, most: int = 5) -> Any:
    t = _people()
    plan = Plan(t, neighbors=notion)
    for index in range(draw.whole(1, most)):
        reads = draw.pick([None, ["age"], ["region"]])
        count = reads is None and draw.flip(0.7)
        plan.add(f"q{index}", where=_where(draw, t), loss=_loss(draw, family), holds=holds, count=count, reads=reads)
    if draw.flip():
        plan.split("by region", by=t.region, count=True, loss=_loss(draw, family), holds=holds)
    if draw.flip(0.4):
        plan.each("tags", of=t.tags, count=True, loss=_loss(draw, family), holds=holds)
    if draw.flip(0.4):
        plan.split("by age", by=t.age, edges=[0, 3, 6, 10], count=True, loss=_loss(draw, family), holds=holds)
    return plan


@kind("tables/add-remove", 12)
def _(draw: Draw) -> Any:
    return _asked(
        _counts(draw, add_remove(), on_input(add_remove()), draw.pick(["any", "pure", "gdp"])).guarantee(), draw
    )


@kind("tables/replace-one", 10)
def _(draw: Draw) -> Any:
    fixed = draw.pick([(), ("region",), ("age", "day")])
    plan = _counts(
        draw, tables.replace_one(fixed), on_input(add_remove()), draw.pick(["pure", "gdp", "zcdp", "laplace"])
    )
    return _asked(plan.guarantee(), draw)


@kind("tables/stated-for-replaced-rows", 4)
def _(draw: Draw) -> Any:
    t, one = _people(), tables.replace_one(["region"] if draw.flip(0.8) else [])
    plan = Plan(t, neighbors=one)
    plan.split("by region", by=t.region, count=True, loss=_loss(draw, "pure"), holds=on_input(one))
    plan.add("sum", reads=["age"], loss=_loss(draw, "gaussian"), holds=on_input(one))
    return _asked(plan.guarantee(), draw)


@kind("tables/user", 8)
def _(draw: Draw) -> Any:
    t = Table(a=Cat("x", "y", "z"), day=Int(0, 3), person=Id())
    most = draw.whole(1, 3)
    plan = Plan(t, neighbors=tables.user("person", max_records=most, max_per=draw.pick([None, None, {"day": 1}])))
    family = draw.pick(["pure", "gdp", "zcdp"])
    for index in range(draw.whole(1, 3)):
        where = t.a.isin(["x", "y"] if draw.flip() else ["z"])
        plan.add(f"q{index}", where=where, count=True, loss=_loss(draw, family), holds=on_input(add_remove()))
    plan.split("days", by=t.day, count=True, loss=_loss(draw, family), holds=on_input(add_remove()))
    return _asked(plan.guarantee(), draw)


@kind("tables/user-whole", 5)
def _(draw: Draw) -> Any:
    t = Table(a=Cat("x", "y", "z"), person=Id())
    notion = tables.user("person", max_records=draw.whole(1, 3))
    plan = Plan(t, neighbors=notion)
    family = draw.pick(["pure", "gdp"])
    for value in ("x", "y", "z"):
        plan.add(value, where=t.a != value, loss=_loss(draw, family), holds=on_input(notion))
    plan.add("all", loss=_loss(draw, family), holds=on_table)
    return _asked(plan.guarantee(), draw, beta=True)


@kind("tables/window", 6)
def _(draw: Draw) -> Any:
    t = _people()
    notion = tables.window("day", draw.whole(1, 4), draw.pick([None, 1, 2]))
    plan = Plan(t, neighbors=notion)
    for start in range(draw.whole(2, 6)):
        plan.add(
            f"days {start}", where=t.day.between(start, start + 3), loss=_loss(draw, "pure"), holds=on_input(notion)
        )
    return _asked(plan.guarantee(), draw, beta=True)


@kind("tables/entry", 6)
def _(draw: Draw) -> Any:
    columns = draw.pick([(), ("age",), ("region", "ward")])
    return _asked(
        _counts(draw, tables.entry(*columns), on_table, draw.pick(["pure", "gdp", "any"])).guarantee(), draw, beta=True
    )


@kind("tables/graph", 8)
def _(draw: Draw) -> Any:
    t = Table(kind=Cat("call", "mail"), weight=Int(0, 5))
    plan = Plan(t, neighbors=tables.edge())
    plan.split("edges", by=t.kind, count=True, loss=_loss(draw, "pure"), holds=on_input(tables.edge()))
    plan.add("heavy", where=t.weight > 2, count=True, loss=_loss(draw, "pure"), holds=on_input(tables.edge()))
    found, degree = plan.guarantee(), draw.whole(1, 5)
    notions = tables.edge(), tables.node(degree), tables.node(degree, rewire=False), tables.node(nodes=4)
    return {"edge": _asked(found, draw), **{repr(n): refused(_carried, found, n, 0.0) for n in notions}}


@kind("tables/metric", 6)
def _(draw: Draw) -> Any:
    t = Table(lat=Float(-90, 90), lon=Float(-180, 180), x=Int(0, 100))
    near, within = draw.pick([
        (tables.geo("lat", "lon"), 200.0), (tables.manhattan("x"), 5.0), (tables.euclidean("lat", "lon"), 2.0),
    ])  # fmt: skip
    notion = tables.metric(near, unit="m", within=within)
    plan = Plan(t, neighbors=notion)
    for index in range(draw.whole(1, 3)):
        plan.add(f"q{index}", loss=_loss(draw, "pure"), holds=on_input(notion))
    found = plan.guarantee()
    return {
        **_asked(found, draw, beta=True),
        "nearer": found.to(tables.metric(near, unit="m", within=within / 4)).epsilon(0.0),
    }


@kind("tables/free-lunch", 3)
def _(draw: Draw) -> Any:
    return _asked(_counts(draw, tables.free_lunch(), on_table, "pure").guarantee(), draw, beta=True)


@kind("tables/via", 8)
def _(draw: Draw) -> Any:
    t = _people()
    plan = Plan(t, neighbors=draw.pick([add_remove(), tables.user("person", max_records=2)]))
    family, stated = draw.pick(["pure", "gdp"]), on_input(add_remove())
    via = draw.pick([
        tables.flat_map("drugs", max_out=draw.whole(1, 5)), tables.join(truncate=(draw.whole(1, 2), draw.whole(1, 3))),
        tables.clip_rows("person", draw.whole(1, 3)),
    ])  # fmt: skip
    plan.add("mapped", via=via, loss=_loss(draw, family), holds=stated)
    opaque = tables.opaque("risk above 0.8", stability=draw.whole(1, 2))
    plan.add("opaque", where=opaque, count=True, loss=_loss(draw, family), holds=stated)
    plan.add("next", where=t.region == "N", count=True, loss=_loss(draw, family), holds=stated, adaptive=draw.flip())
    return _asked(plan.guarantee(), draw)


@kind("tables/another-notion", 8)
def _(draw: Draw) -> Any:
    found = _counts(draw, add_remove(), on_input(add_remove()), draw.pick(["pure", "gdp"]), 3).guarantee()
    notions = (
        tables.replace_one(), tables.replace_one(["region"]), tables.entry("age"), tables.user("person", 1),
        tables.window("day", 2),
    )  # fmt: skip
    return {repr(notion): refused(_carried, found, notion, 1e-6) for notion in notions}


@kind("tables/persons", 4)
def _(draw: Draw) -> Any:
    t = Table(a=Cat(*range(6)), person=Id())
    plan = Plan(t, neighbors=tables.user("person", max_records=draw.whole(2, 3)))
    family = draw.pick(["pure", "zcdp"])
    for index in range(draw.whole(3, 6)):
        members = [c for c in range(6) if draw.flip(0.4)] or [draw.whole(0, 5)]
        holds = on_input(draw.pick([tables.user("person", max_records=3), add_remove()]))
        plan.add(f"q{index}", where=t.a.isin(members), count=True, loss=_loss(draw, family), holds=holds)
    return _asked(plan.guarantee(), draw)


@kind("tables/cover", 6)
def _(draw: Draw) -> Any:
    t = Table(a=Cat(*range(20)), person=Id())
    notion = tables.user("person", max_records=4)
    plan, loss = Plan(t, neighbors=notion), _loss(draw, draw.pick(["pure", "gdp"]))
    for index in range(24):
        members = sorted({draw.whole(0, 19) for _ in range(3)})
        plan.add(f"q{index}", where=t.a.isin(members), count=True, loss=loss, holds=on_input(notion))
    return _asked(plan.guarantee(), draw)


@kind("tables/dist", 3)
def _(draw: Draw) -> Any:
    t = _people()
    notions = [
        add_remove(), tables.replace_one(), tables.user("person", draw.whole(1, 4)), tables.entry(),
        tables.entry("age"), tables.window("day", draw.whole(1, 3), 2), tables.free_lunch(),
    ]  # fmt: skip
    return {f"{a!r} for {b!r}": refused(tables.dist, a, b, t) for a in notions for b in notions}


@kind("tables/session", 8)
def _(draw: Draw) -> Any:
    t, family = _people(), draw.pick(["pure", "zcdp", "gdp"])
    notion = draw.pick([add_remove(), tables.replace_one()])
    session = Plan(t, neighbors=notion).session(getattr(qw, family)(draw.share(0.5, 1.5)))
    found = []
    for index in range(6):
        where, loss = (
            t.region.isin(draw.pick([["N"], ["S", "E"], ["N", "S"]])),
            getattr(qw, family)(draw.share(0.05, 0.6)),
        )
        stated = on_input(add_remove())
        told = refused(_spent, session, f"q{index}", where=where, count=True, loss=loss, holds=stated)
        found.append([told, session.spent, session.left])
    return {"spent": found, "epsilon": session.guarantee().epsilon(1e-6), "words": session.guarantee()}


@kind("tables/persons-priced", 4)
def _(draw: Draw) -> Any:
    t = Table(a=Cat(*range(16)), person=Id())
    notion = tables.user("person", max_records=4)
    plan = Plan(t, neighbors=notion)
    family = draw.pick(["gdp", "zcdp", "pure"])
    for index in range(14):
        members = [c for c in range(16) if draw.flip(0.25)] or [draw.whole(0, 15)]
        holds = on_input(notion if draw.flip(0.7) else add_remove())
        plan.add(f"q{index}", where=t.a.isin(members), count=True, loss=_loss(draw, family), holds=holds)
    return _asked(plan.guarantee(), draw)


@kind("tables/many-intervals", 2)
def _(draw: Draw) -> Any:
    t = Table(minute=Int(0, 1440))
    plan = Plan(t, neighbors=draw.pick([add_remove(), tables.replace_one()]))
    for index in range(260):
        start = draw.whole(0, 1300)
        where, loss = t.minute.between(start, start + draw.whole(5, 130)), qw.pure(draw.pick([0.01, 0.02]))
        plan.add(f"q{index}", where=where, count=True, loss=loss, holds=on_input(add_remove()))
    found = plan.guarantee()
    return {"epsilon": found.epsilon(1e-6), "all": found.epsilon(0.0), "exact": found.exact, "words": found}


@kind("tables/many-cells", 3)
def _(draw: Draw) -> Any:
    t = Table(a=Int(0, 99), b=Int(0, 99), c=Int(0, 99), d=Int(0, 99), person=Id())
    notion = draw.pick([add_remove(), tables.user("person", max_records=2)])
    plan, family = Plan(t, neighbors=notion), "gdp"
    for index in range(28):
        column = t[("a", "b", "c", "d")[index % 4]]
        start = draw.whole(0, 70)
        where = column.between(start, start + draw.whole(5, 30))
        plan.add(f"q{index}", where=where, count=True, loss=_loss(draw, family), holds=on_input(add_remove()))
    return _asked(plan.guarantee(), draw)


@kind("tables/days", 3)
def _(draw: Draw) -> Any:
    t = Table(day=Date("2026-01-01", "2026-03-31"), ward=Cat("A", "B", nullable=True)).rows(10, draw.pick([20, 30]))
    notion = draw.pick([add_remove(), tables.window("day", draw.whole(1, 7))])
    plan = Plan(t, neighbors=notion)
    edges = ["2026-01-01", "2026-02-01", "2026-03-01", "2026-04-01"]
    plan.split("months", by=t.day, edges=edges, loss=_loss(draw, "pure"), holds=on_input(notion))
    plan.split("wards", by=t.ward, loss=_loss(draw, "pure"), holds=on_input(notion))
    return _asked(plan.guarantee(), draw)
