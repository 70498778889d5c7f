"""Copies of actors: what refers to them follows when the actor is renamed, or goes with it."""

import pytest

from mjrig import PropertyError, Scene, World
from tests.wording import regex

TEXT = """\
mjrig: 1
seed: 1
randomise:
  - {path: "swing_.*.pose.position", low: 0, high: 0.1}   # each its own
collision_groups:
  - {name: ghosts, members: ["swing_.*", "swing_1/arm", ball], ignores: [ghosts]}
actors:
  - {name: swing, model: package:mjrig.assets/pendulum/pendulum.xml, replicate: {count: 2}}
  - {name: flag, prop: {type: BoxProp}, attach: {to: swing_1/arm}}
  - {name: hat, prop: {type: BoxProp}, attach: {to: swing/arm}}
  - {name: ball, prop: {type: SphereProp}, pose: {position: [5, 0, 0]}}
"""


def test_a_new_name_is_the_name_of_all_copies() -> None:
    scene = Scene.parse(TEXT)
    followed = scene.rename("swing", "rod")
    assert followed == [
        "scene.collision_groups[0].members",
        "flag.attach.to",
        "hat.attach.to",
        "scene.randomise[0].path",
    ]
    assert scene.to_text() == TEXT.replace("swing", "rod")
    names = list(World(scene).articulations)
    assert names == ["rod_0", "rod_1", "flag", "hat_0", "hat_1", "ball"]


def test_a_pattern_that_others_need_goes_on_to_match_them() -> None:
    text = TEXT.replace("name: ball", "name: swing_high").replace(", ball]", "]")
    scene = Scene.parse(text)
    scene.rename("swing", "rod")
    assert scene.randomise[0].path == r"(?:swing_.*|rod_0|rod_1).pose.position"
    World(scene)


def test_what_stands_on_a_copy_goes_with_the_actor() -> None:
    scene = Scene.parse(TEXT)
    first, *others = scene.remove("swing", dry_run=True)
    assert first == "actor 'swing'"
    assert set(others) == {
        "actor 'flag' (flag.attach.to: swing_1/arm)",
        "actor 'hat' (hat.attach.to: swing/arm)",
        "a member of collision group 'ghosts'",
        "the random draw 'swing_.*.pose.position'",
    }
    assert scene.to_text() == TEXT
    with pytest.raises(PropertyError, match=regex("it is needed by … 'flag'")):
        scene.remove("swing")
    scene.remove("swing", dependents="remove")
    assert list(World(scene).articulations) == ["ball"]


def test_what_has_nothing_to_do_with_the_copies_can_go_alone() -> None:
    scene = Scene.parse(TEXT.replace(", ball]", "]"))
    assert scene.remove("ball") == ["actor 'ball'"]
    assert len(World(scene).articulations) == 5
