"""Descriptions: what a scene file says, without a model or a running world behind it."""

import subprocess
import sys
from pathlib import Path

import pytest

import mjrig
import mjrig.scene
from mjrig.core.errors import PropertyError
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.editing.scene import Actor
from mjrig.core.scene.scene_description import Include, SceneDescription
from tests.patience import PATIENCE
from tests.wording import regex

PART = "mjrig: 1\nactors: [{name: leg, model: leg.xml}]\n"
WHOLE = "mjrig: 1\ninclude: [part.yaml]\nactors: [{name: arm, model: arm.xml}]\n"


def names_in_a_new_process(statement: str) -> str:
    script = f"import sys; {statement}; print(*sorted(m for m in sys.modules if 'mjrig.' in m))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    return done.stdout


def test_descriptions_load_no_model_and_no_control() -> None:
    loaded = names_in_a_new_process("import mjrig.core.scene.placement")
    assert "mjrig.core.scene.scene_description " in loaded
    for package in ("model", "control", "scene.editing", "sim"):
        assert f"mjrig.core.{package}." not in loaded


def test_the_facade_hands_out_its_base_classes_lazily() -> None:
    assert mjrig.scene.Prop.__module__ == "mjrig.core.scene.actor_description"
    assert mjrig.scene.Pose is mjrig.Pose
    assert dir(mjrig.scene) == ["Pose", "Prop"]
    with pytest.raises(AttributeError, match=r"module 'mjrig\.scene' has no attribute 'Porp'"):
        _ = mjrig.scene.Porp  # type: ignore[attr-defined]
    assert "mjrig.core.scene.actor_description" not in names_in_a_new_process("import mjrig.scene")


@pytest.mark.parametrize("kind", [SceneDescription, mjrig.Scene])
def test_included_files_are_read_as_the_class_that_includes_them(
    kind: type[SceneDescription], tmp_path: Path
) -> None:
    (tmp_path / "part.yaml").write_text(PART)
    (tmp_path / "whole.yaml").write_text(WHOLE)
    scene = kind.load(tmp_path / "whole.yaml")
    (part,) = scene.included_scenes()
    actors = (*scene.actors, *part.actors, scene["leg"])
    assert type(part) is kind
    assert {type(a) for a in actors} == {Actor if kind is mjrig.Scene else ActorDescription}


def test_an_added_actor_is_of_the_class_of_the_scene() -> None:
    assert type(SceneDescription().add_actor("arm", model="arm.xml")) is ActorDescription
    assert type(mjrig.Scene().add_actor("arm", model="arm.xml")) is Actor


def test_messages_say_actor_whatever_the_class() -> None:
    with pytest.raises(PropertyError, match=r"^Actor has no property 'modle'"):
        mjrig.Scene().add_actor("arm", modle="arm.xml")


def test_an_include_that_is_in_no_scene_cannot_be_read() -> None:
    with pytest.raises(PropertyError, match="^" + regex("Include: is not part of …")):
        Include(file="part.yaml").scene()
