"""The table of rights in docs/editor.md, message by message and role by role, on a real server."""

import json
import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from mjrig.editor.web import server as serving
from mjrig.editor.web.browsers import Browser
from mjrig.editor.web.protocol import BINARY_MESSAGES, GREETING, MESSAGES, REQUESTS, Role
from tests.editor.web.chromium import Line
from tests.editor.web.live_bench import Bench, Page, live_bench
from tests.places import DOCS

#: One right message of every type.
EXAMPLES: dict[str, Any] = {
    "a": ["a", 1, 0],
    "take": ["take"],
    "give": ["give", 0],
    "deny": ["deny", 0],
    "m": ["m", 10, 10, 1],
    "b": ["b", 1, 0, 1],
    "w": ["w", 0, 1, 0, 1],
    "k": ["k", "KeyA", True, 0, 1],
    "t": ["t", "x", 1],
    "p": ["p", "pasted", 1],
    "f": ["f", True],
    "r": ["r", 900, 700, 1],
    "g": ["g", [0, 0, 0]],
    "drop": ["drop", 1, 1, [["a.xml", 3]]],
    "dropped": ["dropped"],
    "nodrop": ["nodrop"],
    "1": b"\x01\x05\x00a.xmlabc",
    "2": b"\x02\x89PNG",
}
#: The columns of the table.
COLUMNS = [Role.COMMANDER, Role.OWNER, Role.LENT, Role.VIEWER, Role.STRANGER]


def _table() -> dict[str, dict[Role, bool]]:
    """The table as the documentation has it: whether each role may send each message."""
    page = (DOCS / "editor.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"\| message \|[^\n]*\n\|[-|]+\n((?:\|[^\n]*\n)+)", page)
    rows = {}
    for line in table.splitlines():
        name, _, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert all(cell.startswith(("yes", "no")) for cell in cells), line
        rights = dict(zip(COLUMNS, (cell.startswith("yes") for cell in cells), strict=True))
        for word in re.findall(r"`([^`]+)`", name):
            rows[word] = rights
    return rows


def test_the_table_lists_every_message_as_the_code_declares_it() -> None:
    declared = {name: kind.roles for name, kind in MESSAGES.items()}
    declared |= {str(first): kind.roles for first, kind in BINARY_MESSAGES.items()}
    declared |= {f"GET {path}": roles for path, roles in REQUESTS.items()}
    declared[GREETING] = frozenset({Role.STRANGER})
    shown = {
        name: frozenset(role for role, may in rights.items() if may)
        for name, rights in _table().items()
    }
    assert shown == declared
    assert EXAMPLES.keys() == MESSAGES.keys() | set(map(str, BINARY_MESSAGES))


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with live_bench(tmp_path_factory.mktemp("rights")) as live:
        yield live


@pytest.fixture
def owner(bench: Bench) -> Iterator[Page]:
    """The page of an owner, which commands."""
    page = bench.page()
    bench.until(lambda: page.texts.get("role") == "command")
    yield page
    if page in bench.pages:
        bench.leave(page)


def _newest(bench: Bench) -> Browser:
    return max(bench.screen.audience.browsers, key=lambda browser: browser.number)


def _page(bench: Bench, role: Role, owner: Page) -> Page:
    tokens = bench.screen.server.tokens
    if role is Role.COMMANDER:
        return owner
    page = bench.page(tokens.command if role is Role.OWNER else tokens.watch)
    if role is Role.LENT:
        owner.line.send(["give", _newest(bench).number])
        bench.until(lambda: page.texts.get("role") == "command")
    bench.turn(2)
    return page


@pytest.mark.parametrize("role", [r for r in COLUMNS if r is not Role.STRANGER], ids=str)
def test_the_server_keeps_to_the_table(
    bench: Bench, owner: Page, role: Role, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = _page(bench, role, owner)
    browser, table = _newest(bench), _table()
    assert browser.role is role
    arrived: list[Any] = []
    applied: list[Any] = []
    hear, screen = bench.screen._hear, bench.screen
    with monkeypatch.context() as patch:
        patch.setattr(screen, "_hear", lambda b, m: (hear(b, m), arrived.append(b)))
        patch.setattr(screen, "_apply", lambda b, m: applied.append(b))
        patch.setattr(
            browser,
            "acknowledge",
            lambda seq, held: (applied.append(browser), arrived.append(browser)),
        )
        page.acknowledges = False
        for name, message in EXAMPLES.items():
            arrived.clear()
            applied.clear()
            page.line.send(message)
            bench.until(lambda: browser in arrived)
            assert (browser in applied) == table[name][role], name
        page.line.send({GREETING: bench.screen.server.tokens.command})  # no second greeting
        bench.until(lambda: page.closed == 1008)
        page.acknowledges = True
    assert not table[GREETING][role]
    if page is not owner:
        bench.leave(page)


def test_a_stranger_sends_nothing_but_the_token(
    bench: Bench, owner: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "_PENALTY", 0.0)
    place, table = f"127.0.0.1:{bench.screen.server.port}", _table()
    before = len(bench.screen.audience.browsers)
    for name, message in EXAMPLES.items():
        assert not table[name][Role.STRANGER]
        line = Line(f"ws://{place}/live", Origin=f"http://{place}")
        line.send(message)
        answer = line.receive(60.0)
        assert answer is not None and int.from_bytes(answer.payload[:2], "big") == 4403
        line.close()
    bench.turn(2)
    assert len(bench.screen.audience.browsers) == before


def _status(bench: Bench, path: str, token: str) -> int:
    host = f"127.0.0.1:{bench.screen.server.port}"
    header = f"Authorization: Bearer {token}\r\n" if token else ""
    with socket.create_connection(("127.0.0.1", bench.screen.server.port), 60.0) as line:
        line.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{header}\r\n".encode())
        return int(line.recv(65536).split()[1])


@pytest.mark.parametrize("role", COLUMNS, ids=str)
def test_requests_for_files_keep_to_the_table(bench: Bench, owner: Page, role: Role) -> None:
    page, table = owner, _table()
    if role is not Role.STRANGER:
        page = _page(bench, role, owner)
    tokens = bench.screen.server.tokens
    by_link = {Role.STRANGER: "", Role.LENT: tokens.watch, Role.VIEWER: tokens.watch}
    token = by_link.get(role, tokens.command)
    offered = bench.screen.offers.add(bench.editor.state.scene.path)  # type: ignore[arg-type]
    mesh = next(iter(bench.screen.assets._bodies), "x")
    for path, name in (
        ("/", "/"),
        (f"/asset/{mesh}", "/asset/"),
        (f"/download/{offered['id']}", "/download/"),
    ):
        status = _status(bench, path, token)
        assert (status in (200, 404)) == table[f"GET {name}"][role], (path, status)
    if page is not owner:
        bench.leave(page)


# Who commands -------------------------------------------------------------------------------------


def test_a_view_link_never_takes_the_command_by_itself(bench: Bench, owner: Page) -> None:
    """Not beside an owner, not when the owner is gone, not when it was there first."""
    watcher = bench.page(bench.screen.server.tokens.watch)
    bench.turn(2)
    watcher.line.send(["take"])
    bench.until(lambda: "asks" in owner.texts)
    bench.leave(owner)
    watcher.line.send(["take"])
    watcher.line.send(["p", "pasted by a watcher", 1])
    watcher.line.send(["drop", 100, 100, [["evil.py", 10]]])
    bench.hear(watcher)
    assert bench.screen.audience.commander is None
    assert watcher.texts["role"] == "watch" and watcher.texts["owners"] == 0
    assert bench.screen._copied != "pasted by a watcher"
    assert not bench.screen._uploads.dialog.is_open
    again = bench.page()
    bench.until(lambda: again.texts.get("role") == "command")
    bench.until(lambda: watcher.texts["owners"] == 1)
    bench.leave(watcher)
    bench.leave(again)


def test_an_owner_takes_back_what_was_lent(bench: Bench, owner: Page) -> None:
    lent = _page(bench, Role.LENT, owner)
    second = bench.page()
    bench.hear(second)
    assert second.texts["role"] == "watch" and lent.texts["role"] == "command"
    bench.leave(owner)  # another owner is there: the loan lasts
    bench.hear(lent)
    assert lent.texts["role"] == "command"
    second.line.send(["take"])
    bench.until(lambda: second.texts["role"] == "command" and lent.texts["role"] == "watch")
    bench.leave(second)
    bench.leave(lent)


def test_a_loan_ends_with_the_last_owner(bench: Bench, owner: Page) -> None:
    lent = _page(bench, Role.LENT, owner)
    bench.leave(owner)
    bench.until(lambda: lent.texts["role"] == "watch")
    assert bench.screen.audience.commander is None
    lent.line.send(["r", 500, 500, 1])
    bench.hear(lent)
    assert bench.screen._size != (500.0, 500.0)
    bench.leave(lent)


def test_a_lent_page_cannot_lend(bench: Bench, owner: Page) -> None:
    watcher = bench.page(bench.screen.server.tokens.watch)
    number = _newest(bench).number
    lent = _page(bench, Role.LENT, owner)
    lent.line.send(["give", number])
    watcher.line.send(["take"])
    bench.until(lambda: "asks" in owner.texts)  # the owner is asked, not the page that commands
    bench.hear(lent)
    bench.hear(watcher)
    assert "asks" not in lent.texts and lent.texts["role"] == "command"
    assert watcher.texts["role"] == "watch"
    bench.leave(lent)
    bench.leave(watcher)


@pytest.fixture
def requests(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Requests for the command that were sent: the owner's number and the page's."""
    sent: list[tuple[int, int]] = []
    plain = Browser.send_text

    def send(browser: Browser, text: str) -> None:
        if "asks" in (message := json.loads(text)):
            sent.append((browser.number, message["asks"]["number"]))
        plain(browser, text)

    monkeypatch.setattr(Browser, "send_text", send)
    return sent


def test_asking_again_changes_nothing_until_an_owner_answers(
    bench: Bench, owner: Page, requests: list[tuple[int, int]]
) -> None:
    first = _newest(bench).number
    watcher = bench.page(bench.screen.server.tokens.watch)
    number = _newest(bench).number

    def flood() -> None:
        for _ in range(200):
            watcher.line.send(["take"])
        bench.hear(watcher)

    flood()
    bench.until(lambda: requests == [(first, number)])
    owner.line.send(["deny", number])
    bench.hear(owner)
    flood()
    bench.until(lambda: requests == [(first, number)] * 2)
    second = bench.page()  # the owner who commands was asked
    last = _newest(bench).number
    bench.turn(3)
    assert requests == [(first, number)] * 2
    bench.leave(owner)  # without an answer: the other owner is asked
    bench.until(lambda: requests[2:] == [(last, number)])
    flood()
    second.line.send(["give", number])
    bench.until(lambda: watcher.texts["role"] == "command")
    second.line.send(["take"])
    bench.until(lambda: watcher.texts["role"] == "watch")
    flood()
    bench.until(lambda: requests[3:] == [(last, number)])
    bench.leave(second)
    flood()  # nobody is there to ask
    third = bench.page()
    bench.turn(3)
    assert len(requests) == 4
    bench.leave(third)
    bench.leave(watcher)
