"""Saving: what was there before is kept, what others wrote is not lost, other lines stay."""

import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mjrig
from mjrig.core.errors import SceneError
from mjrig.core.files.atomic_writes import backup_of, write_atomically
from tests.campaign import amount
from tests.worlds import refused

TEXT = """\
# A dog.
mjrig: 1
actors:
  - name: dog
    model: legs.xml
    keyframe: home   # standing
    components:
      - type: PDController
        kp: 40
"""
OTHER = TEXT.replace("A dog", "Somebody else's dog")


@pytest.fixture
def scene(models: Path) -> mjrig.Scene:
    (models / "s.yaml").write_text(TEXT)
    return mjrig.Scene.load(models / "s.yaml")


# The version before -----------------------------------------------------------------------------


def test_the_version_before_is_kept_beside_the_file(models: Path, scene: mjrig.Scene) -> None:
    scene.set("dog.pd.kp", 50)
    scene.save()
    assert (models / "s.yaml~").read_text() == TEXT
    scene.set("dog.pd.kp", 60)
    scene.save()
    assert (models / "s.yaml~").read_text() == TEXT.replace("40", "50")
    assert (models / "s.yaml").read_text() == TEXT.replace("40", "60")


def test_an_untouched_scene_is_not_written(models: Path, scene: mjrig.Scene) -> None:
    before = (models / "s.yaml").stat()
    scene.save()
    after = (models / "s.yaml").stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)
    assert not (models / "s.yaml~").exists()


def test_a_foreign_file_that_is_saved_over_is_kept_too(models: Path, scene: mjrig.Scene) -> None:
    (models / "t.yaml").write_text("something else")
    scene.save(models / "t.yaml")
    assert (models / "t.yaml~").read_text() == "something else"
    assert (models / "t.yaml").read_text() == TEXT


def test_the_backup_of_a_linked_file_is_beside_the_file(models: Path, scene: mjrig.Scene) -> None:
    (models / "real").mkdir()
    (models / "real" / "r.yaml").write_text(TEXT)
    (models / "link.yaml").symlink_to(models / "real" / "r.yaml")
    assert backup_of(models / "link.yaml") == models / "real" / "r.yaml~"
    scene.set("dog.pd.kp", 50)
    scene.save(models / "link.yaml")
    assert (models / "real" / "r.yaml~").read_text() == TEXT
    assert (models / "link.yaml").is_symlink()


def test_a_backup_that_cannot_be_kept_leaves_everything(
    models: Path, scene: mjrig.Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.set("dog.pd.kp", 50)
    replace = os.replace

    def fail(source: str, target: Path) -> None:
        if str(target).endswith("~"):
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail)
    with refused(SceneError, f"{models}/s.yaml: cannot be written: No space …"):
        scene.save()
    names = sorted(p.name for p in models.iterdir())
    assert names == ["hinge.xml", "legs.xml", "s.yaml"]
    assert (models / "s.yaml").read_text() == TEXT


def test_without_being_asked_nothing_is_kept(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", "1")
    write_atomically(tmp_path / "a", "2")
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


# Changed by somebody else -----------------------------------------------------------------------


def test_what_others_wrote_is_not_overwritten(models: Path, scene: mjrig.Scene) -> None:
    (models / "s.yaml").write_text(OTHER)
    scene.set("dog.pd.kp", 50)
    assert scene.changed_on_disk()
    message = f"{models}/s.yaml:1:1: was changed on disk … reload() … save(overwrite=True) …"
    with refused(SceneError, message):
        scene.save()
    with pytest.raises(SceneError, match="was changed on disk"):
        scene.save(models / ".." / models.name / "s.yaml")
    assert (models / "s.yaml").read_text() == OTHER
    scene.save(overwrite=True)
    assert (models / "s.yaml").read_text() == TEXT.replace("40", "50")
    assert (models / "s.yaml~").read_text() == OTHER
    assert not scene.changed_on_disk()
    scene.save()


def test_a_change_is_seen_that_leaves_time_and_size(models: Path, scene: mjrig.Scene) -> None:
    about = (models / "s.yaml").stat()
    (models / "s.yaml").write_text(TEXT.replace("40", "41"))
    os.utime(models / "s.yaml", ns=(about.st_atime_ns, about.st_mtime_ns))
    assert scene.changed_on_disk()
    with pytest.raises(SceneError, match="was changed on disk"):
        scene.save()


def test_a_touched_file_that_says_the_same_is_not_changed(models: Path, scene: mjrig.Scene) -> None:
    os.utime(models / "s.yaml", (1, 1))
    assert not scene.changed_on_disk()
    scene.set("dog.pd.kp", 50)
    scene.save()


def test_a_file_that_is_gone_is_written_again(models: Path, scene: mjrig.Scene) -> None:
    (models / "s.yaml").unlink()
    assert scene.changed_on_disk()
    scene.save()
    assert (models / "s.yaml").read_text() == TEXT


def test_a_scene_without_a_file_is_not_changed_on_disk() -> None:
    assert not mjrig.Scene().changed_on_disk()


# Read again -------------------------------------------------------------------------------------


def test_a_scene_takes_what_its_file_says_now(models: Path, scene: mjrig.Scene) -> None:
    dog, controller = scene["dog"], scene["dog"].components[0]
    scene.set("dog.keyframe", "crouch")
    text = OTHER.replace("40", "70") + "  - {name: cat, model: hinge.xml}\n"
    (models / "s.yaml").write_text(text)
    scene.reload()
    assert [a.name for a in scene.actors] == ["dog", "cat"]
    assert scene["dog"] is dog
    assert dog.components[0] is controller
    assert (controller.authored("kp"), dog.keyframe) == (70, "home")
    assert not scene.changed_on_disk()
    scene.save()
    assert (models / "s.yaml").read_text() == text


def test_included_files_are_read_again_too(models: Path) -> None:
    (models / "part.yaml").write_text(TEXT)
    (models / "s.yaml").write_text("mjrig: 1\ninclude: [part.yaml]\n")
    scene = mjrig.Scene.load(models / "s.yaml")
    (models / "part.yaml").write_text(TEXT.replace("40", "70"))
    scene.reload()
    assert scene["dog"].components[0].authored("kp") == 70


def test_variables_given_by_the_caller_stay(models: Path) -> None:
    text = TEXT.replace("40", "${kp}") + "vars: {kp: 1}\n"
    (models / "s.yaml").write_text(text)
    scene = mjrig.Scene.load(models / "s.yaml", vars={"kp": 5})
    (models / "s.yaml").write_text(text.replace("home", "crouch"))
    scene.reload()
    assert (scene["dog"].components[0].authored("kp"), scene["dog"].keyframe) == (5, "crouch")
    (models / "s.yaml").write_text(TEXT)
    message = f"{models}/s.yaml:1:1: the scene has no … 'kp'; …"
    with refused(SceneError, message):
        scene.reload()


def test_a_file_that_is_wrong_now_changes_nothing(models: Path, scene: mjrig.Scene) -> None:
    scene.set("dog.pd.kp", 50)
    (models / "s.yaml").write_text(TEXT.replace("40", "-1"))
    with pytest.raises(SceneError, match=r"s\.yaml:9:13: "):
        scene.reload()
    assert scene["dog"].components[0].authored("kp") == 50
    assert scene.changed_on_disk()


def test_a_scene_without_a_file_has_nothing_to_read_again() -> None:
    with refused(SceneError, "the scene has no …"):
        mjrig.Scene().reload()


# Lines ------------------------------------------------------------------------------------------

COMMENTS = st.sampled_from(["", "  # note", " #", " #\ttab"])
FILLERS = st.sampled_from(["", "\n", "# alone\n", "      # far in\n", "\n\n"])


@st.composite
def scene_texts(draw: st.DrawFn) -> str:
    """A scene with comments, blank lines and indentation wherever they may be."""
    deep = " " * draw(st.integers(0, 4))
    inner = deep + " " * draw(st.integers(2, 5))
    lines = ["mjrig: 1", "actors:"]
    for name in draw(st.sampled_from([["a"], ["a", "b"]])):
        gap = " " * draw(st.integers(1, 3))
        pad = deep + " " + gap
        kp = draw(st.sampled_from(["40", "4.0e+1", "{x: 1, default: 40}", "[1, 2]"]))
        lines += [f"{deep}-{gap}name: {name}", f"{pad}model: 'legs.xml'", f"{pad}components:"]
        dash = inner + "- " if len(inner) >= len(pad) else pad + "- "
        lines += [f"{dash}type: PDController", f"{' ' * len(dash)}kp:  {kp}"]
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    text = "".join(f"{line}{draw(COMMENTS)}\n{draw(FILLERS)}" for line in lines)
    if draw(st.booleans()):
        text = text.rstrip("\n")
    bom = draw(st.sampled_from(["", "\ufeff"]))
    return bom + text.replace("\n", newline)


@pytest.mark.campaign
@settings(max_examples=amount(25, 1000), deadline=None)
@given(scene_texts(), st.sampled_from([50, {"y": 2}, [3, 4]]))
def test_an_edit_changes_the_lines_it_must_and_no_other(text: str, value: object) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "s.yaml")
        path.write_bytes(text.encode())
        scene = mjrig.Scene.load(path)
        scene.save()
        assert path.read_bytes().decode() == text
        scene.set("a.pd.kp", value)
        scene.save()
        written = path.read_bytes().decode()
        assert mjrig.Scene.load(path).to_data() == scene.to_data()
    old, new = (re.split("(?<=\n)", t) for t in (text, written))
    changed = [i for i, (o, n) in enumerate(zip(old, new, strict=True)) if o != n]
    assert changed == [next(i for i, line in enumerate(old) if "kp:" in line)]
    comment = old[changed[0]].partition("#")
    assert new[changed[0]].endswith("".join(comment[1:]))


# Written in other words than it is understood ---------------------------------------------------

WORDS = """\
mjrig: 1
vars: {odd: .nan}   # not a number
actors:
  - name: dog
    model: legs.xml
    actuators:
      - {type: MotorActuator, joint: left_hip, refsite: null, sensors: actuatorfrc}   # one
      - {type: MotorActuator, joint: left_knee, sensors: null, plugin_config: {a: .nan}}
      - type: MotorActuator
        joint: right_hip
        sensors: {reads: actuatorvel}
        gear: 1e0
"""


def test_what_was_not_edited_stays_in_the_words_of_the_file(models: Path) -> None:
    (models / "s.yaml").write_text(WORDS)
    scene = mjrig.Scene.load(models / "s.yaml")
    assert scene.to_text() == WORDS
    scene.set("dog.actuators[2].group", 3)
    assert scene.to_text() == WORDS + "        group: 3\n"
    scene.set("dog.actuators[0].gear", 5)
    scene.set("dog.actuators[1].sensors", ["actuatorpos"])
    scene.save()
    expected = WORDS.replace("sensors: actuatorfrc}", "sensors: actuatorfrc, gear: 5}").replace(
        "sensors: null", "sensors: [actuatorpos]"
    )
    assert (models / "s.yaml").read_text() == expected + "        group: 3\n"
    scene.set("dog.actuators[1].group", 1)
    assert "refsite: null, sensors: actuatorfrc, gear: 5}   # one" in scene.to_text()
    scene.set("vars.odd", 4)
    assert scene.to_text().startswith("mjrig: 1\nvars: {odd: 4}   # not a number\n")
    assert "refsite: null, sensors: actuatorfrc, gear: 5}   # one" in scene.to_text()


def test_a_copy_in_another_folder_names_the_same_files(models: Path) -> None:
    (models / "parts").mkdir()
    (models / "parts" / "p.yaml").write_text("mjrig: 1\nactors: [{name: p, model: ../legs.xml}]\n")
    (models / "s.yaml").write_text(
        "mjrig: 1\nsim: {timestep: 0.001}\ninclude: [{file: parts/p.yaml, prefix: x_}]\n"
        "vars: {m: hinge.xml}\nactors:\n"
        '  - {name: a, model: "${m}"} # mine\n  - {name: b, model: ./hinge.xml}   # its own\n'
        "  - {name: c, model: package:mjrig.assets/pendulum/pendulum.xml}\n"
    )
    text, there = (models / "s.yaml").read_text(), models / "x" / "y"
    there.mkdir(parents=True)
    scene = mjrig.Scene.load(models / "s.yaml")
    scene.save(models / "t.yaml")
    assert (models / "t.yaml").read_text() == text  # in its own folder, to the byte
    scene.save(there / "s.yaml")
    saved = (there / "s.yaml").read_text()
    assert "{file: ../../parts/p.yaml, prefix: x_}" in saved
    assert "{name: b, model: ../../hinge.xml}   # its own" in saved
    assert list(mjrig.World(there / "s.yaml").articulations) == ["x_p", "a", "b", "c"]
    assert list(mjrig.World(scene).articulations) == ["x_p", "a", "b", "c"]
    scene.save(models / "u.yaml")  # and back
    assert list(mjrig.World(models / "u.yaml").articulations) == ["x_p", "a", "b", "c"]


def test_every_kind_of_file_goes_along_and_what_leads_nowhere_stays(tmp_path: Path) -> None:
    """Meshes, height fields, networks and policies; names are compared by the file they mean."""
    home, there = tmp_path / "home", tmp_path / "a" / "b"
    (home / "parts").mkdir(parents=True)
    there.mkdir(parents=True)
    names = {"m": "parts/box.stl", "h": "parts/hill.png", "n": "parts/net.onnx", "p": "pol.yaml"}
    for name in names.values():
        (home / name).write_bytes(b"x")
    text = f"""\
mjrig: 1   # what it names is not read here
actors:
  - name: dog
    model: package:mjrig.assets/pendulum/pendulum.xml
    components:
      - {{type: NeuralController, path: {names["n"]}}}
      - {{type: Policy, file: {names["p"]}}}   # walks
  - name: ghost
    model: gone/robot.xml   # not there yet
  - {{name: box, prop: {{type: MeshProp, file: {names["m"]}}}}}
  - {{name: hill, prop: {{type: HeightFieldProp, file: {names["h"]}}}}}
"""
    (home / "s.yaml").write_text(text)
    scene = mjrig.Scene.load(home / "s.yaml")
    scene.save(there / "s.yaml")
    saved = (there / "s.yaml").read_text()
    expected = text
    for name in names.values():
        expected = expected.replace(name, f"../../home/{name}")
    assert saved == expected


def test_a_copy_that_cannot_be_written_leaves_the_scene_as_it_was(models: Path) -> None:
    (models / "s.yaml").write_text("mjrig: 1\nactors: [{name: a, model: x/../hinge.xml}]\n")
    (models / "x").mkdir()
    text, scene = (models / "s.yaml").read_text(), mjrig.Scene.load(models / "s.yaml")
    with pytest.raises(SceneError, match="there is no folder"):
        scene.save(models / "no" / "where" / "s.yaml")
    assert scene.to_text() == text and scene.base == models
    mjrig.World(scene)
    scene.save()
    assert (models / "s.yaml").read_text() == text
