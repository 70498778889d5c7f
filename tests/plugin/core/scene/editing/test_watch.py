"""Checking again: after every change of a file, through errors, until interrupted."""

from collections.abc import Callable
from pathlib import Path

import pytest

import mjrig
from mjrig.core.errors import MjrigError
from mjrig.core.scene.editing.file_watch import files_of, watch

SCENE = "mjrig: 1\ninclude: [part.yaml]\nactors: [{name: dog, model: legs.xml}]\n"
PART = "mjrig: 1\nactors: [{name: cat, model: sub/cat.xml}]\n"
CAT = """
<mujoco>
  <compiler meshdir="mesh"/>
  <asset><mesh name="m" file="m.obj"/></asset>
  <include file="more.xml"/>
</mujoco>
"""


@pytest.fixture
def scene(models: Path) -> Path:
    for folder in ("sub", "sub/mesh"):
        (models / folder).mkdir()
    files = {"s.yaml": SCENE, "part.yaml": PART, "sub/cat.xml": CAT, "sub/mesh/m.obj": ""}
    for name, text in {**files, "sub/more.xml": "<mujoco/>"}.items():
        (models / name).write_text(text)
    return models / "s.yaml"


class Ended(Exception):
    """The test has seen enough."""


def watched(check: Callable[[], str], files: list[Path], naps: list[Callable[[], None]]) -> str:
    """What is shown while something happens in each nap."""
    shown: list[str] = []
    waiting = iter(naps)

    def sleep(seconds: float) -> None:
        assert seconds > 0
        try:
            next(waiting)()
        except StopIteration:
            raise Ended from None

    with pytest.raises(Ended):
        watch(check, lambda: files, shown.append, title="T", sleep=sleep, clock=lambda: "12:00:00")
    return "".join(shown)


def nothing() -> None:
    """A nap without dreams."""


def test_a_change_is_checked_and_silence_is_not(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("1")

    def change() -> None:
        file.write_text("22")

    shown = watched(file.read_text, [file], [nothing, change, nothing])
    assert shown == "--- 12:00:00 T\n1\n--- 12:00:00 T\n22\n"


def test_an_error_is_shown_and_checking_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "a"

    def check() -> str:
        if not file.exists():
            raise MjrigError("there is\nno file")
        return "fine"

    shown = watched(check, [file], [nothing, file.touch, file.unlink])
    titles = ["there is no file", "fine", "there is no file"]
    assert shown == "".join(f"--- 12:00:00 T\n{t}\n" for t in titles)


def test_a_change_during_the_check_is_not_missed(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("1")
    results: list[str] = []

    def check() -> str:
        results.append(file.read_text())
        if len(results) == 1:
            file.write_text("while it was read")
        return results[-1]

    watched(check, [file], [nothing])
    assert results == ["1", "while it was read"]


def test_a_scene_depends_on_its_models_their_parts_and_what_it_includes(scene: Path) -> None:
    names = ["s.yaml", "part.yaml", "legs.xml", "sub/cat.xml", "sub/mesh/m.obj", "sub/more.xml"]
    expected = {scene.parent / name for name in names}
    assert files_of(scene, mjrig.Scene.load(scene)) == expected
    assert files_of(scene, None) == expected


def test_a_scene_that_cannot_be_read_still_names_the_files_that_may_come(scene: Path) -> None:
    (scene.parent / "part.yaml").unlink()
    assert scene.parent / "part.yaml" in files_of(scene, None)
    scene.write_text("mjrig: [")
    assert files_of(scene, None) == {scene}
    assert files_of(scene.parent / "none.yaml", None) == {scene.parent / "none.yaml"}


def test_a_missing_model_is_waited_for(scene: Path) -> None:
    read = mjrig.Scene.load(scene)
    (scene.parent / "legs.xml").unlink()
    (scene.parent / "sub/cat.xml").write_text("<mujoco")
    found = files_of(scene, read)
    assert {scene.parent / "legs.xml", scene.parent / "sub/cat.xml"} <= found
