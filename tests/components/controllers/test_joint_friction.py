"""Friction that depends on load and speed: equations, a plain loop around MuJoCo, memory."""

import math
import tracemalloc
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
import yaml

import mjrig
from mjrig.components.controllers.joint_friction import JointFriction
from mjrig.components.laws.dry_friction import NAMES, dry_friction
from mjrig.core.errors import BindingError, ExecutionError, SceneError
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.scene.motor_file import COEFFICIENTS, FrictionLaw, find_motor
from tests.wording import regex

ARM = """<mujoco><compiler angle="radian"/><option timestep="0.001"/><worldbody>
<body name="upper"><joint name="j0" axis="0 1 0" armature="0.5"/>
<geom type="capsule" size=".02" fromto="0 0 0 .15 0 0" mass=".4"/>
<body name="lower" pos=".15 0 0"><joint name="j1" axis="0 1 0" range="-1 1"/>
<geom type="sphere" size=".02" mass="1" pos=".15 0 0"/>
<body name="tip" pos=".2 0 0"><joint name="loose" type="ball"/>
<geom type="sphere" size=".01" mass=".1" pos=".05 0 0"/></body>
</body></body></worldbody>
<actuator>{}</actuator></mujoco>"""
MOTORS = "".join(f'<motor name="m{i}" joint="j{i}"/>' for i in range(2))
PD = [{"type": "PDController", "kp": 30, "kv": 0.3, "torque_limit": 6}]


def scene(
    folder: Path, motors: Any, components: list[Any] | None = None, names: str = "arm", **more: Any
) -> mjrig.Scene:
    (folder / "arm.xml").write_text(ARM.format(MOTORS), encoding="utf-8")
    actors = [
        {"name": name, "model": "arm.xml", "motors": motors, "pose": {"position": [0, i, 0]},
         "components": PD if components is None else components, **more}
        for i, name in enumerate(names.split())
    ]  # fmt: skip
    return mjrig.Scene.parse(yaml.safe_dump({"mjrig": 1, "actors": actors}), base=folder)


def friction(robot: mjrig.Articulation) -> JointFriction:
    found = robot.components[-1]
    assert isinstance(found, JointFriction)
    return found


def targets(step: int) -> list[float]:
    t = step * 0.001
    return [0.6 * math.sin(7.0 * t), 0.9 if t < 0.2 else -0.7]


def run(world: mjrig.World, steps: int, first: int = 0) -> Any:
    states = []
    for step in range(first, first + steps):
        for robot in world.articulations.values():
            robot.set_targets(targets(step))
        world.step()
        states.append(np.concatenate([world.data.qpos, world.data.qvel]))
    return np.array(states)


# Equations ----------------------------------------------------------------------------------------


def budget(law: str, k: dict[str, float], w: float, tm: float, te: float) -> float:
    """The six laws, each as it is written down, without viscous friction."""
    s = math.exp(-(abs(w / k["stribeck_velocity"]) ** k["stribeck_exponent"]))
    kc, kcs, kl, kls = (k[n] for n in ("coulomb", "stribeck", "load", "load_stribeck"))
    if law == "m1":
        return kc
    if law == "m2":
        return kc + s * kcs
    if law == "m3":
        return kc + kl * abs(tm - te)
    if law == "m4":
        return kc + kl * abs(tm - te) + s * (kcs + kls * abs(tm - te))
    moving = kc + abs(k["motor_load"] * tm - k["external_load"] * te)
    rest = kcs + abs(k["motor_load_stribeck"] * tm - k["external_load_stribeck"] * te)
    if law == "m6" and np.sign(te) != np.sign(tm):
        if abs(te) < abs(tm):
            rest += k["external_quadratic"] * te**2
        elif abs(te) > abs(tm):
            rest += k["motor_quadratic"] * tm**2
    return moving + s * rest


@pytest.mark.parametrize("law", FrictionLaw)
def test_each_law_is_its_equation(law: FrictionLaw) -> None:
    random = np.random.default_rng(int(law[1]))
    for _ in range(2000):
        drawn = dict(zip(NAMES, random.uniform(0.05, 3.0, len(NAMES)), strict=True))
        kept = {"coulomb", "stribeck_velocity", "stribeck_exponent", *COEFFICIENTS[law]}
        row = [drawn[n] if n in kept else 0.0 for n in NAMES]
        w, tm, te = random.normal(size=3) * [2.0, 5.0, 5.0]
        found = dry_friction(row, w, tm, te)
        assert found == pytest.approx(budget(law, drawn, w, tm, te), rel=1e-12)


def test_the_kernel_has_the_bits_of_python() -> None:
    kernel = pytest.importorskip("mjrig.components.executions.kernel")
    random = np.random.default_rng(5)
    n = 5000
    rows = random.uniform(0.0, 4.0, (n, len(NAMES))) * (random.random((n, len(NAMES))) < 0.8)
    rows[:, 2:4] = random.uniform(0.01, 9.0, (n, 2))
    speeds, motor, external = random.normal(size=(3, n)) * [[3.0], [9.0], [9.0]]
    speeds[:50], motor[50:100], external[80:120] = 0.0, 0.0, 0.0
    external[200:300] = motor[200:300]
    found = np.zeros(n)
    kernel.write_friction(rows, np.arange(n), speeds, motor, external, found)
    cases = zip(rows.tolist(), speeds.tolist(), motor.tolist(), external.tolist(), strict=True)
    assert found.tolist() == [dry_friction(*case) for case in cases]


# In a world ---------------------------------------------------------------------------------------


def plain_loop(folder: Path, motor: str, steps: int) -> Any:
    """The same robot by hand: PD, the servo's DC line, friction by the last step's loads."""
    fit, line = find_motor(motor, HasProperties()).fit, find_motor(motor, HasProperties()).line
    assert line is not None
    k = {n: float(getattr(fit, n)) for n in NAMES}
    model = mujoco.MjModel.from_xml_path(str(folder / "arm.xml"))
    model.dof_armature[:2] = fit.armature
    model.dof_damping[:2] = fit.viscous
    mujoco.mj_setConst(model, mujoco.MjData(model))
    data = mujoco.MjData(model)
    states = []
    tm, te = np.zeros(2), np.zeros(2)
    for step in range(steps):
        for i in range(2):
            w = data.qvel[i]
            model.dof_frictionloss[i] = budget(str(fit.law), k, w, tm[i], te[i])
            raw = 30 * (targets(step)[i] - data.qpos[i]) - 0.3 * w
            sat, v0 = line.saturation_effort, line.velocity_limit
            raw = min(max(raw, sat * (-1 - w / v0)), sat * (1 - w / v0))
            data.ctrl[i] = min(max(raw, -6), 6)
        mujoco.mj_step(model, data)
        friction = np.zeros(model.nv)
        for row in range(data.nefc):
            if data.efc_type[row] == mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF:
                friction[data.efc_id[row]] += data.efc_force[row]
        tm = data.qfrc_actuator[:2].copy()
        te = (data.qfrc_constraint - friction - data.qfrc_bias)[:2].copy()
        states.append(np.concatenate([data.qpos, data.qvel]))
    return np.array(states)


@pytest.mark.parametrize("motor", ["mx-106:m4", "mx-106:m6", "mx-64:m6"])
def test_a_world_equals_a_plain_loop(tmp_path: Path, motor: str) -> None:
    world = mjrig.World(scene(tmp_path, motor), "python")
    found = run(world, 300)
    np.testing.assert_allclose(found, plain_loop(tmp_path, motor, 300), atol=1e-9)


def test_python_and_compiled_have_the_same_bits(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    worlds = [mjrig.World(scene(tmp_path, "mx-106:m6"), mode) for mode in ("python", "compiled")]
    assert [friction(w["arm"]).execution.name for w in worlds] == ["python", "compiled"]
    python, compiled = (run(world, 300) for world in worlds)
    assert np.array_equal(python, compiled)
    auto = mjrig.World(scene(tmp_path, "mx-106:m6"))
    assert friction(auto["arm"]).execution.name == "compiled"


@pytest.mark.parametrize("mode", ["python", "compiled"])
def test_a_step_allocates_nothing_that_grows_with_the_joints(tmp_path: Path, mode: str) -> None:
    """A chain of 400 joints: an array of one number per joint has 3200 bytes."""
    if mode == "compiled":
        pytest.importorskip("numba")
    count = 400
    links = "".join(
        f'<body pos="{k} 0 0"><joint name="j{k}" axis="0 1 0" armature="1"/>'
        '<geom size=".1" contype="0" conaffinity="0"/></body>'
        for k in range(count)
    )
    (tmp_path / "row.xml").write_text(f"<mujoco><worldbody>{links}</worldbody></mujoco>")
    own = {"type": "JointFriction", "joints": ".*", "coulomb": 0.2, "stribeck": 0.1, "load": 0.1}
    actor = {"name": "row", "model": "row.xml", "components": [own]}
    world = mjrig.World(mjrig.Scene.parse(yaml.safe_dump({"mjrig": 1, "actors": [actor]}),
                                          base=tmp_path), mode)  # fmt: skip
    made = friction(world["row"])
    assert made.execution.name == mode and len(made.owned) == count
    world.step(3)
    made.before_controls(0.0)  # whatever is made once is made
    tracemalloc.start()
    try:
        made.before_controls(0.0)
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        made.before_controls(0.0)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before < 8 * count
    assert after - before < 200


def test_rewinding_is_exact(tmp_path: Path) -> None:
    world = mjrig.World(scene(tmp_path, "mx-106:m6"))
    whole = run(world, 200)
    world.reset()
    run(world, 80)
    state = world.snapshot()
    run(world, 60, 80)
    mujoco.mj_forward(world.model, world.data)
    world.restore(state)
    again = world.snapshot()
    assert np.array_equal(run(world, 120, 80), whole[80:])
    world.restore(again)  # a snapshot of what was just restored
    assert np.array_equal(run(world, 120, 80), whole[80:])
    world.reset()
    assert np.array_equal(run(world, 200), whole)


def test_steps_taken_at_once_are_the_same(tmp_path: Path) -> None:
    one, many = (mjrig.World(scene(tmp_path, "mx-106:m6")) for _ in range(2))
    for world in (one, many):
        world["arm"].set_targets([0.5, -0.4])
    for _ in range(60):
        one.step()
    many.step(60)
    assert np.array_equal(one.data.qpos, many.data.qpos)


def test_two_robots_do_not_share_anything(tmp_path: Path) -> None:
    alone = run(mjrig.World(scene(tmp_path, "mx-106:m6")), 150)
    pair = mjrig.World(scene(tmp_path, "mx-106:m6", names="a b"))
    both = run(pair, 150)
    size = pair.model.nq // 2
    np.testing.assert_allclose(both[:, :size], alone[:, :size], atol=1e-9)
    np.testing.assert_allclose(both[:, size : 2 * size], alone[:, :size], atol=1e-9)


def test_copies_have_their_own(tmp_path: Path) -> None:
    grid = {"count": [2, 1, 1], "spacing": [2, 1, 1]}
    world = mjrig.World(scene(tmp_path, "mx-106:m6", replicate=grid))
    assert [len(friction(r).owned) for r in world.articulations.values()] == [2, 2]
    states = run(world, 50)
    size = world.model.nq // 2
    np.testing.assert_allclose(states[:, :size], states[:, size : 2 * size], atol=1e-9)


def test_coefficients_of_ones_own(tmp_path: Path) -> None:
    own = {"type": "JointFriction", "joints": "j1", "coulomb": 0.3, "load": 0.1}
    world = mjrig.World(scene(tmp_path, {}, [*PD, own]), "python")
    made = friction(world["arm"])
    assert made.owned == ("j1",)
    assert world.model.dof_frictionloss[:2].tolist() == [0.0, 0.3]
    run(world, 5)
    assert world.model.dof_frictionloss[1] > 0.3
    made.load = 0.0
    run(world, 2)
    assert world.model.dof_frictionloss[1] == 0.3
    world["arm"].remove_component(made)
    assert world.model.dof_frictionloss[1] == 0.0


def test_own_values_come_before_the_motors(tmp_path: Path) -> None:
    own = {"type": "JointFriction", "coulomb": {"j0": 0.7}}
    world = mjrig.World(scene(tmp_path, "mx-106:m6", [*PD, own]))
    fit = find_motor("mx-106:m6", HasProperties()).fit
    assert len([c for c in world["arm"].components if isinstance(c, JointFriction)]) == 1
    stuck = [c + fit.stribeck for c in (0.7, fit.coulomb or 0.0)]
    assert world.model.dof_frictionloss[:2].tolist() == pytest.approx(stuck)


def test_what_the_scene_says_of_friction_wins(tmp_path: Path) -> None:
    said = {"frictionloss": {"j1": 0.05}}
    world = mjrig.World(scene(tmp_path, "mx-106:m6", dynamics=said))
    assert friction(world["arm"]).owned == ("j0",)
    run(world, 5)
    assert world.model.dof_frictionloss[1] == 0.05
    both = [*PD, {"type": "JointFriction", "joints": ["j.*"]}]
    with pytest.raises(SceneError, match=regex("'j1' has its friction in …")):
        mjrig.World(scene(tmp_path, "mx-106:m6", both, dynamics=said))


@pytest.mark.parametrize(
    ("joints", "problem"),
    [
        ("j9", r"joints: 'j9' matches no joint of 'arm'; did you mean 'j\d'"),
        ("loose", "'loose' is neither a hinge nor a slide"),
        (["j0", "knee.*"], "'knee.*' matches no joint"),
    ],
)
def test_wrong_joints_are_refused(tmp_path: Path, joints: Any, problem: str) -> None:
    own = {"type": "JointFriction", "joints": joints, "coulomb": 1}
    with pytest.raises(SceneError, match=problem):
        mjrig.World(scene(tmp_path, {}, [own]))


def test_a_joint_has_one_owner(tmp_path: Path) -> None:
    two = [{"type": "JointFriction", "joints": j, "coulomb": 1} for j in ("j0", "j.*")]
    with pytest.raises(SceneError, match=regex("the friction of j0 belongs … arm.JointFriction")):
        mjrig.World(scene(tmp_path, {}, two))
    world = mjrig.World(scene(tmp_path, {}, two[:1]))
    with pytest.raises(BindingError, match=regex("make the joints of …")):
        world["arm"].add_component(JointFriction(joints=".*", coulomb=1))
    assert len(world["arm"].components) == 1


def test_native_execution_and_batches_are_refused_with_the_reason(tmp_path: Path) -> None:
    reason = "MuJoCo has no joint friction that depends on load or speed"
    given = scene(tmp_path, "mx-106:m6")
    with pytest.raises(ExecutionError, match=reason):
        mjrig.World(given, "native")
    with pytest.raises(ExecutionError, match=reason):
        mjrig.Batch(given, 2, bare=True)


def test_plain_friction_needs_no_component_and_runs_in_batches(tmp_path: Path) -> None:
    given = scene(tmp_path, "n5020-16", [])
    world = mjrig.World(given)
    assert world["arm"].components == ()
    assert world.model.dof_frictionloss[:2].tolist() == [0.6, 0.6]
    batch = mjrig.Batch(given, 2)
    batch.step(20)
    world.step(20)
    assert np.array_equal(batch.qpos[1], world.data.qpos)


def test_mujoco_has_the_stribeck_law_with_exponent_two_in_steady_sliding(tmp_path: Path) -> None:
    """A dcmotor without input is a friction element: at constant speed its force is −g(w)."""
    coulomb, extra, speed = 0.2, 0.3, 1.5
    (tmp_path / "arm.xml").write_text(ARM.format(MOTORS), encoding="utf-8")
    lugre = {"type": "DCMotorActuator", "joint": "j0", "name": "friction", "ctrlspec": "none",
             "resistance": 1, "motorconst": [0, 0],
             "lugre": [1e4, 100, coulomb, coulomb + extra, speed]}  # fmt: skip
    actor = {"name": "arm", "model": "arm.xml", "actuators": [lugre]}
    parsed = mjrig.Scene.parse(yaml.safe_dump({"mjrig": 1, "actors": [actor]}), base=tmp_path)
    model = mjrig.World(parsed).model
    data = mujoco.MjData(model)
    row = [{"coulomb": coulomb, "stribeck": extra, "stribeck_velocity": speed,
            "stribeck_exponent": 2.0}.get(n, 0.0) for n in NAMES]  # fmt: skip
    for w in (0.05, 0.4, 1.6):
        mujoco.mj_resetData(model, data)
        for _ in range(400):
            data.qvel[0], data.qpos[0] = w, 0.0
            mujoco.mj_step(model, data)
        found = data.actuator_force[-1]
        assert found == pytest.approx(-dry_friction(row, w, 0.0, 0.0), rel=1e-6)


def test_a_recording_replays_to_the_bit(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    world = mjrig.World(scene(tmp_path, "mx-106:m6"))
    path = tmp_path / "run.h5"
    with mjrig.Recorder(world, path):
        run(world, 120)
    assert mjrig.replay(path, mjrig.World(scene(tmp_path, "mx-106:m6"))).bit_exact
