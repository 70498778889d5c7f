"""The command changes hands: nothing of the page that had it is applied afterwards."""

import json
import random
from collections.abc import Iterator

import pytest
from imgui_bundle import imgui

from mjrig.editor.web.browsers import Browser, Presence
from mjrig.editor.web.input_events import _KEYS
from mjrig.editor.web.protocol import MESSAGES, Event, parse
from tests.campaign import Tally
from tests.editor.web.live_bench import Bench, Page, live_bench
from tests.editor.web.messages import example

#: Ways in which a lent page loses the command.
WAYS = ("an owner takes", "an owner gives", "the page leaves", "the last owner leaves", "a frame")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with live_bench(tmp_path_factory.mktemp("handover")) as live:
        yield live


def _browser(bench: Bench, token: str = "") -> tuple[Page, Browser]:
    page = bench.page(token)
    return page, max(bench.screen.audience.browsers, key=lambda browser: browser.number)


def _burst(rng: random.Random) -> list[Event]:
    """Input of every kind, mostly keys and buttons, more than a frame applies."""
    events = []
    for _ in range(rng.randrange(20, 80)):
        kind = rng.choice(("k", "k", "k", "b", "t", "m", "w", "p", "f"))
        values = [example(field, rng) for field in MESSAGES[kind].fields]
        if kind == "k":
            values[0] = json.dumps(rng.choice(("KeyD", "Delete", "ShiftLeft", "Enter")))
        elif kind == "b":
            values[0] = str(rng.choice((1, -1, 2, -2)))
        elif kind in "tp":
            values[0] = '"typed"'
        events.append(parse(f"[{','.join((json.dumps(kind), *values))}]"))
    return events


def _pressed() -> list[str]:
    keys = [name for name, key in _KEYS.items() if imgui.is_key_down(key)]
    buttons = [f"button {i}" for i in range(5) if imgui.is_mouse_down(i)]
    return keys + buttons + ["ctrl"] * imgui.get_io().key_ctrl


def _lose(
    bench: Bench,
    way: str,
    owner: Browser,
    lent: Browser,
    other: Browser,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Let the page that was lent the command lose it in some way."""
    screen = bench.screen
    if way == "an owner takes":
        screen._hear(owner, ("take",))
    elif way == "an owner gives":
        screen._hear(owner, ("give", other.number))
    elif way == "a frame":
        with monkeypatch.context() as patch:
            patch.setattr(bench.window.app, "frame", lambda: 1 / 0)
            screen._last -= 2.0
            screen.turn(bench.window)
    else:
        leaver = lent if way == "the page leaves" else owner
        leaver.is_gone = True
        screen._hear(leaver, Presence.GONE)


@pytest.mark.campaign
def test_no_input_of_the_former_commander_is_applied(
    bench: Bench, tally: Tally, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither events that wait for a frame nor those that Dear ImGui has queued."""
    screen, tokens = bench.screen, bench.screen.server.tokens
    queued = pressed_before = 0
    for rng in tally.cases("handovers of the command", 15, 2_000):
        way = WAYS[tally.tried % len(WAYS)]
        owner, first = _browser(bench)
        bench.until(lambda: owner.texts.get("role") == "command")  # noqa: B023
        _, lent = _browser(bench, tokens.watch)
        _, second = _browser(bench, tokens.watch)
        screen._hear(first, ("give", lent.number))
        for event in _burst(rng):
            screen._hear(lent, event)
        for _ in range(rng.randrange(12)):
            screen._build(bench.window, 0.0)
        queued += screen.inputs.is_waiting
        pressed_before += bool(_pressed())
        screen._copied = imgui.get_clipboard_text()
        _lose(bench, way, first, lent, second, monkeypatch)
        clipboard, shown = imgui.get_clipboard_text(), screen.inputs.shown
        for _ in range(6):
            screen._build(bench.window, 0.0)
            if pressed := _pressed():
                tally.found(f"{way}: still pressed: {pressed}")
                break
        if screen.inputs.is_waiting or screen.inputs.shown != shown:
            tally.found(f"{way}: input is still queued")
        if imgui.get_clipboard_text() != clipboard:
            tally.found(f"{way}: the clipboard has changed")
        for page in bench.pages:
            page.line.close()
        bench.pages.clear()
        bench.until(lambda: not screen.audience.browsers and screen.audience.commander is None)
        for dialog in bench.window._dialogs:
            dialog.close()
        bench.editor.state.wants_to_close = False
    assert queued > tally.tried / 2 and pressed_before > 0  # else nothing was tried
