"""Pages as a test reads them: forms with their fields, visible words, and what a strict policy would block."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import attrs
from starlette.testclient import TestClient
from tests.web.served import House

from quiltwork.web.app import create_app

BASE = "http://127.0.0.1:8765"
EMPTY = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


@attrs.define
class Form:
    """One form: where it goes, how, and what it would send as it stands."""

    action: str
    method: str
    fields: dict[str, str] = attrs.Factory(dict)
    buttons: list[dict[str, str]] = attrs.Factory(list)


class Page(HTMLParser):
    """What a page holds."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[Form] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.cells: list[list[str]] = []
        self.ids: list[str] = []
        self._form: Form | None = None
        self._area: str | None = None
        self._select: str | None = None
        self._words: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    @property
    def words(self) -> str:
        """Everything that is shown, white space squeezed."""
        return " ".join(" ".join(self._words).split())

    def handle_starttag(self, tag: str, given: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in given}
        self.tags.append((tag, found))
        if tag not in EMPTY:
            self.open.append(tag)
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "form":
            self._form = Form(found.get("action", ""), found.get("method", "get").lower())
            self.forms.append(self._form)
        elif tag == "tr":
            self.cells.append([])
        elif tag in ("td", "th") and self.cells:
            self.cells[-1].append("")
        elif self._form is not None:
            self._field(tag, found)

    def _field(self, tag: str, found: dict[str, str]) -> None:
        assert self._form is not None
        name = found.get("name", "")
        if tag == "button":
            self._form.buttons.append(found)
        elif tag == "textarea":
            self._area = name
            self._form.fields[name] = ""
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select is not None:
            if "selected" in found or self._select not in self._form.fields:
                self._form.fields[self._select] = found["value"]
        elif tag == "input" and name and found.get("type") not in ("checkbox", "radio"):
            self._form.fields[name] = found.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        last = self.open.pop()
        while last in ("p", "li", "option", "tr", "td", "th", "dt", "dd") and last != tag:
            last = self.open.pop()
        assert last == tag, f"</{tag}> closes <{last}>"
        if tag == "form":
            self._form = None
        elif tag == "textarea":
            self._area = None
        elif tag == "select":
            self._select = None

    def handle_data(self, data: str) -> None:
        if self._area is not None and self._form is not None:
            self._form.fields[self._area] += data
        if self.open and self.open[-1] not in ("script", "style"):
            self._words.append(data)
            if self.cells and self.cells[-1] and any(tag in ("td", "th") for tag in self.open):
                self.cells[-1][-1] = " ".join((self.cells[-1][-1] + " " + data).split())

    def form(self, action: str, act: str | None = None) -> Form:
        """The form that goes there."""
        return next(
            one
            for one in self.forms
            if one.action.partition("#")[0] == action and one.method == "post" and act in (None, one.fields.get("act"))
        )

    def has(self, action: str) -> bool:
        """Whether a form or a button goes there."""
        buttons = [button.get("formaction") for one in self.forms for button in one.buttons]
        return action in buttons or any(
            one.action.partition("#")[0] == action and one.method == "post" for one in self.forms
        )


class Browser:
    """A client that reads pages, fills forms and keeps cookies."""

    def __init__(self, house: House, role: str | None = None, **more: Any) -> None:
        self.client = TestClient(create_app(house.settings(**more)), base_url=BASE, follow_redirects=False)
        if role is not None:
            self.sign_in(house.tokens[role])

    def sign_in(self, token: str) -> Any:
        form = self.page("/sign-in").form("/sign-in")
        return self.client.post("/sign-in", data={**form.fields, "token": token})

    def page(self, address: str, status: int = 200) -> Page:
        answer = self.client.get(address)
        assert answer.status_code == status, (address, answer.status_code, answer.headers.get("location"))
        return Page(answer.text)

    def send(self, form: Form, to: str | None = None, **fields: Any) -> Any:
        """Send a form, with some of its fields changed."""
        data = {**form.fields, **{name.replace("__", "."): value for name, value in fields.items()}}
        return self.client.post((to or form.action).partition("#")[0], data=data)

    def follow(self, answer: Any) -> Page:
        """The page that a form which was accepted leads to."""
        assert answer.status_code == 303, Page(answer.text).words
        return self.page(answer.headers["location"])
