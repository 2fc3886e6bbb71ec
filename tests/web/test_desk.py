"""The officer's desk: totals, history with a filter and as CSV, people and tokens, reservations, releases, reports."""

import csv
import io
import re

import pytest
from starlette.testclient import TestClient
from tests.web.served import furnished

import quiltwork as qw
from quiltwork import pufferfish as pf
from quiltwork.web import create_app
from quiltwork.web.pages.releases import defused

LOCAL = "http://127.0.0.1:8765"
PLAN = """quiltwork: 1
table: {columns: {region: {cat: [n, s]}, age: {int: [0, 99]}}}
neighbors: add_remove
queries: [{name: by region, count: {by: region}, noise: {laplace: 10.0}}]
"""
DATA = "region,age\n" + "n,30\ns,40\n" * 20


@pytest.fixture
def house(tmp_path):
    return furnished(f"sqlite:///{tmp_path}/budgets.db")


@pytest.fixture
def client(house):
    with TestClient(create_app(house.settings()), base_url=LOCAL) as found:
        yield found


def read(client, house, path, role="viewer"):
    answer = client.get(path, headers=house.headers(role))
    assert answer.status_code == 200, answer.text
    return answer.text


def test_totals_add_limits_and_what_was_spent_of_budgets_about_the_same(client, house):
    text = read(client, house, "/desk")
    row = re.search(r"<tr>\s*<th scope=\"row\" class=\"break\">one person</th>.*?</tr>", text, re.S).group()
    # small 0.1, planned 3 at 1e-6 and closed 1; zcdp and gdp state no epsilon
    assert "4.1</td>" in row
    assert "1e-6<" in row
    assert re.search(r"Not added[^<]*zcdp", row)
    assert re.search(r"Not added[^<]*gdp", row)


def test_budgets_about_secrets_are_never_added_up(client, house):
    """Two releases that each tell nothing about a secret can tell all of it together."""
    chain = pf.MarkovChain([[0.8, 0.2], [0.2, 0.8]])
    with house.ledger() as ledger:
        for name in ("first", "second"):
            ledger.open(name, epsilon=1.0, prior=chain)
        words = ledger.budget("first").terms.protects
    assert words not in read(client, house, "/desk")


def test_a_budget_that_is_nearly_spent_is_named(client, house):
    assert "No open budget is spent to 80%" in read(client, house, "/desk")
    spent = {"name": "small", "loss": {"laplace": {"scale": 12.0}}}
    assert client.post("/api/spend", json=spent, headers=house.headers("spender")).status_code == 201
    assert "No open budget is spent to 80%" not in read(client, house, "/desk")
    assert "of this budget is spent" in read(client, house, "/budget?name=small")


def test_refusals_are_shown_with_who_what_and_when(client, house):
    spent = {"name": "patients", "loss": {"gaussian": {"sigma": 40.0}}}
    assert client.post("/api/spend", json=spent, headers=house.headers("viewer")).status_code == 403
    text = read(client, house, "/history?kind=denied")
    assert "vera" in text
    assert "access denied" in text
    assert "vera" in read(client, house, "/desk")


def test_what_was_more_than_was_left_is_shown_with_who_what_and_when(client, house):
    asked = {"name": "small", "loss": {"pure": {"epsilon": 0.25}}, "times": 2}
    for _ in range(52):
        assert client.post("/api/spend", json=asked, headers=house.headers("spender")).status_code == 409
    text = read(client, house, "/refusals")
    for word in ("sam", "small", "epsilon 0.5", "epsilon 0.1", "2 x pure, epsilon 0.25"):
        assert word in text, word
    assert text.count("<tr>") == 51
    older = re.search(r'href="(/refusals[^"]*before=[^"]*)"', text).group(1)
    assert read(client, house, older.replace("&amp;", "&")).count("<tr>") == 3
    assert "small" in read(client, house, "/desk")
    assert "Nothing was refused" in read(client, house, "/refusals?name=patients")
    rows = list(csv.DictReader(io.StringIO(read(client, house, "/refusals.csv"))))
    assert len(rows) == 52
    assert (rows[0]["principal"], rows[0]["times"], rows[0]["remaining"]) == ("sam", "2", "epsilon 0.1")
    found = client.get("/api/refusals?limit=2&before=9", headers=house.headers("viewer")).json()
    assert [one["number"] for one in found] == [8, 7]
    assert client.get("/refusals", follow_redirects=False).status_code == 303


def test_the_history_is_filtered_paged_and_saved(client, house):
    everything = list(csv.reader(io.StringIO(read(client, house, "/history.csv"))))
    with house.ledger() as ledger:
        entries = list(ledger.history())
    assert [int(row[0]) for row in everything[1:]] == [entry.seq for entry in entries]
    spends = list(csv.reader(io.StringIO(read(client, house, "/history.csv?kind=spend&name=patients"))))
    assert [row[2:4] for row in spends[1:]] == [["patients", "spent"]]
    assert "counts by ward" in read(client, house, "/history?kind=spend")
    assert "No entry fits" in read(client, house, "/history?by=nobody")
    assert "counts by ward" not in read(client, house, "/history?kind=open")
    with house.ledger() as ledger:
        for _ in range(60):
            ledger.pause("gdp")
            ledger.resume("gdp")
    first = read(client, house, "/history?name=gdp")
    older = re.search(r'href="(/history\?[^"]*before=\d+)" rel="next"', first).group(1).replace("&amp;", "&")
    numbers = [set(re.findall(r'data-label="Entry">(\d+)<', text)) for text in (first, read(client, house, older))]
    assert len(numbers[0]) == 50
    assert not numbers[0] & numbers[1]


def test_no_cell_is_a_formula():
    assert [defused(cell) for cell in ("=1", "+1", "-1", "@a", "\t=1")] == ["'=1", "'+1", "'-1", "'@a", "'\t=1"]
    assert [defused(cell) for cell in ("a", -1, "")] == ["a", -1, ""]


def sent(client, house, path, form, role, **more):
    """A form as a browser that signed in sends it."""
    page = client.get("/sign-in").text
    word = re.search(r'name="csrf" value="([^"]+)"', page).group(1)
    client.post("/sign-in", data={"csrf": word, "token": house.tokens[role], "next": "/"})
    word = re.search(r'name="csrf" content="([^"]+)"', client.get("/people").text).group(1)
    return client.post(path, data={"csrf": word, **form}, **more)


def test_an_admin_admits_and_ends_tokens_on_the_page(client, house):
    shown = sent(client, house, "/people", {"act": "admit", "name": "nora", "role": "viewer"}, "admin")
    token = re.search(r"qw_[0-9a-f_]+", shown.text).group()
    assert client.get("/api/me", headers={"Authorization": f"Bearer {token}"}).json()["name"] == "nora"
    assert token not in client.get("/people").text
    sent(client, house, "/people", {"act": "revoke", "name": "nora"}, "admin")
    assert client.get("/api/me", headers={"Authorization": f"Bearer {token}"}).status_code == 401


def test_a_spender_admits_nobody(client, house):
    assert sent(client, house, "/people", {"act": "admit", "name": "x", "role": "admin"}, "spender").status_code == 403
    assert "Admit somebody" not in read(client, house, "/people", "spender")


def test_reservations_of_all_budgets_are_on_one_page(client, house):
    text = read(client, house, "/reservations")
    assert "zcdp" in text
    assert "held" in text
    assert "Start" not in text
    assert "Start" in read(client, house, "/reservations", "spender")  # it was made when the ledger was open to all
    with house.ledger() as ledger:
        ledger.refund(ledger.reservations()[0].seq)
        ledger.reserve("zcdp", qw.gaussian(10.0), lease=3600.0)
    for role, may in (("admin", True), ("spender", False)):
        for path in ("/reservations", "/desk", "/budget?name=zcdp"):
            text = read(client, house, path, role)
            assert "rho 0.005" in text
            assert ('value="refund"' in text) == may, (role, path)


def test_a_table_is_released_from_the_page_once_and_listed(client, house):
    with house.ledger() as ledger:
        ledger.open("tables", epsilon=1.0, protects=qw.add_remove())
    form = {"name": "tables", "plan": PLAN, "key": "june"}
    files = {"data": ("rows.csv", DATA, "text/csv")}
    shown = sent(client, house, "/releases", form, "spender", files=files)
    assert shown.status_code == 200, shown.text
    assert "by region" in shown.text
    with house.ledger() as ledger:
        spent = ledger.balance("tables").epsilon
        kept = ledger.result("tables", "june")
    assert spent == pytest.approx(0.1)
    again = sent(client, house, "/releases", form, "spender", files=files)
    assert again.status_code == 200
    with house.ledger() as ledger:
        assert ledger.balance("tables").epsilon == spent
    assert "june" in read(client, house, "/releases")
    rows = list(csv.DictReader(io.StringIO(read(client, house, "/release.csv?name=tables&key=june"))))
    assert [row["value"] for row in rows] == [str(row["value"]) for row in kept.rows]
    assert sent(client, house, "/releases", form | {"key": "july"}, "viewer", files=files).status_code == 403


def test_what_cannot_be_released_spends_nothing_and_shows_no_data(client, house):
    files = {"data": ("rows.parquet", "secret-cell", "text/csv")}
    shown = sent(client, house, "/releases", {"name": "small", "plan": PLAN}, "spender", files=files)
    assert shown.status_code == 422
    assert "Nothing was spent" in shown.text
    assert "secret-cell" not in shown.text
    assert client.get("/release?name=small&key=nothing", headers=house.headers("viewer")).status_code == 404


def test_an_uploaded_csv_file_is_text_whatever_is_in_it():
    """A person named abc must not make two persons of 007 and 7, who would be one among numbers."""
    from quiltwork.web.pages.releases import table_of

    head, rest = "person,age\n", '007,3\n7,"4\n5"\nNA,\n'
    found = [table_of("rows.csv", (start + rest).encode()).to_pydict() for start in (head, head + "abc,x\n")]
    assert found[0] == {"person": ["007", "7", "NA"], "age": ["3", "4\n5", None]}
    assert {name: values[1:] for name, values in found[1].items()} == found[0]


def test_the_report_of_a_budget_is_a_page_to_keep(client, house):
    answer = client.get("/budget/report?name=patients", headers=house.headers("viewer"))
    assert answer.status_code == 200
    assert "attachment" in answer.headers["content-disposition"]
    assert "patients" in answer.text
    assert "<script" not in answer.text


@pytest.mark.parametrize(
    "path", ["/desk", "/history", "/history.csv", "/people", "/reservations", "/releases", "/refusals"]
)
def test_strangers_see_none_of_it(client, path):
    assert client.get(path, follow_redirects=False).status_code == 303
