"""One list for the desktop and the browser, and one language for the server and its page."""

import inspect
import re
from typing import Any, get_type_hints

import mujoco
import pytest
from imgui_bundle import imgui

from mjrig.editor.desktop import Desktop
from mjrig.editor.viewport.gl_view import GLView
from mjrig.editor.viewport.scene_renderer import NullView, SceneRenderer
from mjrig.editor.web import draw_lists, input_events, protocol, web_view
from mjrig.editor.web import draw_lists as textures
from mjrig.editor.web.live_window import LiveWindow
from mjrig.editor.web.web_view import WebView
from mjrig.editor.window.window import Screen
from tests.places import ROOT

PAGE = ROOT / "editor" / "web" / "page"
needs_page = pytest.mark.skipif(not PAGE.is_dir(), reason="there is no checkout beside the tests")


def _listed(protocol: type) -> dict[str, Any]:
    return {n: f for n, f in vars(protocol).items() if inspect.isfunction(f) and n[0] != "_"}


@pytest.mark.parametrize(
    ("protocol", "kind"),
    [
        (Screen, Desktop), (Screen, LiveWindow),
        (SceneRenderer, GLView), (SceneRenderer, WebView), (SceneRenderer, NullView),
    ],
)  # fmt: skip
def test_the_desktop_and_the_page_do_all_that_is_listed(protocol: type, kind: type) -> None:
    listed = _listed(protocol)
    assert len(listed) >= 3
    for name, wanted in listed.items():
        found = getattr(kind, name)
        assert list(inspect.signature(found).parameters) == list(
            inspect.signature(wanted).parameters
        ), name
        assert get_type_hints(found).keys() == get_type_hints(wanted).keys(), name


def test_the_window_uses_all_that_is_listed() -> None:
    """What nobody asks a screen for would not belong in the list, nor work anywhere."""
    from mjrig.editor.window import window

    text = inspect.getsource(window.window_on)
    assert [name for name in _listed(Screen) if f"screen.{name}" not in text] == []


def _text(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")


def _numbers(text: str, names: str) -> dict[str, int]:
    return {n: int(v) for n, v in re.findall(rf"\b({names}) ?[=:] ?(\d+)", text)}


@needs_page
def test_the_page_and_the_server_count_alike() -> None:
    text = _text("messages.js")
    kinds = _numbers(text, "FRAME|TEXTURE|SCENE|FREE|SCENE_ONLY|HEAD|LIGHT|GEOM")
    assert kinds == {
        "FRAME": draw_lists.FRAME, "SCENE_ONLY": draw_lists.SCENE_ONLY,
        "TEXTURE": textures.TEXTURE, "FREE": textures.FREE, "SCENE": web_view.SCENE,
        "HEAD": web_view.HEAD, "LIGHT": web_view.LIGHT, "GEOM": web_view.GEOM,
    }  # fmt: skip
    parts = _numbers(text, "VERTICES|INDICES|COMMANDS|DIFFERENCE|FLOATS|WIDE")
    assert parts == {name: getattr(draw_lists, name) for name in parts} and len(parts) == 6
    shaders = _numbers(_text("world/shaders.js"), "MOST_LIGHTS")
    assert shaders == {"MOST_LIGHTS": web_view.MOST_LIGHTS}


@needs_page
def test_the_page_knows_what_mujoco_draws() -> None:
    (text,) = re.findall(r"export const FLAGS = \{(.*?)\}", _text("messages.js"), re.DOTALL)
    theirs = {
        name.removeprefix("mjRND_"): 1 << int(value)
        for name, value in mujoco.mjtRndFlag.__members__.items()
        if name not in ("mjNRNDFLAG", "mjRND_POST_PROCESSING")  # of MuJoCo's other renderer
    }
    names = {"WIRE": "WIREFRAME", "CULL": "CULL_FACE"}
    ours = {names.get(n, n): v for n, v in _numbers(text, r"\w+").items()}
    assert ours == theirs


@needs_page
def test_the_page_hears_all_that_it_is_told() -> None:
    files = (ROOT / "editor" / "web").glob("*.py")
    told = {
        word
        for file in files
        for word in re.findall(r'(?:tell|dumps|role =)\(? ?\{\s*"(\w+)"', file.read_text())
    }
    told |= {"model"}
    heard = set(re.findall(r"message\.(\w+) !== undefined", _text("main.js")))
    assert told == heard


def _texts() -> str:
    return "".join(file.read_text(encoding="utf-8") for file in PAGE.glob("*.js"))


@needs_page
def test_the_server_hears_all_that_the_page_says() -> None:
    sent = set()
    for file in PAGE.glob("*.js"):
        sent |= set(re.findall(r'(?:\.send|\.input)\("(\w+)"', file.read_text(encoding="utf-8")))
    assert sent == protocol.MESSAGES.keys()
    assert f"% 0x{protocol.INPUT_NUMBERS:x};" in _text("connection.js")
    greeting = re.findall(r"JSON\.stringify\(\{ (\w+):", _text("connection.js"))
    assert greeting == [protocol.GREETING]
    first_bytes = re.findall(r"(?:part\.set\(\[|message\[0\] = |Uint8Array\(\[)(\d)", _texts())
    assert set(map(int, first_bytes)) == protocol.BINARY_MESSAGES.keys()
    requested = set(re.findall(r"fetch\(`(\w+)/", _texts()))
    assert {f"/{name}/" for name in requested} == protocol.REQUESTS.keys() - {"/"}


@needs_page
def test_every_cursor_of_the_editor_has_a_shape_in_the_page() -> None:
    (text,) = re.findall(r"const CURSORS = \[(.*?)\]", _text("input.js"))
    assert len(text.split(",")) == int(imgui.MouseCursor_.count)


@needs_page
def test_keys_of_the_page_are_known() -> None:
    text = _text("keyboard.js")
    signs = re.findall(r'"(?:.|\\\\)": "(\w+)"', text)
    assert len(signs) == 11 and [n for n in signs if n not in input_events._KEYS] == []
