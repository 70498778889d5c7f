"""A batch on MuJoCo Warp, with MuJoCo in its place: the bits of an ordinary batch."""

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import mjrig
from mjrig.core.sim.warp_batch import WarpBatch
from tests.plugin.core.sim.c_device import CDevice, on_c
from tests.worlds import refused

SCENES = Path(str(files("mjrig.config").joinpath("scenes")))
WORLDS = 3

__all__ = ["on_c"]  # a fixture


def scene(name: str) -> mjrig.Scene:
    return mjrig.Scene.load(SCENES / f"{name}.yaml")


@pytest.mark.usefixtures("on_c")
@pytest.mark.parametrize("name", ["quadruped", "bench_delay", "bench_dc", "arm"])
def test_every_world_has_the_bits_of_an_ordinary_batch(name: str) -> None:
    random = np.random.default_rng(1)
    batches = WarpBatch(scene(name), WORLDS), mjrig.Batch(scene(name), WORLDS, threads=1)
    (actor,) = batches[0].robots
    size = batches[0][actor].controllers[0].gains["kp"].shape[1]
    limits = random.uniform(5, 40, (WORLDS, size))
    limits[1] = np.inf  # a world without limits beside some with
    gains = {"kp": random.uniform(80, 160, (WORLDS, size)), "kv": 4.0, "torque_limit": limits}
    for batch in batches:
        batch.data("actuator_force"), batch.data("actuator_length")  # kept from now on
        batch[actor].controllers[0].set_gains(**gains)
        batch.expand("body_mass")[:] *= np.array([[1.0], [1.3], [0.8]])
    home = batches[0][actor].setpoints.copy()
    for step in range(12):
        moved = home + 0.05 * random.normal(size=home.shape)
        kick = random.normal(size=(WORLDS, 3))
        for batch in batches:
            batch[actor].setpoints[:] = moved
            batch.qvel[:, :3] += kick
            batch.data("xfrc_applied").reshape(WORLDS, -1)[:, 6] = kick[:, 0]
            batch.step(3)
            if step == 6:
                batch.reset([1])
            if step == 8 and name != "bench_delay":
                batch[actor].controllers[0].set_gains(kp=90.0, worlds=[0])
        for field in ("time", "qpos", "qvel", "actuator_force", "actuator_length"):
            np.testing.assert_array_equal(*(batch.data(field) for batch in batches), err_msg=field)
    np.testing.assert_array_equal(
        batches[0].data("qacc_warmstart"), batches[1].data("qacc_warmstart")
    )
    assert not np.array_equal(batches[0].qpos[0], batches[0].qpos[1])


def test_a_world_that_diverges_is_marked_and_leaves_the_others_alone(on_c: type[CDevice]) -> None:
    batch = WarpBatch(scene("pendulum"), WORLDS)
    alone = mjrig.Batch(scene("pendulum"), WORLDS, threads=1)
    for one in (batch, alone):
        one["pendulum"].position[:] = 0.5
    batch["pendulum"].controllers[0].set_gains(kv=1e9, torque_limit=np.inf, worlds=[1])
    for _ in range(30):
        batch.step(5)
        alone.step(5)
    assert batch.diverged.tolist() == [False, True, False]
    assert np.isfinite(batch.qpos).all()
    np.testing.assert_array_equal(batch.qpos[[0, 2]], alone.qpos[[0, 2]])
    assert len(on_c.made) == 1


@pytest.mark.usefixtures("on_c")
def test_what_it_does_not_have_is_refused() -> None:
    batch = WarpBatch(scene("pendulum"), WORLDS)
    with refused(mjrig.PropertyError, "jnt_limited is the same in … MuJoCo Warp"):
        batch.expand("jnt_limited")
    with pytest.raises(mjrig.PropertyError, match="do not show 'qacc'"):
        batch.data("qacc")
    with refused(mjrig.ExecutionError, "worlds on MuJoCo Warp have no …"):
        batch.rollout({}, 1)


@pytest.mark.usefixtures("on_c")
def test_gains_of_delayed_servos_change_after_a_reset_only() -> None:
    batch = WarpBatch(scene("bench_delay"), WORLDS)
    controller = batch["quadruped"].controllers[0]
    batch.step()
    controller.set_gains(kp=90.0, worlds=[1])
    message = "gains of delayed servos … MuJoCo Warp, …"
    with refused(mjrig.ExecutionError, message):
        batch.step()
    batch.reset([1])
    batch.step()
    controller.set_gains(torque_limit=9.0)
    batch.step()
