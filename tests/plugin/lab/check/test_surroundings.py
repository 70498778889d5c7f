"""What a robot stands on, links that touch, degrees, unfused links: true, and cured by the fix."""

import random
from pathlib import Path
from typing import Any

import mujoco
import pytest

import mjrig
from mjrig.components import PDController
from mjrig.core.yaml_text.yaml_document import parse_value
from mjrig.lab.check.preflight import findings
from tests.campaign import Tally
from tests.preflight import edits, findings_of, found
from tests.worlds import arm, hinge, make_world, pd_of

SERVOS = '<position name="a" joint="shoulder" kp="20"/><position name="b" joint="elbow" kp="9"/>'


def robot(around: str = "", *, root: str = "<freejoint/>", geom: str = "", option: str = "") -> str:
    """A body with one leg, and whatever is around it."""
    return f"""<mujoco><option {option}/><worldbody>{around}
      <body name="base" pos="0 0 1">{root}<geom size=".1" {geom}/>
        <body name="leg" pos="0 0 -.3"><joint name="hip" axis="0 1 0"/><geom size=".05" {geom}/>
        </body></body></worldbody>
      <actuator><motor name="m" joint="hip"/></actuator></mujoco>"""


def scene_of(tmp_path: Path, xml: str, text: str = "") -> mjrig.Scene:
    (tmp_path / "r.xml").write_text(xml)
    return mjrig.Scene.parse(f"mjrig: 1\nactors:\n  - {{name: r, model: r.xml{text}}}\n", tmp_path)


def pasted(fix: str) -> dict[str, Any]:
    """A fix of the form `key: value` as data."""
    key, _, value = fix.partition(": ")
    data = parse_value(value)
    assert data is not None
    return {key: data}


# The ground -------------------------------------------------------------------------------------


def test_a_free_robot_without_a_floor(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, robot())
    (finding,) = found(mjrig.World(scene), "no-floor")
    assert finding.paths == ["r"]
    assert edits(finding) == ["scene.actors: add {name: floor, prop: {type: GroundProp}}"]
    finding.remedies[0].apply(scene)
    assert found(mjrig.World(scene), "no-floor") == []


@pytest.mark.parametrize(
    "xml",
    [
        robot('<geom type="plane" size="0 0 1"/>'),
        robot('<geom type="plane" size="1 1 1" pos="5 0 -3"/>'),
        robot('<geom type="box" size="1 1 .1" pos=".5 0 -3"/>'),
        robot(option='gravity="0 0 0"'),
        robot(root=""),
        robot('<body name="t" mocap="true" pos="0 0 -2"><geom size="1"/></body>'),
    ],
)
def test_a_robot_that_stands_or_does_not_fall_is_fine(xml: str) -> None:
    assert findings_of("no-floor", xml) == []


@pytest.mark.parametrize(
    "xml",
    [
        robot('<geom type="box" size="1 1 1" pos="5 0 0"/>'),
        robot('<geom type="plane" size="0 0 1" contype="0" conaffinity="0"/>'),
        robot('<geom type="plane" size="0 0 1" pos="-3 0 0" zaxis="1 0 0"/>'),
        robot('<geom type="box" size=".3 .3 .1" pos="0 0 3"/>'),
        robot('<geom type="plane" size="0 0 1"/>', geom='contype="2" conaffinity="2"'),
    ],
)
def test_what_is_elsewhere_or_cannot_be_touched_is_no_floor(xml: str) -> None:
    assert len(findings_of("no-floor", xml)) == 1


@pytest.mark.campaign
def test_what_has_no_floor_falls_freely(tally: Tally) -> None:
    for rng in tally.cases("robots without a floor", 15, 3_000, minutes=2.0):
        xml = robot("".join(_thing(rng) for _ in range(rng.randint(0, 3))))
        said = bool(found(world := make_world(xml, []), "no-floor"))
        start = world.data.subtree_com[0][2]
        lands = False
        for _ in range(40):
            world.step(25)
            lands = lands or world.data.ncon > 0
        if said and (lands or world.data.subtree_com[0][2] > start - 4.0):
            tally.found(f"said to fall, and does not: {xml}")
        if not said and not lands and world.data.subtree_com[0][2] < start - 4.0 and _is_clear(xml):
            tally.found(f"falls, and is not said to: {xml}")


def _thing(rng: random.Random) -> str:
    place = " ".join(f"{rng.uniform(-2, 2):.2f}" for _ in range(2))
    kind = rng.choice(("box", "box", "sphere", "sphere", "cylinder", "cylinder", "plane"))
    size = {"box": ".4 .4 .1", "plane": ".5 .5 1", "sphere": ".4", "cylinder": ".4 .2"}[kind]
    return f'<geom type="{kind}" size="{size}" pos="{place} {rng.uniform(-2, 3):.2f}"/>'


def _is_clear(xml: str) -> bool:
    """Whether everything is well beside the robot: boxes around things are larger than they."""
    model = mujoco.MjModel.from_xml_string(xml)
    fixed = model.geom_bodyid == 0
    return bool((abs(model.geom_pos[fixed][:, :2]).max(axis=1) > 1.2).all())


# Links that touch -------------------------------------------------------------------------------

CHAIN = """<mujoco><worldbody>
  <body name="base"><geom type="cylinder" size=".1 .2"/>
    <body name="one" pos="0 0 .2"><joint name="j" axis="0 0 1" range="-90 90"/><geom size=".15"/>
      <body name="two" pos="1 0 0"><joint name="k" axis="0 1 0"/><geom size=".05"/></body>
    </body></body></worldbody>
  <actuator><motor name="m" joint="j"/><motor name="n" joint="k"/></actuator></mujoco>"""


def test_links_that_touch_in_every_pose_and_the_way_out(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, CHAIN)
    world = mjrig.World(scene)
    (finding,) = found(world, "links-touch")
    assert (finding.paths, finding.here) == (["r.base", "r.one"], ["base and one"])
    group = "{name: r_links, members: [r/base, r/one], ignores: [r_links]}"
    assert edits(finding) == [f"scene.collision_groups: add {group}"]
    assert found(world, "penetration") == []  # another pose would not help
    scene.assign(pasted(finding.fix))
    world = mjrig.World(scene)
    assert found(world, "links-touch") == [] and world.data.ncon == 0


def test_links_that_touch_in_some_poses_are_not_said_to_touch_always() -> None:
    xml = CHAIN.replace('pos="0 0 .2"', 'pos="0 0 .2" euler="0 0 0"').replace(
        '<geom size=".15"/>', '<geom size=".05" pos=".12 0 -.1"/>'
    )
    bent = xml.replace('axis="0 0 1" range="-90 90"', 'axis="0 1 0" range="-170 170"')
    assert findings_of("links-touch", bent) == [] and len(findings_of("penetration", bent)) == 1


# Degrees ----------------------------------------------------------------------------------------


def test_angles_that_look_like_degrees() -> None:
    limited = 'range="-2 2"'
    (finding,) = found(make_world(hinge(joint=limited), joints={"swing": 45}), "degrees")
    assert (finding.here, finding.evidence["range"]) == ({"swing": 45}, {"swing": [-2, 2]})
    assert finding.expected == {"swing": pytest.approx(0.7854, abs=1e-4)}
    assert findings_of("start-out-of-range", hinge(joint=limited), joints={"swing": 45}) == []
    for cure in ({"joints": {"swing": 0.7854}}, {"joints": {"swing": 45}, "units": "degrees"}):
        assert findings_of("degrees", hinge(joint=limited), **cure) == []
    assert len(findings_of("degrees", hinge(), joints={"swing": 90})) == 1
    for value in (2.5, 400.0):  # a little outside; in degrees outside too
        assert findings_of("degrees", hinge(joint=limited), joints={"swing": value}) == []
        assert (
            len(findings_of("start-out-of-range", hinge(joint=limited), joints={"swing": value}))
            == 1
        )


# Actuators that no law can own ------------------------------------------------------------------


def test_position_actuators_under_a_controller_name_the_ways_out(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, arm(SERVOS), ", components: [{type: PDController, kp: 7, kv: 1}]")
    (finding,) = found(mjrig.World(scene), "owns-nothing")
    assert "use_motors: true" in finding.fix
    scene["r"].assign(pasted("use_motors: true"))
    world = mjrig.World(scene)
    assert found(world, "owns-nothing") == []
    assert pd_of(world["r"]).kp.tolist() == [7.0, 7.0]
    scene["r"].unset("use_motors")
    scene["r"].remove_component(scene["r"].components[0])
    scene["r"].assign(pasted(finding.fix[finding.fix.index("native_gains: ") :]))
    assert mjrig.World(scene).model.actuator_gainprm[0, 0] == 40.0


def test_velocity_actuators_under_a_controller_name_replaces(tmp_path: Path) -> None:
    xml = arm(SERVOS.replace("position", "velocity").replace("kp", "kv"))
    scene = scene_of(tmp_path, xml, ", components: [{type: PDController, kp: 7, kv: 1}]")
    (finding,) = found(mjrig.World(scene), "owns-nothing")
    text = finding.fix[finding.fix.index("actuators: [") :].partition(" on the actor")[0]
    scene["r"].assign(pasted(text))
    assert found(mjrig.World(scene), "owns-nothing") == []


# URDF -------------------------------------------------------------------------------------------

URDF = """<robot name="r">
  <link name="base"/><link name="arm">{inertia}</link><link name="tool">{inertia}</link>
  <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="5" velocity="3"/></joint>
  <joint name="f" type="fixed"><parent link="arm"/><child link="tool"/></joint>
</robot>"""
INERTIA = """<inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>"""


@pytest.mark.parametrize("name", ["r.urdf", "r.xml"])
def test_links_of_a_urdf_that_are_not_fused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(URDF.format(inertia=INERTIA))
    bare = mujoco.MjModel.from_xml_path(str(tmp_path / name))
    world = mjrig.World(tmp_path / name)
    (finding,) = found(world, "static-links")
    assert len(finding.names) == world.model.nbody - bare.nbody
    assert "tool" in finding.names
    assert finding.fix == "compiler: {fusestatic: true}"


def test_static_bodies_of_an_mjcf_are_meant(tmp_path: Path) -> None:
    assert findings_of("static-links", CHAIN) == []


def test_the_findings_are_of_a_world_that_stays_as_it_is() -> None:
    world = make_world(CHAIN, [PDController(kp=1.0, kv=0.1)])
    before = world.snapshot().integration.copy()
    findings(world)
    assert (world.snapshot().integration == before).all()
