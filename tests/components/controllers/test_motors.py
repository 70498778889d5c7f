"""Motors named by a scene: joints, native servos, clamps of controllers, the servos' own laws."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import mjrig
from mjrig.components.laws.pipeline import Pipeline
from mjrig.components.laws.servo import CurrentServo, VoltageServo
from mjrig.core.errors import SceneError
from mjrig.core.scene.editing.file_watch import files_named
from tests.wording import regex

MODEL = """<mujoco><compiler angle="radian"/><option timestep="0.001"/><worldbody>
<body name="a"><joint name="hip" axis="0 1 0" armature="0.5" damping="3"/>
<geom type="capsule" size=".02" fromto="0 0 0 .15 0 0" mass=".3"/>
<body name="b" pos=".15 0 0"><joint name="knee" axis="0 1 0"/>
<geom type="sphere" size=".02" mass="1" pos=".15 0 0"/>
<body name="c" pos=".15 0 0"><joint name="loose" axis="0 1 0" damping="0.01"/>
<geom type="sphere" size=".01" mass=".1" pos=".05 0 0"/></body>
</body></body></worldbody><actuator>{}</actuator></mujoco>"""
POSITION = '<position name="hip_servo" joint="hip" kp="9" kv="2"/><position joint="knee" kp="9"/>'
MOTOR = '<motor name="hip_motor" joint="hip" gear="{g}"/><motor joint="knee" gear="{g}"/>'
MX106 = (56.05253827993254, 10.67060286677909, 1.619640458684654)
PD = {"type": "PDController", "kp": 40, "kv": 0.5, "torque_limit": "inf"}


def world(
    folder: Path,
    motors: Any,
    *components: Any,
    drive: str = POSITION,
    mode: str = "auto",
    **more: Any,
) -> mjrig.World:
    (folder / "leg.xml").write_text(MODEL.format(drive), encoding="utf-8")
    actor = {"name": "leg", "model": "leg.xml", "motors": motors, "components": [*components]}
    text = yaml.safe_dump({"mjrig": 1, "actors": [{**actor, **more}]})
    return mjrig.World(mjrig.Scene.parse(text, base=folder), mode)


def controller(of: mjrig.World) -> Any:
    return of["leg"].controllers[0]


def joint(of: mjrig.World, name: str) -> list[float]:
    i = of.model.joint(f"leg/{name}").dofadr[0]
    model = of.model
    return [model.dof_armature[i], model.dof_frictionloss[i], model.dof_damping[i]]


def servo(of: mjrig.World, index: int) -> list[float]:
    model = of.model
    return [*model.actuator_gainprm[index][:1], *model.actuator_biasprm[index][:3],
            *model.actuator_forcerange[index]]  # fmt: skip


# Joints and native servos -------------------------------------------------------------------------


def test_a_voltage_servo_becomes_its_native_form(tmp_path: Path) -> None:
    made = world(tmp_path, "mx-106")
    k, limit, back_emf = MX106
    for i, name in enumerate(("hip", "knee")):
        assert joint(made, name) == pytest.approx([0.026609, 0.10352, 0.035202 + back_emf])
        assert servo(made, i) == pytest.approx([k, 0, -k, 0, -limit, limit])
    assert joint(made, "loose") == [0, 0, 0.01]  # no actuator: no motor


def test_patterns_name_joints_or_actuators(tmp_path: Path) -> None:
    made = world(tmp_path, {"hip_servo": "mx-64", "default": "sts3215"})
    assert joint(made, "hip")[0] == 0.011951
    assert joint(made, "knee")[0] == 0.028403
    assert [b.motor.name for b in made["leg"].actuators if b.motor] == ["mx-64", "sts3215"]
    only = world(tmp_path, {"knee": "mx-64"})
    assert joint(only, "hip") == [0.5, 0, 3]
    assert only["leg"].actuators[0].motor is None
    passive = world(tmp_path, {"loose": "mx-64"})
    assert joint(passive, "loose") == [0.011951, 0.09039, 0.011692]


def test_gears_are_taken_into_account(tmp_path: Path) -> None:
    k, limit, _ = MX106
    drive = '<position joint="hip" kp="1" gear="-2"/><motor joint="knee"/>'
    made = world(tmp_path, "mx-106", drive=drive)
    assert servo(made, 0) == pytest.approx([k / 4, 0, -k / 4, 0, -limit / 2, limit / 2])
    assert joint(made, "knee")[2] == 0.035202  # driven by torque: no back-EMF in the damping


def test_what_the_scene_says_wins(tmp_path: Path) -> None:
    k, limit, back_emf = MX106
    made = world(
        tmp_path,
        "mx-106",
        dynamics={"armature": {"hip": 0.2}, "damping": {"knee": 0.7}},
        native_gains={"kp": {"hip_servo": 5}, "forcerange": {"knee": [-1, 1]}},
    )
    assert joint(made, "hip") == pytest.approx([0.2, 0.10352, 0.035202 + back_emf])
    assert joint(made, "knee") == pytest.approx([0.026609, 0.10352, 0.7])
    assert servo(made, 0) == pytest.approx([5, 0, -5, 0, -limit, limit])
    assert servo(made, 1) == pytest.approx([k, 0, -k, 0, -1, 1])


def test_authored_actuators_are_servos_too(tmp_path: Path) -> None:
    k, limit, _ = MX106
    added = [
        {"type": "PositionActuator", "joint": "hip"},
        {"type": "PositionActuator", "joint": "knee", "kp": 7},
    ]
    made = world(tmp_path, "mx-106", drive="", actuators=added)
    assert servo(made, 0) == pytest.approx([k, 0, -k, 0, -limit, limit])
    assert servo(made, 1) == pytest.approx([7, 0, -7, 0, -limit, limit])


def test_unknown_numbers_stay_the_models(tmp_path: Path) -> None:
    assert joint(world(tmp_path, {"hip": "go2hv"}), "hip") == [0.5, 0, 3]
    assert joint(world(tmp_path, {"hip": "m107-15"}), "hip") == [0.063259741, 0, 3]


@pytest.mark.parametrize(
    ("motors", "problem"),
    [
        ("mx-107", "leg.motors: there is no motor 'mx-107'; … 'mx-106'"),
        ({"hip": "sts3215:m6"}, "has no fit 'm6'; it … m1"),
        ({"hop": "mx-106"}, "'hop' matches no joint or … 'leg'; … 'hip'"),
        ({"hip.*": "mx-64", "hip_servo": "mx-106"}, "is matched by 'hip…' (mx-64) and"),
        ({"hip": 5}, "must be the name … 5 … 'hip'"),
        (["mx-106"], "must be a motor, …"),
        ("own.yaml", "there is no file"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, motors: Any, problem: str) -> None:
    with pytest.raises(SceneError, match=regex(problem)) as caught:
        world(tmp_path, motors)
    assert ":" in str(caught.value).partition("motors")[0]


def test_a_motor_beside_the_scene(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "mjrig_motor: 1\nfits: [{law: m1, armature: 0.3, coulomb: 0.1, viscous: 0}]\n",
        encoding="utf-8",
    )
    assert joint(world(tmp_path, "own.yaml"), "hip") == [0.3, 0.1, 0.0]
    (tmp_path / "own.yaml").write_text("mjrig_motor: 1\nfits: [{kt: -1}]\n", encoding="utf-8")
    with pytest.raises(SceneError, match=r"leg.motors: .*own.yaml:2:13: fits\[0\].kt: .*> 0"):
        world(tmp_path, "own.yaml")


def test_renaming_a_joint_renames_it_here(tmp_path: Path) -> None:
    made = world(tmp_path, {"hip": "mx-64", "default": "mx-106"})
    scene = made.scene
    scene.rename("leg.joint:hip", "thigh")
    assert scene.actors[0].authored("motors") == {"thigh": "mx-64", "default": "mx-106"}
    scene.actors[0].motors = "mx-64"
    scene.rename("leg.joint:thigh", "hip")
    assert scene.actors[0].authored("motors") == "mx-64"


def test_a_scene_in_another_folder_names_the_same_file(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("mjrig_motor: 1\n", encoding="utf-8")
    scene = world(tmp_path, {"hip": "own.yaml", "default": "mx-64"}).scene
    scene.move_to(tmp_path / "below")
    assert scene.actors[0].authored("motors") == {"hip": "../own.yaml", "default": "mx-64"}
    scene.actors[0].motors = "../own.yaml"
    scene.move_to(tmp_path)
    assert scene.actors[0].authored("motors") == "own.yaml"
    assert tmp_path / "own.yaml" in files_named(scene)


# Clamps of controllers ----------------------------------------------------------------------------


def test_controllers_are_limited_by_the_motors(tmp_path: Path) -> None:
    drive = MOTOR.format(g=1)
    made = world(tmp_path, {"hip": "n5020-16", "knee": "mx-64"}, PD, drive=drive, mode="python")
    law = controller(made)
    assert law.clamp_names == ("motor curve", "motor line", "torque_limit")
    made["leg"].set_targets([9.0, 9.0])
    made.step()
    assert made["leg"].effort.tolist() == pytest.approx([31.9, 5.9312411])  # at rest: y2
    made.data.qvel[:2] = 35.0, 4.0
    made.step()
    hip = 24.8 * (40.13 - 35.0) / (40.13 - 30.86)
    assert made["leg"].effort.tolist() == pytest.approx([hip, 5.9312411 * (1 - 4 / 8.8983051)])
    assert all(count[0] + count[1] >= 2 for count in list(law.clamp_counts.values())[:2])


def test_a_clamp_of_the_scene_comes_in_place_of_the_motors(tmp_path: Path) -> None:
    own = {**PD, "clamps": [{"type": "DCMotor", "saturation_effort": 2, "velocity_limit": 9}]}
    made = world(tmp_path, "n5020-16", own, drive=MOTOR.format(g=1))
    assert controller(made).clamp_names == ("clamps[0]", "torque_limit")


@pytest.mark.parametrize("gear", [1, -3, 0.5])
def test_executions_agree_to_the_bit(tmp_path: Path, gear: float) -> None:
    pytest.importorskip("numba")
    motors = {"hip": "n5020-16", "knee": "mx-64"}
    drive = MOTOR.format(g=gear)
    made = [world(tmp_path, motors, PD, drive=drive, mode=m) for m in ("python", "compiled")]
    found = []
    for one in made:
        states = []
        for step in range(200):
            one["leg"].set_targets([3 * math.sin(step / 20), 2 * math.cos(step / 9)])
            one.step()
            states.append([*one.data.qpos, *one["leg"].effort])
        found.append(states)
    assert found[0] == found[1]
    auto = world(tmp_path, motors, PD, drive=drive)["leg"].controllers[0].execution
    assert auto.name == "compiled"
    assert "driving and braking" in auto.reason


def test_a_live_edit_of_clamps_keeps_the_motors(tmp_path: Path) -> None:
    made = world(tmp_path, "n5020-16", PD, drive=MOTOR.format(g=1))
    law = controller(made)
    law.clamps = [{"type": "MaxEffort", "max_effort": 3}]
    assert law.clamp_names == ("motor curve", "clamps[0]", "torque_limit")
    made.step(3)


# Servo laws ---------------------------------------------------------------------------------------


def voltage_servo(q: float, w: float, target: float, k: dict[str, float]) -> float:
    """τm = kt V / R − kt² w / R, with the duty inside the limits of current and PWM."""
    duty = k["gain"] * (target - q)
    low, high = ((k["kt"] * w + s * k["resistance"] * k["current_limit"]) / k["voltage"]
                 for s in (-1, 1))  # fmt: skip
    duty = min(max(duty, low), high)
    duty = min(max(duty, -k["duty_limit"]), k["duty_limit"])
    return (k["kt"] * k["voltage"] * duty - k["kt"] ** 2 * w) / k["resistance"]


def test_the_voltage_servo_is_its_equation() -> None:
    random = np.random.default_rng(2)
    n = 3000
    k = {"gain": random.uniform(0.1, 9, n), "kt": random.uniform(0.3, 3, n),
         "resistance": random.uniform(1, 9, n), "voltage": random.uniform(5, 20, n),
         "duty_limit": random.uniform(0.3, 1, n),
         "current_limit": np.where(random.random(n) < 0.5, np.inf, random.uniform(0.1, 3, n)),
    }  # fmt: skip
    q, w, target = random.normal(size=(3, n)) * [[1.0], [4.0], [1.0]]
    pipe = Pipeline(VoltageServo(**k), size=n)
    expected = [
        voltage_servo(q[i], w[i], target[i], {name: v[i] for name, v in k.items()})
        for i in range(n)
    ]
    np.testing.assert_allclose(pipe.step(q, w, target), expected, rtol=1e-9, atol=1e-9)


def test_a_slewed_target_starts_at_the_joint_and_is_remembered() -> None:
    k = {"gain": 1.0, "kt": 1.0, "resistance": 1.0, "voltage": 1.0}
    pipe = Pipeline(VoltageServo(**k, slew_rate=5.2155), size=1)
    q, h = 0.3, 0.01
    moved = [float(pipe.step([q], [0.0], [0.5], dt=h)[0]) for _ in range(6)]
    expected = [min(5.2155 * h * (i + 1), 0.2) for i in range(6)]
    assert moved == pytest.approx(expected)
    saved = pipe.state.memory()
    after = float(pipe.step([q], [0.0], [-1.0], dt=h)[0])
    pipe.state.restore(saved)
    assert float(pipe.step([q], [0.0], [-1.0], dt=h)[0]) == after == pytest.approx(0.2 - 0.052155)
    pipe.reset()
    assert float(pipe.step([q], [0.0], [0.5], dt=h)[0]) == pytest.approx(5.2155 * h)


@pytest.mark.parametrize("last", ["voltage", "current"])
def test_the_current_servo_is_its_equation(last: str) -> None:
    random = np.random.default_rng(3)
    n = 2000
    gain, kt, volts = random.uniform(1, 90, n), random.uniform(1, 9, n), 48.0
    ohms, most = random.uniform(0.5, 3, n), 12.0
    q, w, target = random.normal(size=(3, n)) * [[1.0], [9.0], [1.0]]
    damping = 2 * np.sqrt(gain)
    law = CurrentServo(gain, damping, kt, most, volts, ohms, last)
    current = gain * (target - q) - damping * w
    inside = [lambda i: np.clip(i, -most, most),
              lambda i: np.clip(i, (-volts - kt * w) / ohms, (volts - kt * w) / ohms)]  # fmt: skip
    for limit in inside if last == "voltage" else inside[::-1]:
        current = limit(current)
    np.testing.assert_allclose(Pipeline(law, size=n).step(q, w, target), kt * current, rtol=1e-12)
    free = CurrentServo(gain, damping, kt, most)
    expected = kt * np.clip(gain * (target - q) - damping * w, -most, most)
    np.testing.assert_allclose(Pipeline(free, size=n).step(q, w, target), expected, rtol=1e-12)


def test_the_servo_controller_takes_its_constants_from_the_motors(tmp_path: Path) -> None:
    made = world(tmp_path, "sts3215", {"type": "ServoController"}, drive=MOTOR.format(g=1))
    law: Any = controller(made).pipeline.law
    assert isinstance(law, VoltageServo)
    assert law.gain.tolist() == pytest.approx([32 * 0.166] * 2)
    assert law.slew_rate.tolist() == [5.2155] * 2
    made["leg"].set_targets([0.2, -0.2])
    state = made.snapshot()
    made.step(100)
    after = made.data.qpos.copy()
    made.restore(state)
    made.step(100)
    assert np.array_equal(made.data.qpos, after)


def test_the_native_form_has_the_same_limit(tmp_path: Path) -> None:
    """Both forms of a voltage servo come to the same motion as the timestep shrinks."""
    worst = []
    for h in (0.002, 0.0005):
        sim = {"sim": {"timestep": h}}
        native = _with_sim(tmp_path, sim, POSITION)
        explicit = _with_sim(tmp_path, sim, MOTOR.format(g=1), {"type": "ServoController"})
        gap = 0.0
        for _ in range(int(0.4 / h)):
            for one in (native, explicit):
                one["leg"].set_targets([0.5, -0.6])
                one.step()
            gap = max(gap, float(np.abs(native.data.qpos - explicit.data.qpos).max()))
        worst.append(gap)
    assert worst[1] < 0.4 * worst[0] < 0.02


def _with_sim(folder: Path, sim: Any, drive: str, *components: Any) -> mjrig.World:
    (folder / "leg.xml").write_text(MODEL.format(drive), encoding="utf-8")
    actor = {"name": "leg", "model": "leg.xml", "motors": "mx-106", "components": [*components]}
    text = yaml.safe_dump({"mjrig": 1, **sim, "actors": [actor]})
    return mjrig.World(mjrig.Scene.parse(text, base=folder))


@pytest.mark.parametrize(
    ("motors", "more", "problem"),
    [
        ({"hip": "mx-106"}, {}, "'leg/?.*knee' has no motor; name one on the actor|has no motor"),
        ("n5020-16", {}, "the motor 'n5020-16', which has no drive"),
        ("erob80-50", {}, "gain: the motor of 'hip_motor' has none; give one"),
        ({"hip": "mx-106", "knee": "erob80-50"}, {"gain": 20}, "have voltage, current drives"),
    ],
)
def test_a_servo_controller_without_a_drive_is_refused(
    tmp_path: Path, motors: Any, more: dict[str, Any], problem: str
) -> None:
    with pytest.raises(SceneError, match=problem):
        world(tmp_path, motors, {"type": "ServoController", **more}, drive=MOTOR.format(g=1))


def test_a_current_drive_runs_with_a_gain(tmp_path: Path) -> None:
    servo_law = {"type": "ServoController", "gain": 40}
    made = world(tmp_path, {"default": "erob80-50:m6"}, servo_law, drive=MOTOR.format(g=1))
    law: Any = controller(made).pipeline.law
    assert law.damping.tolist() == pytest.approx([math.sqrt(40)] * 2)
    made["leg"].set_targets([0.3, 0.3])
    made.step(50)
    assert np.isfinite(made.data.qpos).all()
