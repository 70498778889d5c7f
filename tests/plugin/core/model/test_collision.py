"""Collision groups: who passes through whom."""

from pathlib import Path

import pytest

import mjrig
from tests.plugin.composing import scene_of
from tests.worlds import refused

BOX = """
<mujoco>
  <worldbody>
    <body name="box">
      <freejoint/>
      <geom type="box" size="0.1 0.1 0.1"/>
      <body name="lid" pos="0 0 0.15"><geom type="box" size="0.1 0.1 0.1"/></body>
    </body>
  </worldbody>
  <contact><exclude body1="box" body2="lid"/></contact>
</mujoco>"""
#: Three boxes in each other.
ACTORS = "".join(
    f"  - {{name: {name}, model: box.xml, pose: {{position: [{0.05 * i}, 0, 0]}}}}\n"
    for i, name in enumerate(("one", "two", "three"))
)


def touching(folder: Path, groups: str) -> set[frozenset[str]]:
    """The actors that touch each other at the start."""
    text = f"actors:\n{ACTORS}collision_groups:\n{groups}" if groups else f"actors:\n{ACTORS}"
    world = mjrig.World(scene_of(folder, text, box=BOX))
    model = world.model
    bodies = [[model.body(model.geom_bodyid[g]).name for g in c.geom] for c in world.data.contact]
    return {frozenset(name.partition("/")[0] for name in pair) for pair in bodies}


def pairs(*names: str) -> set[frozenset[str]]:
    """Pairs of actors, written `one-two`."""
    return {frozenset(name.split("-")) for name in names}


ALL = ("one-two", "one-three", "two-three")


@pytest.mark.parametrize(
    ("groups", "left"),
    [
        ("", ALL),
        ("  - {name: a, members: [one, two], ignores: a}\n", ("one-three", "two-three")),
        ("  - {name: a, members: .*, ignores: a}\n", ()),
        ("  - {name: a, members: one, ignores: b}\n  - {name: b, members: three}\n",
         ("one-two", "two-three")),
        ("  - {name: a, members: one}\n  - {name: b, groups: a, members: two, ignores: c}\n"
         "  - {name: c, members: three}\n", ("one-two",)),
        ("  - {name: a, members: one/lid, ignores: a}\n", ALL),
    ],
)  # fmt: skip
def test_groups_pass_through_those_they_ignore(
    tmp_path: Path, groups: str, left: tuple[str, ...]
) -> None:
    assert touching(tmp_path, groups) == pairs(*left)


def test_a_group_may_be_single_bodies_and_the_world(tmp_path: Path) -> None:
    floor = BOX.replace("<worldbody>", '<worldbody><geom type="plane" size="1 1 1"/>')
    text = (
        "actors:\n  - {name: one, model: floor.xml}\n"
        "collision_groups:\n  - {name: a, members: [one/box, world], ignores: a}\n"
    )
    world = mjrig.World(scene_of(tmp_path, text, floor=floor))
    model = world.model
    assert model.nexclude == 2
    assert {model.exclude(i).name for i in range(2)} and not any(
        0 in model.geom_bodyid[c.geom] and model.body("one/box").id in model.geom_bodyid[c.geom]
        for c in world.data.contact
    )


def test_no_pair_is_excluded_twice(tmp_path: Path) -> None:
    groups = (
        "  - {name: a, members: one, ignores: [a, b]}\n  - {name: b, members: .*, ignores: b}\n"
    )
    text = f"actors:\n{ACTORS}collision_groups:\n{groups}"
    model = mjrig.World(scene_of(tmp_path, text, box=BOX)).model
    assert model.nexclude == 6 * 5 // 2
    assert len(set(model.exclude_signature.tolist())) == model.nexclude


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ("{name: a, members: [one, tow]}",
         "7:30: collision_groups[0].members: scene.collision_groups[0].members: 'tow' "
         "matches no actor or … 'two'?"),
        ("{name: a, members: one/ldi}",
         "7:24: collision_groups[0].members: scene.collision_groups[0].members: "
         "'one/ldi' matches no actor or … 'one/lid'?"),
        ("{name: abc, members: one, ignores: [acb]}",
         "7:41: collision_groups[0].ignores: scene.collision_groups[0].ignores: there "
         "is no group 'acb'; … 'abc'?"),
        ("{name: abc, groups: acb}",
         "7:25: collision_groups[0].groups: scene.collision_groups[0].groups: there is "
         "no group 'acb'; … 'abc'?"),
        ("{name: a, groups: a, ignores: a}", "7:23: collision_groups[0].groups: "
         "scene.collision_groups[0].groups: is circular: a → a"),
    ],
)  # fmt: skip
def test_a_wrong_group_is_refused_at_its_place(tmp_path: Path, group: str, message: str) -> None:
    text = f"actors:\n{ACTORS}collision_groups:\n  - {group}\n"
    scene = scene_of(tmp_path, text, box=BOX)
    with refused(mjrig.SceneError, f"{tmp_path / 'scene.yaml'}:{message}"):
        mjrig.World(scene)


def test_an_actor_without_bodies_may_be_a_member(tmp_path: Path) -> None:
    text = (
        "actors:\n  - {name: lamp, prop: {type: LightProp}}\n  - {name: one, model: box.xml}\n"
        "collision_groups:\n  - {name: all, members: [lamp, one], ignores: [all]}\n"
    )
    world = mjrig.World(scene_of(tmp_path, text, box=BOX))
    assert world.model.nexclude == 1
