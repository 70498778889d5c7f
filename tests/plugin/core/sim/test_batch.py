"""Many worlds at once: the bits of serial ones, gains and setpoints of their own."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components import DCMotor, PDController, PIDController, PositionTable, TrotGait
from tests.wording import regex
from tests.worlds import refused

SCENES = Path(str(files("mjrig.config").joinpath("scenes")))
WORLDS = 3


def scene(name: str) -> mjrig.Scene:
    return mjrig.Scene.load(SCENES / f"{name}.yaml")


@pytest.mark.parametrize("name", ["quadruped", "bench_pid", "bench_delay", "bench_dc", "arm"])
def test_each_world_has_the_bits_of_one_alone(name: str) -> None:
    random = np.random.default_rng(0)
    batch = mjrig.Batch(scene(name), WORLDS, threads=2)
    alone = [mjrig.World(scene(name), "native") for _ in range(WORLDS)]
    (actor,) = batch.robots
    robot, size = batch[actor], batch[actor].controllers[0].gains["kp"].shape[1]
    gains = {
        n: random.uniform(*r, size=(WORLDS, size))
        for n, r in {"kp": (80, 160), "kv": (3, 6), "torque_limit": (5, 40)}.items()
    }
    robot.controllers[0].set_gains(**gains)
    for i, world in enumerate(alone):
        row = [gains[n][i] for n in ("kp", "kv", "torque_limit")]
        controller: Any = world[actor].controllers[0]
        controller.set_gains(*row)
    home = robot.setpoints.copy()
    for step in range(40):
        moved = home + 0.05 * random.normal(size=home.shape)
        robot.setpoints[:] = moved
        batch.step(5)
        for i, world in enumerate(alone):
            world[actor].setpoints.values[:] = moved[:, i]
            world.step(5)
        if step == 20:
            batch.reset([1])
            alone[1].reset()
    for i, world in enumerate(alone):
        np.testing.assert_array_equal(batch.qpos[i], world.data.qpos)
        np.testing.assert_array_equal(batch.qvel[i], world.data.qvel)
        np.testing.assert_array_equal(batch.data("act")[i], world.data.act)
    assert not np.array_equal(batch.qpos[0], batch.qpos[2])


def test_model_fields_have_values_of_their_own_in_every_world() -> None:
    batch = mjrig.Batch(mjrig.World(scene("pendulum"), "native"), WORLDS)
    assert batch.template.execution == "native"
    batch["pendulum"].controllers[0].set_gains(kp=0.0)
    batch["pendulum"].position[:] = 1.0
    batch.qpos[:] = 1.0
    batch.expand("dof_armature")[:, 0] = [0.0, 1.0, 100.0]
    batch.step(50)
    moved = np.abs(batch.qpos[:, 0] - 1.0)
    assert moved[0] > moved[1] > moved[2] > 0.0
    message = "MjModel has no field 'body_mas' to … 'body_mass'?"
    with refused(mjrig.PropertyError, message):
        batch.expand("body_mas")


def test_targets_are_set_by_pattern_for_all_worlds_or_some() -> None:
    batch = mjrig.Batch(scene("quadruped"), WORLDS)
    robot = batch["quadruped"]
    robot.set_targets({"FL_.*": 0.1})
    robot.set_targets({"FL_hip": [1.0, 2.0, 3.0]}, velocity={"RR_calf": 0.5}, worlds=None)
    robot.set_targets({"FR_hip": -1.0}, worlds=[2])
    assert robot.position[:, 0].tolist() == [1.0, 2.0, 3.0]
    assert robot.position[:, 1].tolist() == [0.1, 0.1, 0.1]
    assert robot.position[:, 3].tolist() == [0.0, 0.0, -1.0]
    assert robot.velocity[:, -1].tolist() == [0.5, 0.5, 0.5]


def test_gains_are_set_for_some_worlds_only() -> None:
    batch = mjrig.Batch(scene("quadruped"), WORLDS)
    controller = batch["quadruped"].controllers[0]
    controller.set_gains(kp=77, worlds=[0, 2])
    assert controller.gains["kp"][:, 0].tolist() == [77.0, 150.0, 77.0]
    with pytest.raises(ValueError, match="read-only"):
        controller.gains["kp"][0, 0] = 1.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kpp": 3}, "quadruped.PDController has no gain 'kpp'; did … 'kp'?"),
        ({"kp": -1}, "quadruped.PDController.kp: must be >= 0 and finite, got -1"),
        ({"kv": np.nan}, "quadruped.PDController.kv: must be >= 0 and finite, … nan"),
    ],
)
def test_a_gain_that_does_not_fit_changes_nothing(values: dict[str, Any], message: str) -> None:
    controller = mjrig.Batch(scene("quadruped"), WORLDS)["quadruped"].controllers[0]
    before = {n: v.copy() for n, v in controller.gains.items()}
    with refused(mjrig.PropertyError, message):
        controller.set_gains(**{"kp": 5, **values})
    assert all(np.array_equal(before[n], v) for n, v in controller.gains.items())


@pytest.mark.parametrize("worlds", [None, 1, [0, 2], slice(1, None), [True, False, True]])
def test_gains_by_pattern_are_those_of_a_loop_over_worlds(worlds: Any) -> None:
    """Patterns with and without `default`, a number for all worlds or one for each."""
    batch = mjrig.Batch(scene("quadruped"), WORLDS)
    controller = batch["quadruped"].controllers[0]
    chosen = np.atleast_1d(np.arange(WORLDS)[slice(None) if worlds is None else worlds]).tolist()
    each = [10.0 + k for k in range(len(chosen))]
    expected = {name: values.copy() for name, values in controller.gains.items()}
    for k, world in enumerate(chosen):
        for column, binding in enumerate(controller.bindings):
            calf, hip = binding.actuator.endswith("calf"), binding.actuator.endswith("hip")
            expected["kp"][world, column] = each[k] if calf else 7.0
            if hip:
                expected["kv"][world, column] = 2.5
    controller.set_gains(kp={".*_calf": each, "default": 7.0}, kv={".*_hip": 2.5}, worlds=worlds)
    for name, values in expected.items():
        assert np.array_equal(controller.gains[name], values), name


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kp": {"hpi": 1.0}}, "'hpi' matches no actuator"),
        ({"kp": {".*": 1.0, "FL_hip": 2.0}}, "is matched by"),
        ({"kp": {".*": "soft"}}, "kp: must be numbers, … pattern, got"),
        ({"kp": {".*": [1.0, 2.0]}}, "kp: must have one number, … 3, … got 2"),
        ({"kp": "soft"}, "kp: must be numbers, … pattern, got 'soft'"),
        ({"kp": 1.0, "worlds": [3]}, "worlds: must be numbers … 0 … 2"),
        ({"kp": 1.0, "worlds": "all"}, "worlds: must be numbers … 0 … 2"),
    ],
)
def test_gains_that_do_not_fit_are_told(values: dict[str, Any], message: str) -> None:
    controller = mjrig.Batch(scene("quadruped"), WORLDS)["quadruped"].controllers[0]
    with pytest.raises(mjrig.MjrigError, match=regex(message)):
        controller.set_gains(**values)


def test_targets_of_worlds_that_are_not_there_are_refused() -> None:
    robot = mjrig.Batch(scene("quadruped"), WORLDS)["quadruped"]
    with pytest.raises(mjrig.PropertyError, match=regex("worlds: must be numbers … 0 … 2")):
        robot.set_targets({".*": 0.1}, worlds=[5])


@pytest.mark.parametrize("count", [0, -1, 2.0, "4", True, None])
def test_a_count_that_is_no_whole_number_is_refused(count: Any) -> None:
    for kind in (mjrig.Batch, mjrig.PolicyBatch):
        with pytest.raises(mjrig.PropertyError, match=regex("count: must be a whole …")):
            kind(scene("quadruped"), count)


def test_a_setpoint_that_is_not_finite_is_named_before_anything_moves() -> None:
    batch = mjrig.Batch(scene("quadruped"), WORLDS)
    batch["quadruped"].position[1, 4] = np.nan
    message = "quadruped: the position setpoint of 'FR_thigh' … 1 … nan"
    with refused(ValueError, message):
        batch.step()
    assert not batch.time.any()


def test_a_keyframe_reset_seeds_the_setpoints() -> None:
    batch = mjrig.Batch(scene("quadruped"), WORLDS)
    robot = batch["quadruped"]
    robot.position[:] = 0.0
    batch.step(10)
    batch.reset(keyframe="home")
    assert (robot.position[:, 2] == robot.position[0, 2]).all()
    assert robot.position[0, 2] != 0.0
    with pytest.raises(mjrig.BindingError, match=regex("no actor has a … 'hom'; …")):
        batch.reset(keyframe="hom")


@pytest.mark.parametrize(
    ("component", "reason"),
    [
        (
            PDController(clamps=[PositionTable([-3, 3], [10, 10])]),
            "quadruped.PDController cannot run natively: MuJoCo has … PositionTable …",
        ),
        (
            PDController(decimation=4),
            "quadruped.PDController cannot run natively: it … 4 … MuJoCo …",
        ),
        (
            PIDController(clamps=[DCMotor(30, 8, 20)]),
            "quadruped.PIDController cannot run natively: a …",
        ),
    ],
)
def test_what_has_no_native_form_is_refused(component: PDController, reason: str) -> None:
    described = scene("quadruped")
    described["quadruped"].components = (component,)
    with refused(mjrig.ExecutionError, reason):
        mjrig.Batch(described, WORLDS)


def test_what_runs_between_steps_is_refused() -> None:
    described = scene("quadruped")
    described["quadruped"].add_component(TrotGait())
    with pytest.raises(mjrig.ExecutionError, match=r"quadruped\.TrotGait runs in Python between"):
        mjrig.Batch(described, WORLDS)


def test_a_function_of_time_is_refused_with_the_reason() -> None:
    with pytest.raises(mjrig.ExecutionError, match=regex("a batch cannot follow …")):
        mjrig.Batch(scene("pendulum"), 1)["pendulum"].follow(lambda t: (None, None, None))


def test_names_are_helped_with() -> None:
    batch = mjrig.Batch(scene("pendulum"), 1)
    with pytest.raises(mjrig.BindingError, match=regex("the batch has no … 'pendlum'; …")):
        batch["pendlum"]
    with pytest.raises(mjrig.PropertyError, match=regex("MjData has no field 'qposs'; did …")):
        batch.data("qposs")
    with pytest.raises(ValueError, match=regex("count: must be a whole … 1 … 0")):
        mjrig.Batch(scene("pendulum"), 0)


def test_a_disabled_controller_passes_its_setpoints_on() -> None:
    described = scene("pendulum")
    described.set("pendulum.PDController.enabled", False)
    batch, world = mjrig.Batch(described, 2), mjrig.World(described, "native")
    batch["pendulum"].controllers[0].set_gains(kp=3)
    for _ in range(50):
        batch["pendulum"].position[:] = 0.5
        world["pendulum"].setpoints.position[:] = 0.5
        batch.step()
        world.step()
    np.testing.assert_array_equal(batch.qpos[0], world.data.qpos)


def test_targets_are_set_all_or_nothing() -> None:
    robot = mjrig.Batch(scene("quadruped"), 1)["quadruped"]
    before = robot.setpoints.copy()
    with pytest.raises(mjrig.BindingError, match="'zz' matches no actuator"):
        robot.set_targets({"FL_hip": 5, "zz": 1})
    np.testing.assert_array_equal(robot.setpoints, before)
