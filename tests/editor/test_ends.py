"""Unsaved work survives every end of the editor but a decision of the user, on desktop and web."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mjrig.core.scene.editing.scene import Scene
from mjrig.editor.session.autosave import unsaved
from tests.editor.display import screen
from tests.editor.web.chromium import Line
from tests.editor.windows import SWINGS
from tests.places import ROOT

pytestmark = pytest.mark.slow
SCENE = SWINGS.replace("package:tests.editor/", "")
#: The scene after the edit that is autosaved at once, and after the one that follows.
FIRST, EDITED = (SCENE.replace("kp: 10,", f"kp: {kp},") for kp in (55, 77))
RECOVERABLE = "changes that are not saved are offered at the next start"


class Editors:
    """Editors in separate processes, one after the other."""

    def __init__(self, display: dict[str, str]) -> None:
        self._display = display
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.editor.ending_editors"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, kind: str, way: str, folder: Path, end: signal.Signals | None) -> tuple[int, str]:
        """Run an editor to its end, with a signal once it has edited: exit code and output."""
        (folder / "scene.yaml").write_text(SCENE)
        (folder / "pendulum.xml").write_bytes((ROOT / "tests/editor/pendulum.xml").read_bytes())
        names = ("MJRIG_STATE", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
        environment = {name: os.environ[name] for name in names}
        environment |= self._display if kind == "desktop" else {"CI": "1"}  # opens no browser
        web = ["--web", "--port", "0"] if kind == "web" else []
        arguments = ["edit", str(folder / "scene.yaml"), *web]
        request = {"arguments": arguments, "way": way, "environment": environment}
        stdin, stdout = self._server.stdin, self._server.stdout
        assert stdin is not None and stdout is not None
        print(json.dumps(request), file=stdin, flush=True)
        page, output, process = None, "", 0
        for line in stdout:
            output += line
            if line.startswith("process "):
                process = int(line.split()[1])
            elif line.startswith("the editor is at"):
                page = _page(line.split()[-1])
            elif line == "edited\n":
                if way == "page":
                    assert page is not None
                    page.close()
                if end is not None:
                    os.kill(process, end)
            elif line.startswith("exit "):
                if page is not None:
                    page.close()
                return int(line.split()[1]), output
        raise AssertionError(output)

    def close(self) -> None:
        """End the server of editors."""
        self._server.communicate()


@pytest.fixture(scope="module")
def editors() -> Iterator[Editors]:
    with screen() as environment:
        server = Editors({name: environment[name] for name in ("DISPLAY", "LIBGL_ALWAYS_SOFTWARE")})
        yield server
        server.close()


def _page(address: str) -> Line:
    """A page for which the window is drawn; it never acknowledges, and so gets a few frames."""
    place, _, token = address.partition("/#")
    line = Line(f"{place.replace('http', 'ws')}/live", Origin=place)
    line.send({"token": token})
    return line


def _check_recovered(folder: Path, text: str = EDITED) -> None:
    (leftover,) = unsaved()
    assert leftover.text == text and leftover.scene == str(folder / "scene.yaml")
    assert Scene.parse(leftover.text, leftover.base).to_text() == text
    assert (folder / "scene.yaml").read_text() == SCENE


#: Ways to end: the signal after the edit, and the exit code on the desktop and in the browser.
Way = tuple[signal.Signals | None, int, int]
WAYS: dict[str, Way] = {
    "terminate": (signal.SIGTERM, 143, 143),
    "hang up": (signal.SIGHUP, 129, 129),
    "interrupt": (signal.SIGINT, 130, 0),  # Ctrl+C is the usual end of the server
    "crash": (None, 1, 1),
    "events": (signal.SIGTERM, 143, 143),
    "panel": (signal.SIGTERM, 143, 143),
    "thread": (signal.SIGTERM, 143, 143),
}


@pytest.mark.parametrize("kind", ["web", "desktop"])
@pytest.mark.parametrize("way", WAYS)
def test_unsaved_work_survives(kind: str, way: str, tmp_path: Path, editors: Editors) -> None:
    end, on_desktop, in_browser = WAYS[way]
    code, output = editors.run(kind, way, tmp_path, end)
    _check_recovered(tmp_path)
    assert code == (on_desktop if kind == "desktop" else in_browser), output
    assert RECOVERABLE in output


@pytest.mark.parametrize("way", ["frame", "events"])
def test_frames_that_fail_do_not_end_the_editor(way: str, tmp_path: Path, editors: Editors) -> None:
    """Every frame fails from some moment on, also those for which no page waits."""
    code, output = editors.run("web", way, tmp_path, signal.SIGTERM)
    assert code == 143 and "Traceback" not in output, output
    _check_recovered(tmp_path)


@pytest.mark.parametrize(("kind", "way"), [("web", "abort"), ("desktop", "kill")])
def test_the_autosaved_edit_survives_a_sudden_end(
    kind: str, way: str, tmp_path: Path, editors: Editors
) -> None:
    """The process has no time to write the second edit."""
    end = signal.SIGABRT if way == "abort" else signal.SIGKILL
    code, output = editors.run(kind, way, tmp_path, end if way == "kill" else None)
    _check_recovered(tmp_path, FIRST)
    assert code == -end, output


@pytest.mark.parametrize("kind", ["web", "desktop"])
def test_lost_changes_are_reported_with_the_reason(
    kind: str, tmp_path: Path, editors: Editors, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    state = tmp_path / "file" / "state"
    monkeypatch.setenv("MJRIG_STATE", str(state))
    code, output = editors.run(kind, "terminate", tmp_path, signal.SIGTERM)
    assert code == 143 and RECOVERABLE not in output
    assert output.count(f"could not be autosaved: {state}: Not a directory") == 1, output


def test_unsaved_work_survives_an_exit_from_within_a_panel(
    tmp_path: Path, editors: Editors
) -> None:
    _, output = editors.run("desktop", "exit", tmp_path, None)
    _check_recovered(tmp_path)
    assert RECOVERABLE in output


def test_unsaved_work_survives_a_closed_browser(tmp_path: Path, editors: Editors) -> None:
    code, output = editors.run("web", "page", tmp_path, signal.SIGTERM)
    assert code == 143, output
    _check_recovered(tmp_path)


@pytest.mark.parametrize(
    ("kind", "way"), [("web", "saved"), ("web", "discarded"), ("desktop", "discarded")]
)
def test_only_a_decision_of_the_user_forgets_it(
    kind: str, way: str, tmp_path: Path, editors: Editors
) -> None:
    code, output = editors.run(kind, way, tmp_path, None)
    assert code == 0 and unsaved() == [], output
    assert RECOVERABLE not in output
    assert (tmp_path / "scene.yaml").read_text() == (EDITED if way == "saved" else SCENE)
