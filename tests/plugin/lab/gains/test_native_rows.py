"""Native servos as gain rows: values, origins, limits, edits, presets and responses."""

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components import PDController
from mjrig.lab.gains.gain_presets import fit, read_preset, save_preset
from mjrig.lab.gains.gain_rows import GainRow, gain_rows, set_gains
from mjrig.lab.responses.joint_response import respond
from mjrig.lab.rollouts.joint_bench import Bench
from mjrig.lab.rollouts.signals import Signal
from tests.campaign import Tally
from tests.plugin.composing import scene_of
from tests.wording import mentions
from tests.worlds import hinge, make_world

#: Two arms alike: position, velocity and pid actuators, a gripper in its own units, a motor.
TWO = "".join(
    f"""<body name="{side}_upper" pos="0 {y} 0"><joint name="{side}_shoulder" axis="0 1 0"
      range="-90 90" armature="0.1"/><geom size="0.1"/>
      <body name="{side}_lower" pos="0.4 0 0"><joint name="{side}_elbow" axis="0 1 0"
        range="-90 90" armature="0.05" actuatorfrcrange="-9 9"/><geom size="0.05"/>
        <body name="{side}_hand" pos="0.2 0 0"><joint name="{side}_grip" type="slide"
          range="0 0.1"/><geom size="0.03"/></body></body></body>"""
    for side, y in (("left", 1), ("right", -1))
)
ACTUATORS = "".join(
    f"""<position name="{side}_shoulder" joint="{side}_shoulder" kp="200" dampratio="1"
          forcerange="-30 30" gear="2"/>
        <pid name="{side}_elbow" joint="{side}_elbow" kp="80" kv="4" ki="5" input="pos"/>
        <general name="{side}_grip" joint="{side}_grip" gainprm="2" biastype="affine"
          biasprm="0 -510 -20" ctrlrange="0 255"/>"""
    for side in ("left", "right")
)
ROBOT = f"<mujoco><worldbody>{TWO}</worldbody><actuator>{ACTUATORS}</actuator></mujoco>"
SCENE = "actors:\n  - name: robot\n    model: two.xml\n"


def rows_of(scene: mjrig.Scene) -> dict[str, GainRow]:
    """The gain rows of a scene by actuator."""
    return {row.actuator: row for row in gain_rows(mjrig.World(scene), scene)}


def test_native_gains_are_rows(tmp_path: Path) -> None:
    row = rows_of(scene_of(tmp_path, SCENE, two=ROBOT))
    shoulder, elbow, grip = (row[f"left_{n}"] for n in ("shoulder", "elbow", "grip"))
    assert list(shoulder.values) == ["kp", "kv", "torque_limit", "dampratio"]
    assert (shoulder.values["kp"], shoulder.values["dampratio"]) == (200.0, 1.0)
    assert shoulder.values["kv"] > 0.0 and shoulder.stiffness == 800.0
    assert shoulder.origins == dict.fromkeys(shoulder.paths, "model two.xml")
    assert (shoulder.limit, shoulder.limited_by) == (60.0, "model forcerange")
    assert (elbow.values["ki"], elbow.limit, elbow.limited_by) == (5, 9, "model actuatorfrcrange")
    assert (grip.values["kp"], grip.limit, grip.limited_by) == (510, math.inf, "")
    assert grip.scale == pytest.approx(2 / 510)
    assert shoulder.scale == 0.5


def test_edits_are_small_and_keep_kv_and_dampratio_apart(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, SCENE, two=ROBOT)
    rows = rows_of(scene)
    both = [rows["left_shoulder"], rows["right_shoulder"]]
    set_gains(scene, [(row, {"kp": 300, "torque_limit": 40}) for row in both], group="shoulder")
    set_gains(scene, [(both[0], {"kv": 7})])
    set_gains(scene, [(both[1], {"dampratio": 0.5})])
    gains = scene.actors[0].to_data()["native_gains"]
    assert gains == {
        "kp": {".*shoulder": 300},
        "forcerange": {".*shoulder": [-20, 20]},
        "kv": {"left_shoulder": 7},
        "dampratio": {"right_shoulder": 0.5},
    }
    set_gains(scene, [(both[0], {"dampratio": 2, "kp": 10})])
    assert scene.actors[0].to_data()["native_gains"] == {
        "kp": {"right_shoulder": 300, "left_shoulder": 10},
        "forcerange": {".*shoulder": [-20, 20]},
        "dampratio": {"right_shoulder": 0.5, "left_shoulder": 2},
    }
    row = rows_of(scene)["left_shoulder"]
    assert (row.values["kp"], row.values["dampratio"], row.limit) == (10, 2, 40)
    assert row.origins["kp"] == "scene" and row.limited_by == "scene forcerange"


def test_presets_keep_native_gains(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, SCENE, two=ROBOT)
    rows = rows_of(scene)
    save_preset(tmp_path / "model.yaml", list(rows.values()))
    set_gains(scene, [(rows["left_shoulder"], {"kp": 5, "kv": 1}), (rows["left_grip"], {"kp": 9})])
    changed = gain_rows(mjrig.World(scene), scene)
    found = fit(read_preset(tmp_path / "model.yaml"), changed)
    assert not found.missing and not found.extra
    set_gains(scene, found.changes)
    for name, row in rows_of(scene).items():
        assert row.values == pytest.approx(rows[name].values, rel=1e-6), name


def test_actuators_that_the_scene_adds_are_edited_there(tmp_path: Path) -> None:
    added = "    actuators:\n      - {type: PositionActuator, replaces: left_elbow, kp: 50}\n"
    added += "      - {type: PositionActuator, replaces: '.*_grip', kp: 60}\n"
    scene = scene_of(tmp_path, SCENE + added, two=ROBOT)
    rows = rows_of(scene)
    set_gains(scene, [(rows["left_elbow"], {"kp": 70, "torque_limit": 4})])
    added_first = scene.actors[0].actuators[0].to_data()
    assert (added_first["kp"], added_first["forcerange"]) == (70, [-4, 4])
    assert mentions(rows["left_grip"].locked, "it is one of 2 … robot.actuators[1] …")


# Responses --------------------------------------------------------------------------------------


def some_servo(rng: random.Random) -> tuple[str, dict[str, Any]]:
    """An arm with one position actuator, as an element and as numbers."""
    kp, kv, gear = rng.uniform(20, 200), rng.uniform(1, 8), rng.choice([1.0, -1.0, 2.0, 0.5])
    scale = rng.choice([1.0, 0.02, 3.0])
    limit = rng.choice(["", f'forcerange="{-rng.uniform(1, 40):.2f} {rng.uniform(1, 40):.2f}"'])
    kp, kv = kp / gear**2, kv / gear**2
    actuator = (
        f'<general name="drive" joint="swing" gear="{gear}" {limit} biastype="affine" '
        f'gainprm="{kp * scale!r}" biasprm="0 {-kp!r} {-kv!r}"/>'
    )
    return actuator, {"kp": kp * gear**2, "kv": kv * gear**2}


def arm_with(actuator: str) -> str:
    return f"""<mujoco><worldbody><body name="link"><joint name="swing" axis="0 1 0"
      range="-170 170" damping="0.1"/><geom type="capsule" fromto="0 0 0 0.4 0 -0.1" size="0.05"/>
      </body></worldbody><actuator>{actuator}</actuator></mujoco>"""


@pytest.mark.campaign
def test_a_servo_responds_as_the_same_law_on_a_motor(tally: Tally) -> None:
    for rng in tally.cases("responses of servos against a controller", 3, 400):
        actuator, gains = some_servo(rng)
        before = actuator.partition("biastype")[0].replace("<general", "<motor")
        motor = make_world(arm_with(before + "/>"), [PDController(**gains)])
        servo = make_world(arm_with(actuator))
        signal = Signal(duration=0.2, amplitude=rng.uniform(0.02, 0.6))
        (one,), (other,) = (Bench(w).run("robot", ["drive"], signal) for w in (servo, motor))
        if one.trace is None or other.trace is None:
            if one.problem != other.problem:
                tally.found(f"{one.problem}, but {other.problem}: {actuator}")
            continue
        for name in ("target", "position", "raw_effort", "applied_effort"):
            mine, yours = getattr(one.trace, name), getattr(other.trace, name)
            size = min(len(mine), len(yours))
            if not np.allclose(mine[:size], yours[:size], rtol=1e-5, atol=1e-6):
                tally.found(f"{name}: {actuator} with {gains}, amplitude {signal.amplitude}")


def test_tune_respond_tests_servos(tmp_path: Path) -> None:
    text = SCENE.replace("robot\n", "robot\n    joints: {'.*_grip': 0.05}\n")
    found = respond(
        scene_of(tmp_path, text, two=ROBOT), joint="left_.*", signal=Signal(duration=0.2)
    )
    assert [f.label for f in found] == [f"robot.left_{n}" for n in ("shoulder", "elbow", "grip")]
    assert all(f.response.metrics is not None for f in found)


# Limits -----------------------------------------------------------------------------------------


def some_limits(rng: random.Random) -> tuple[str, str]:
    """Attributes of a joint and of an actuator, each with or without a range."""

    def span() -> str:
        return f"{-rng.uniform(0.5, 9):.3f} {rng.uniform(0.5, 9):.3f}"

    joint = rng.choice(["", f'actuatorfrcrange="{span()}"'])
    force = rng.choice(["", f'forcerange="{span()}"'])
    ctrl = rng.choice(["", f'ctrlrange="{span()}"'])
    return joint, f'gear="{rng.choice([1.0, -2.0, 0.5])}" {force} {ctrl}'


@pytest.mark.campaign
def test_the_limit_is_what_mujoco_lets_through(tally: Tally) -> None:
    for rng in tally.cases("effort limits against the largest effort", 8, 1_500):
        joint, limits = some_limits(rng)
        servo = rng.random() < 0.5
        limit = rng.choice([{}, {"torque_limit": round(rng.uniform(0.5, 9), 3)}])
        laws = [] if servo else [PDController(kp=1e5, kv=0, **limit)]
        kind = '<position kp="1e5" ' if servo else "<motor "
        if servo:
            limits = limits.partition("ctrlrange")[0]  # of a target, not of an effort
        xml = arm_with(f'{kind} name="drive" joint="swing" {limits}/>')
        world = make_world(xml.replace('damping="0.1"', joint), laws)
        (row,) = gain_rows(world, world.scene)
        most = []
        for target in (1e4, -1e4):
            world.reset()
            world["robot"].set_targets({"drive": target})
            world.step()
            most.append(abs(float(world.data.qfrc_actuator[0])))
        allowed = min(most) if min(most) < 1e6 else math.inf
        if not (row.limit == allowed or math.isclose(row.limit, allowed, rel_tol=1e-9)):
            tally.found(f"{row.limit} by {row.limited_by}, not {allowed}: {xml} {limit}")
        if (row.limit < math.inf) != bool(row.limited_by):
            tally.found(f"{row.limit} by {row.limited_by!r}: {xml}")


def test_a_servo_in_other_units_holds_the_pose_it_starts_in() -> None:
    world = make_world(ROBOT, joints={"left_grip": 0.04, "right_grip": 0.07})
    world.model.opt.gravity[:] = 0.0
    world.step()
    ids = [world.model.actuator(f"robot/{side}_grip").id for side in ("left", "right")]
    assert world.data.ctrl[ids] == pytest.approx([0.04 * 510 / 2, 0.07 * 510 / 2])
    assert world.data.actuator_force[ids] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    "law",
    [
        '<pid name="drive" joint="swing" kp="30" kv="3" ki="60" forcerange="{0} {1}"/>',
        '<position joint="swing" name="drive" kp="9" kv="1" timeconst=".03" forcerange="{0} {1}"/>',
        '<position name="drive" joint="swing" kp="30" kv="3" gear="2" forcerange="{0} {1}"/>',
    ],
)
@pytest.mark.parametrize("limit", [1000.0, 2.0])
def test_a_servo_is_saturated_only_where_its_forcerange_cuts(law: str, limit: float) -> None:
    """Also one with an activation, which MuJoCo has advanced when the effort is read."""
    world = make_world(hinge(law.format(-limit, limit), option=""))
    robot = world["robot"]
    [servo] = robot.servos
    robot.set_targets({"drive": 0.8})
    for _ in range(300):
        world.step()
        force = float(world.data.actuator_force[0])
        is_cut = abs(force) >= limit
        assert servo.effort() == pytest.approx(servo.gear * force, rel=1e-9)
        assert (abs(servo.raw_effort() - servo.effort()) > 1e-9) <= is_cut
