"""What a scene changes in a model: scenery, base, removed and renamed elements, dynamics."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.core.model.element_references import closure, find_elements, name_everything, references
from mjrig.core.patterns import Slots
from tests.plugin.composing import scene_of
from tests.wording import mentions
from tests.worlds import ROVER, arm, make_robot, make_world, refused

#: Everything that refers to something else by name.
WEB = """
<mujoco>
  <compiler angle="radian"/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <geom size="0.1" pos="5 0 0"/>
    <light name="sun" mode="targetbody" target="lower"/>
    <camera name="view" mode="targetbody" target="lower"/>
    <site name="post" pos="0 0 1"/>
    <body name="upper">
      <joint name="hip" axis="0 1 0"/>
      <geom name="thigh" size="0.05"/>
      <site name="top"/>
      <body name="lower" pos="0.3 0 0">
        <joint name="knee" axis="0 1 0"/>
        <geom name="shin" size="0.05"/>
        <site name="tip" pos="0.1 0 0"/>
        <camera name="eye"/>
      </body>
    </body>
    <body name="ball" pos="1 0 0">
      <joint name="roll" type="ball"/>
      <geom name="ball" size="0.05"/>
    </body>
  </worldbody>
  <tendon>
    <fixed name="cable"><joint joint="hip" coef="2"/><joint joint="knee" coef="0.5"/></fixed>
    <spatial name="string" width="0.01" stiffness="3">
      <site site="post"/><geom geom="thigh" sidesite="top"/><site site="tip"/>
      <pulley divisor="2"/><site site="post"/><site site="top"/>
    </spatial>
  </tendon>
  <actuator>
    <motor name="hip_motor" joint="hip"/>
    <motor name="knee_motor" joint="knee"/>
    <motor name="cable_motor" tendon="cable"/>
    <motor name="push" site="top" refsite="tip" gear="1 0 0 0 0 0"/>
    <motor name="crank" cranksite="top" slidersite="tip" cranklength="1"/>
    <adhesion name="stick" body="lower" ctrlrange="0 1"/>
    <general name="turn" joint="roll" gear="1 0 0"/>
  </actuator>
  <sensor>
    <jointpos name="hip_angle" joint="hip"/>
    <actuatorfrc name="hip_force" actuator="hip_motor"/>
    <framepos name="distance" objtype="site" objname="tip" reftype="body" refname="upper"/>
    <tendonpos name="length" tendon="string"/>
    <touch name="touch" site="tip"/>
    <framepos name="seen" objtype="camera" objname="view"/>
    <framepos objtype="xbody" objname="ball"/>
    <clock name="clock"/>
  </sensor>
  <equality>
    <joint name="coupled" joint1="hip" joint2="knee" active="false"/>
    <weld name="glued" body1="lower" body2="ball" active="false"/>
    <tendon name="tied" tendon1="cable" active="false"/>
  </equality>
  <contact>
    <exclude name="apart" body1="upper" body2="ball"/>
    <pair name="touching" geom1="floor" geom2="shin"/>
  </contact>
  <custom><tuple name="both"><element objtype="joint" objname="hip" prm="1"/></tuple></custom>
  <keyframe>
    <key name="bent" qpos="0.1 0.2 0 1 0 0" qvel="1 2 3 4 5" ctrl="1 2 3 4 5 6 7"/>
  </keyframe>
</mujoco>"""


def names(world: mjrig.World, kind: str) -> list[str]:
    """Local names of all elements of a kind."""
    count = {"actuator": world.model.nactuator, "tendon": world.model.ntendon}
    number = count.get(kind) or getattr(world.model, f"n{kind}")
    found = [getattr(world.model, kind)(i).name for i in range(number)]
    return [name.removeprefix("robot/") for name in found]


def same_model(first: Any, second: Any) -> None:
    """Whether two models are the same but for the names of things."""
    for name in dir(first):
        values = getattr(first, name)
        if isinstance(values, np.ndarray) and not name.startswith(("name_", "names", "paths", "_")):
            assert np.array_equal(values, getattr(second, name)), name


# Scenery ----------------------------------------------------------------------------------------


def test_scenery_goes_with_what_refers_to_it() -> None:
    world = make_world(WEB, scenery=False)
    model = world.model
    assert [model.geom(i).name for i in range(model.ngeom)] == [
        "robot/thigh", "robot/shin", "robot/ball",
    ]  # fmt: skip
    assert (model.nlight, model.ncam, model.npair) == (0, 1, 0)
    assert "seen" not in names(world, "sensor")
    assert model.site("robot/post").id >= 0


def test_scenery_in_a_frame_is_scenery_too() -> None:
    framed = WEB.replace(
        '<geom size="0.1" pos="5 0 0"/>', '<frame pos="1 0 0"><geom size="0.1"/><camera/></frame>'
    )
    model = make_world(framed, scenery=False).model
    assert (model.ngeom, model.ncam) == (3, 1)


def test_scenery_stays_unless_told() -> None:
    assert make_world(WEB).model.ngeom == 5


# Base -------------------------------------------------------------------------------------------


def test_a_fixed_base_loses_its_free_joint_and_the_keyframes_follow() -> None:
    world, robot = make_robot(ROVER, base="fixed")
    assert robot.joint_names == ("turn",)
    world.reset("home")
    assert world.data.qpos.tolist() == [0.3]
    assert world.data.qvel.tolist() == [0.0]
    assert world.data.body("robot/base").xpos == pytest.approx([0, 0, 0.5])


def test_a_free_base_gets_a_joint_of_its_bodys_name() -> None:
    fixed = arm(keys='<key name="bent" qpos="0.1 0.2"/>').replace(
        '<joint name="shoulder"/>', "", 1
    ).replace('<joint joint="shoulder" coef="1"/>', "").replace(
        '<motor name="a" joint="shoulder"/>', ""
    ).replace("0.1 0.2", "0.2")  # fmt: skip
    world, robot = make_robot(fixed, base="free", pose={"position": [0, 0, 2]})
    assert robot.joint_names == ("upper", "elbow")
    world.reset("bent")
    assert world.data.qpos.tolist() == [0, 0, 2, 1, 0, 0, 0, 0.2]


@pytest.mark.parametrize("base", ["fixed", "model"])
def test_a_base_without_a_free_joint_is_fixed_already(base: str) -> None:
    assert make_robot(arm(), base=base)[1].joint_names == ("shoulder", "elbow")


def test_a_base_that_is_free_already_stays() -> None:
    assert make_robot(ROVER, base="free")[1].joint_names == ("root", "turn")


@pytest.mark.parametrize(
    ("xml", "base", "message"),
    [
        (WEB, "free", "robot.base: only a model with … 2: …"),
        (arm(), "free", "robot.base: the root body 'upper' has …"),
    ],
)  # fmt: skip
def test_a_base_that_cannot_be_freed_is_refused(xml: str, base: str, message: str) -> None:
    with refused(mjrig.PropertyError, message):
        make_robot(xml, base=base)


def test_which_of_several_free_bodies_is_the_base_cannot_be_known() -> None:
    box = '<body name="{0}"><freejoint/><geom size="0.1"/></body>'
    xml = f"<mujoco><worldbody>{box.format('a')}{box.format('b')}</worldbody></mujoco>"
    message = "robot.base: the model has several …"
    with refused(mjrig.PropertyError, message):
        make_robot(xml, base="fixed")


# Removed ----------------------------------------------------------------------------------------


def test_a_joint_takes_along_what_cannot_be_without_it() -> None:
    world, robot = make_robot(WEB, removed=["hip"])
    assert robot.joint_names == ("knee", "roll")
    assert names(world, "actuator") == ["knee_motor", "push", "crank", "stick", "turn"]
    gone = {"hip_angle", "hip_force"}
    assert gone.isdisjoint(names(world, "sensor")) and len(names(world, "sensor")) == 6
    assert names(world, "tendon") == ["string"]
    assert [world.model.eq(i).name for i in range(world.model.neq)] == ["robot/glued"]
    world.reset("bent")
    assert world.data.qpos.tolist() == [0.2, 0, 1, 0, 0]
    assert world.data.qvel.tolist() == [2, 3, 4, 5]
    world.step()
    assert world.data.ctrl.tolist() == [2, 4, 5, 6, 7]


def test_a_reference_site_is_dropped_and_its_actuator_stays() -> None:
    world, _ = make_robot(WEB, removed=["tip"])
    assert "push" in names(world, "actuator") and "crank" not in names(world, "actuator")
    assert world.model.actuator("robot/push").trnid[1] == -1
    assert {"distance", "touch"}.isdisjoint(names(world, "sensor"))
    assert names(world, "tendon") == ["cable"]


def test_a_body_takes_along_what_is_in_it() -> None:
    world, robot = make_robot(WEB, removed=["lower"])
    assert robot.joint_names == ("hip", "roll")
    assert names(world, "actuator") == ["hip_motor", "push", "turn"]
    assert world.model.ncam == 1
    # What looked at it stands still.
    assert world.model.cam("robot/view").mode[0] == mujoco.mjtCamLight.mjCAMLIGHT_FIXED
    assert world.model.light("robot/sun").mode[0] == mujoco.mjtCamLight.mjCAMLIGHT_FIXED
    world.reset("bent")
    assert world.data.qpos.tolist() == [0.1, 0, 1, 0, 0]


def test_removed_are_patterns_and_kinds() -> None:
    world, robot = make_robot(WEB, removed=[".*_motor", "joint:roll", "bent", "body:ball"])
    assert names(world, "actuator") == ["push", "crank", "stick"]
    assert robot.joint_names == ("hip", "knee")
    assert robot.keyframes == ()


def test_one_removed_element_may_be_written_alone() -> None:
    assert make_robot(WEB, removed="knee")[1].joint_names == ("hip", "roll")


def dependents(spec: Any, name: str) -> list[str]:
    """What goes along with an element."""
    name_everything(spec)
    start = find_elements(spec, name)
    return [str(element) for element in closure(spec, start) if element not in start]


def test_what_goes_along_is_everything_that_needs_it() -> None:
    spec = mujoco.MjSpec.from_string(WEB)
    found = dependents(spec, "hip")
    assert found == [
        "tendon 'cable'", "actuator 'hip_motor'", "sensor 'hip_angle'", "equality 'coupled'",
        "tuple 'both'", "actuator 'cable_motor'", "sensor 'hip_force'", "equality 'tied'",
    ]  # fmt: skip
    assert dependents(spec, "hip_angle") == []
    assert "sensor 'ball_framepos'" in dependents(spec, "body:ball")


def test_what_is_in_bodies_without_names_goes_too() -> None:
    spec = mujoco.MjSpec.from_string(
        '<mujoco><worldbody><body name="a"><geom size="1"/><body><joint name="j"/>'
        '<geom size="1"/></body></body></worldbody></mujoco>'
    )
    assert dependents(spec, "a") == [
        "body 'body'", "joint 'j'", "a geom without a name", "a geom without a name",
    ]  # fmt: skip


def test_whatever_is_removed_the_rest_compiles() -> None:
    spec = mujoco.MjSpec.from_string(WEB)
    kinds = ("bodies", "joints", "geoms", "sites", "tendons", "actuators", "sensors", "cameras",
             "equalities", "lights", "pairs", "excludes", "tuples")  # fmt: skip
    singular = {"bodies": "body", "equalities": "equality"}
    for many in kinds:
        kind = singular.get(many, many[:-1])
        for element in getattr(spec, many):
            if element.name not in ("", "world"):
                # Bodies must not be left without mass: that is the model's own trouble.
                if element.name in ("thigh", "shin") or (kind, element.name) == ("geom", "ball"):
                    continue
                make_robot(WEB, removed=[f"{kind}:{element.name}"])


# Renamed ----------------------------------------------------------------------------------------


def test_references_follow_other_names() -> None:
    spec = mujoco.MjSpec.from_string(WEB)
    held = {(r.kind, r.name) for r in references(spec)}
    renamed = {f"{kind}:{name}": f"new_{name}" for kind, name in sorted(held)}
    world, robot = make_robot(WEB, renamed=renamed)
    same_model(make_world(WEB).model, world.model)
    assert robot.joint_names == ("new_hip", "new_knee", "new_roll")
    world.reset("bent")
    assert world.data.qpos.tolist() == [0.1, 0.2, 0, 1, 0, 0]
    assert len(held) > 12


def test_names_can_be_swapped() -> None:
    _, robot = make_robot(WEB, renamed={"hip": "knee", "knee": "hip"})
    assert robot.joint_names == ("knee", "hip", "roll")
    assert robot.bindings[0].joint == "knee"


def test_keyframes_and_actuators_can_be_renamed() -> None:
    _, robot = make_robot(WEB, renamed={"bent": "home", "hip_motor": "hip"}, keyframe="home")
    assert robot.keyframes == ("home",)
    assert robot.actuator_names[0] == "hip"


def test_patterns_in_the_scene_are_over_the_new_names() -> None:
    world, _ = make_robot(WEB, renamed={"hip": "pelvis"}, joints={"pelvis": 0.4})
    assert world.data.qpos[0] == 0.4


SKIN = """
<mujoco>
  <worldbody>
    <body name="b"><joint name="j"/><geom size="0.1"/></body>
    <body name="c"><geom size="0.1"/></body>
  </worldbody>
  <deformable>
    <skin name="skin" vertex="0 0 0 1 0 0 0 1 0" face="0 1 2">
      <bone body="b" bindpos="0 0 0" bindquat="1 0 0 0" vertid="0 1 2" vertweight="1 1 1"/>
    </skin>
    <flex name="flex" dim="1" body="b c" vertex="0 0 0 1 0 0" element="0 1">
      <edge stiffness="1"/>
    </flex>
  </deformable>
</mujoco>"""


def test_skins_and_flexes_follow_their_bodies() -> None:
    model = make_world(SKIN, renamed={"b": "bone"}).model
    bone = model.body("robot/bone").id
    assert model.skin_bonebodyid.tolist() == [bone]
    assert bone in model.flex_vertbodyid.tolist()
    model = make_world(SKIN, removed="b").model
    assert (model.nskin, model.nflex, model.nbody) == (0, 0, 2)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("removed: [hpi]",
         "4:16: actors[0].removed: dog.removed: the model has no … 'hpi'; … 'hip'?"),
        ("removed: [hip, body:bal]",
         "4:21: actors[0].removed: dog.removed: the model has no … 'bal'; … 'ball'?"),
        ("removed: ball",
         "4:15: actors[0].removed: dog.removed: 'ball' is body 'ball', geom 'ball'; "
         "write body:ball … geom:ball"),
        ("renamed: {hpi: x}",
         "4:16: actors[0].renamed: dog.renamed: the model has no … 'hpi'; … 'hip'?"),
        ("renamed: {hip: knee}",
         "4:15: actors[0].renamed: dog.renamed: joint 'hip' cannot be 'knee': there …"),
        ("renamed: {'.*_motor': x}",
         "4:16: actors[0].renamed: dog.renamed: '.*_motor' is actuator 'hip_motor', "
         "actuator 'knee_motor', actuator 'cable_motor'; …"),
        ("dynamics: {armature: {hpi: 1}}",
         "4:28: actors[0].dynamics.armature: dog.dynamics.armature: 'hpi' matches no "
         "joint of 'dog'; … 'hip'?"),
        ("dynamics: {damping: {hip: 1, 'h.*': 2}}", "4:35: actors[0].dynamics.damping: "
         "dog.dynamics.damping: 'hip' is matched by 'hip' (1) and 'h.*' (2)"),
    ],
)  # fmt: skip
def test_a_wrong_edit_is_refused_at_its_place(tmp_path: Path, line: str, message: str) -> None:
    text = f"actors:\n  - {{name: dog, model: web.xml,\n     {line}}}\n"
    scene = scene_of(tmp_path, text, web=WEB)
    with refused(mjrig.SceneError, f"{tmp_path / 'scene.yaml'}:{message}"):
        mjrig.World(scene)


# Dynamics ---------------------------------------------------------------------------------------


def test_dynamics_are_written_over_the_models() -> None:
    world, _ = make_robot(
        WEB,
        dynamics={
            "armature": {"hip|knee": 0.3},
            "damping": {".*": 2.0},
            "frictionloss": {"knee": 0.1},
            "stiffness": {"hip": 7.0},
        },
    )
    model = world.model
    hip, knee = (model.joint(f"robot/{name}") for name in ("hip", "knee"))
    assert (hip.stiffness.tolist()[0], knee.stiffness.tolist()[0]) == (7.0, 0.0)
    dof = [int(hip.dofadr[0]), int(knee.dofadr[0])]
    assert model.dof_armature[dof].tolist() == [0.3, 0.3]
    assert model.dof_damping.reshape(model.nv, -1)[:, 0].tolist() == [2.0] * 5
    assert model.dof_frictionloss[dof].tolist() == [0.0, 0.1]
    assert model.dof_armature[2] == 0.0


LIMBS = """<mujoco><compiler angle="{angle}" autolimits="{auto}"/><worldbody>
<body name="a"><joint name="turn" {turn}/><geom size=".1"/>
<body name="b"><joint name="push" type="slide" {push}/><geom size=".1"/>
<body name="c"><joint name="round" type="ball" {round}/><geom size=".1"/>
<body name="d"><joint name="other" range="-1 1" limited="true"/><geom size=".1"/>
</body></body></body></body></worldbody></mujoco>"""
_FIELDS = ("jnt_limited", "jnt_range", "jnt_actfrclimited", "jnt_actfrcrange")


@pytest.mark.parametrize("angle", ["radian", "degree"])
@pytest.mark.parametrize("auto", ["true", "false"])
@pytest.mark.parametrize("before", ["", 'range="0 0.5" limited="true"', 'limited="false"'])
def test_limits_are_those_of_a_model_written_by_hand(angle: str, auto: str, before: str) -> None:
    empty = {"turn": before, "push": before, "round": before}
    world, _ = make_robot(
        LIMBS.format(angle=angle, auto=auto, **empty),
        dynamics={
            "range": {"turn": [-0.4, 1.2], "push": [0.1, 0.3], "rou.*": [0, 2.5]},
            "actuatorfrcrange": {"turn|push": [-7, 9]},
        },
    )
    scale = np.degrees(1.0) if angle == "degree" else 1.0
    effort = 'actuatorfrcrange="-7 9" actuatorfrclimited="true" limited="true"'
    by_hand = LIMBS.format(
        angle=angle,
        auto=auto,
        turn=f'range="{-0.4 * scale} {1.2 * scale}" {effort}',
        push=f'range="0.1 0.3" {effort}',
        round=f'range="0 {2.5 * scale}" limited="true"',
    )
    wanted = mujoco.MjModel.from_xml_string(by_hand)
    for name in _FIELDS:
        assert np.allclose(getattr(world.model, name), getattr(wanted, name), atol=1e-12), name


@pytest.mark.parametrize(
    ("dynamics", "message"),
    [
        ({"range": {"round": [-1, 2]}}, "'round' is a ball joint, … 0 … [-1, 2]; [0, 2] …"),
        ({"range": {"turn": [1, 1]}}, "must be [low, high] with low < … [1, 1] … 'turn'"),
        ({"range": {"turn": [1, 2], "t.*": [1, 3]}},
         "'turn' is matched by 'turn' ((1.0, 2.0)) and 't.*' ((1.0, 3.0))"),
        ({"actuatorfrcrange": {"round": [-1, 1]}}, "'round' matches no hinge or …"),
    ],
)  # fmt: skip
def test_limits_that_no_joint_can_have_are_refused(dynamics: Any, message: str) -> None:
    model = LIMBS.format(angle="radian", auto="true", turn="", push="", round="")
    with pytest.raises(mjrig.MjrigError) as refusal:
        make_robot(model, dynamics=dynamics)
    assert mentions(str(refusal.value), message)


@pytest.mark.parametrize("seed", range(5))
def test_a_mapping_without_some_slots_says_the_same_of_the_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [f"{side}_{part}" for side in "lr" for part in ("hip", "knee", "foot")]
    slots = Slots([(name,) for name in names])
    patterns = ["l_.*", ".*_hip", "r_knee", ".*_(knee|foot)"]
    values = {p: 3.0 for p in rng.permutation(patterns).tolist()}
    taken = rng.choice(len(names), 2, replace=False).tolist()
    before = {i: v for i, (_, v) in slots.spread(values).items()}
    after = {i: v for i, (_, v) in slots.spread(slots.without(values, taken)).items()}
    assert after == {i: v for i, v in before.items() if i not in taken}
