"""Keys, buttons, the cursor and the clipboard in Chromium, on keyboards of all kinds."""

import json
from typing import Any

import pytest

from tests.editor.web.browsing import Session
from tests.editor.web.chromium import PROGRAM, wait_for

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed (apt: chromium)"),
]

#: What the page does with a key: messages it sends, and whether the browser may go on with it.
_PRESS = """(() => {
  const sent = [], {connection} = mjrig, plain = connection.send;
  connection.send = (...message) => sent.push(message.slice(0, -1));
  Object.defineProperty(navigator, "platform", {value: %s, configurable: true});
  const event = new KeyboardEvent("keydown", {bubbles: true, cancelable: true, ...%s});
  document.getElementById("typing").dispatchEvent(event);
  delete navigator.platform;
  connection.send = plain;
  mjrig.input.keyboard.held.clear();
  return [sent, event.defaultPrevented];
})()"""
CTRL, ALT, CMD, SHIFT = (f"{name}Key" for name in ("ctrl", "alt", "meta", "shift"))
ALTGR = "modifierAltGraph"


def _down(name: str, mods: int = 0) -> list[Any]:
    return ["k", name, True, mods]


#: What is pressed: key, code, modifiers, system; the messages; whether the browser is kept from it.
KEYS: dict[str, tuple[str, str, tuple[str, ...], str, list[Any], bool]] = {
    "a letter": ("w", "KeyW", (), "", [_down("KeyW")], False),
    "German z": ("z", "KeyY", (), "", [_down("KeyZ")], False),
    "German Ctrl+Z": ("z", "KeyY", (CTRL,), "", [_down("KeyZ", 1)], True),
    "French Ctrl+A": ("a", "KeyQ", (CTRL,), "", [_down("KeyA", 1)], True),
    "French Shift+1": ("1", "Digit1", (SHIFT,), "", [_down("Digit1", 2)], False),
    "Russian Ctrl+Z": ("я", "KeyZ", (CTRL,), "", [_down("KeyZ", 1)], True),
    "Ctrl+Shift+Z": ("Z", "KeyZ", (CTRL, SHIFT), "", [_down("KeyZ", 3)], True),
    "German slash": ("/", "Digit7", (SHIFT,), "", [_down("Slash", 2)], False),
    "German AltGr+Q": ("@", "KeyQ", (ALTGR,), "", [], False),
    "Windows' AltGr is Ctrl+Alt": ("{", "Digit7", (CTRL, ALT), "Win32", [], False),
    "Ctrl+Alt+A": ("a", "KeyA", (CTRL, ALT), "", [_down("KeyA", 5)], True),
    "a German Mac's @": ("@", "KeyL", (ALT,), "MacIntel", [], False),
    "Alt+L elsewhere": ("l", "KeyL", (ALT,), "Linux x86_64", [_down("KeyL", 4)], True),
    "Cmd+Z": ("z", "KeyZ", (CMD,), "MacIntel", [_down("KeyZ", 1), ["k", "KeyZ", False, 1]], True),
    "Cmd": ("Meta", "MetaLeft", (CMD,), "MacIntel", [_down("ControlLeft", 1)], True),
    "a dead key": ("Dead", "BracketLeft", (), "", [], False),
    "an input method": ("Process", "KeyN", (), "", [], False),
    "a screen's keyboard": ("Unidentified", "", (), "", [], False),
    "paste": ("v", "KeyV", (CTRL,), "", [], False),
    "zoom": ("+", "BracketRight", (CTRL,), "", [], False),
    "reload": ("F5", "F5", (), "", [], False),
    "a function key": ("F12", "F12", (), "", [_down("F12")], True),
    "an arrow": ("ArrowLeft", "ArrowLeft", (), "", [_down("ArrowLeft")], True),
}


@pytest.mark.parametrize("name", KEYS)
def test_keys_of_every_layout(session: Session, name: str) -> None:
    key, code, held, system, sent, is_prevented = KEYS[name]
    event = {"key": key, "code": code, **dict.fromkeys(held, True)}
    found = session.tab.run(_PRESS % (json.dumps(system), json.dumps(event)))
    assert found == [sent, is_prevented]


def test_a_sign_of_the_third_level_is_typed(session: Session) -> None:
    tab, editor = session.tab, session.editor
    session.type_into("field filter (regex)")
    tab.key("[", "Digit8", 56, text="[")
    tab.key("é", "KeyE", 69, text="é")
    wait_for(lambda: editor.ask("window.gains.tuning.filter") == "[é", "typed")
    tab.run("""document.getElementById("typing").dispatchEvent(new InputEvent("beforeinput",
        {inputType: "deleteContentBackward", bubbles: true, cancelable: true}))""")
    wait_for(lambda: editor.ask("window.gains.tuning.filter") == "[", "a phone's keyboard deletes")
    tab.key("Backspace", "Backspace", 8)
    wait_for(lambda: editor.ask("window.gains.tuning.filter") == "", "emptied")
    tab.key("Escape", "Escape", 27)
    tab.pause()


def test_two_buttons_at_once_are_both_let_go(session: Session) -> None:
    tab, editor = session.tab, session.editor
    x, y, _, _ = session.view()
    at = (x + 30, y + 30)
    for kind, button, buttons, held in (
        ("Pressed", "left", 1, [True, False]),
        ("Pressed", "right", 3, [True, True]),
        ("Released", "left", 2, [False, True]),
        ("Released", "right", 0, [False, False]),
    ):
        tab.mouse(kind, *at, button, buttons=buttons, clickCount=1)
        now = "[__import__('imgui_bundle').imgui.is_mouse_down(i) for i in range(2)]"
        wait_for(lambda now=now, held=held: editor.ask(now) == held, f"{kind} {button}")
    tab.key("Escape", "Escape", 27)
    tab.pause()


def test_the_cursor_has_the_shape_of_what_is_under_it(session: Session) -> None:
    tab = session.tab
    session.bring_forward("Gains")
    x, y, _, height = session.view()
    places = {
        "text": session.editor.place("field filter (regex)"),
        "ew-resize": (x - 5, y + height / 2),
        "default": (x + 50, y + 50),
    }
    for shape, place in places.items():
        tab.mouse("Moved", *place)
        tab.wait_for(f"document.getElementById('canvas').style.cursor === {shape!r}")


def test_a_copied_text_reaches_a_clipboard_that_scripts_may_not_write(session: Session) -> None:
    """Neither localhost nor https: the browser takes a text only while the user does something."""
    tab = session.tab
    tab.run(
        """Object.defineProperty(navigator, "clipboard", {value: undefined, configurable: true});
        document.execCommand = () => false;
        mjrig.input.keyboard.copy("kp: 40");
        delete document.execCommand"""
    )
    assert not tab.run("mjrig.input.keyboard.isKept")
    tab.key("c", "KeyC", 67, 2)
    tab.wait_for("mjrig.input.keyboard.isKept")
    tab.run("delete navigator.clipboard")
    tab.do("Browser.grantPermissions", permissions=["clipboardReadWrite"])
    assert tab.run("navigator.clipboard.readText()") == "kp: 40"
    assert tab.run("document.getElementById('typing').value") == ""


def test_a_panel_of_somebody_else_works(session: Session) -> None:
    tab, editor = session.tab, session.editor
    count = "[p.count for p in window.app.panels if p.title == 'Counting']"
    session.bring_forward("Counting")
    wait_for(lambda: "button Count" in editor.ask("list(places)"), "drawn")
    tab.pause()
    tab.click(*editor.place("button Count"))
    wait_for(lambda: editor.ask(count) == [1], "clicked")
