"""MuJoCo Warp itself, on the CPU, against MuJoCo: single precision and nothing else between them.

Its kernels are compiled first, once per kind of model, which takes minutes; Warp keeps them.
"""

from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import mjrig
from mjrig.core.sim import warp_device
from mjrig.core.sim.warp_batch import WarpBatch
from mjrig.lab.rollouts.experiment import DIVERGED, OK, Scenario
from mjrig.lab.rollouts.randomisation import Randomisation
from mjrig.lab.rollouts.scenarios import FreeRun, SignalTest
from mjrig.lab.rollouts.signals import Kind, Signal
from mjrig.lab.sweep.runner import sweep
from mjrig.lab.sweep.search_space import Choices, Space
from tests.campaign import campaign_only
from tests.plugin.lab.sweep.swept import KV, hinge_scene

SCENES = Path(str(files("mjrig.config").joinpath("scenes")))
WORLDS = 8
pytestmark = [
    pytest.mark.campaign,
    campaign_only,
    pytest.mark.skipif(find_spec("mujoco_warp") is None, reason="needs the extra warp"),
    pytest.mark.filterwarnings("default"),  # those of the packages are not ours
]


def scene(name: str) -> mjrig.Scene:
    return mjrig.Scene.load(SCENES / f"{name}.yaml")


@pytest.mark.parametrize(
    ("name", "sim"),
    [
        ("quadruped", {}),
        ("quadruped", {"integrator": "implicitfast", "actuation": "implicit"}),
        ("bench_delay", {}),
        ("bench_dc", {}),
    ],
)
def test_a_hundred_steps_in_contact_differ_by_single_precision(
    name: str, sim: dict[str, str]
) -> None:
    described = scene(name)
    for option, value in sim.items():
        described.set(f"sim.{option}", value)
    random = np.random.default_rng(0)
    batches = WarpBatch(described, WORLDS), mjrig.Batch(described, WORLDS, threads=1)
    size = batches[0]["quadruped"].controllers[0].gains["kp"].shape[1]
    gains = {
        "kp": random.uniform(60, 160, (WORLDS, size)),
        "kv": random.uniform(3, 6, (WORLDS, size)),
        "torque_limit": random.uniform(8, 40, (WORLDS, size)),
    }
    masses = random.uniform(0.8, 1.2, (WORLDS, 1))
    frictions = random.uniform(0.4, 1.2, (WORLDS, 1, 1))
    for batch in batches:
        batch.data("actuator_force")
        batch["quadruped"].controllers[0].set_gains(**gains)
        batch.expand("body_mass")[:] *= masses
        batch.expand("body_inertia")[:] *= masses[..., None]
        batch.expand("geom_friction")[:] *= frictions
        batch.set_const()
    home = batches[0]["quadruped"].setpoints.copy()
    wave = random.normal(size=(3, WORLDS, size)) * np.array([0.1, 1.0, 1.0])[:, None, None]
    for k in range(100):
        for batch in batches:
            batch["quadruped"].setpoints[:] = home + wave * np.sin(0.05 * k)
            batch.step()
        warp, mujoco = (np.asarray(batch.qpos) for batch in batches)
        if k in (0, 9, 99):
            assert np.abs(warp - mujoco).max() < {0: 1e-6, 9: 1e-5, 99: 3e-4}[k]
    force = np.abs(batches[0].data("actuator_force") - batches[1].data("actuator_force"))
    assert np.median(force) < 1e-2
    assert not batches[0].overflow.any() and not batches[0].diverged.any()
    spread = np.abs(batches[1].qpos[0] - batches[1].qpos[1]).max()
    assert spread > 1e-2  # worlds differ by much more than engines


@pytest.mark.parametrize(
    ("scenario", "randomise"),
    [
        (FreeRun(0.3), "mass=0.8:1.2,friction=0.4:1.2,armature=0.5:2,damping=0.5:2,start=0.05"),
        (FreeRun(0.3), "noise=0.01,strength=0.7:1,payload=0:0.2"),
        (SignalTest(Signal(Kind.STEP, 0.3, duration=0.1), ("FL_.*",), True), "mass=0.8:1.2"),
    ],
)
def test_metrics_of_a_sweep_are_those_of_mujoco(scenario: Scenario, randomise: str) -> None:
    controller = "quadruped.PDController"
    choices = (
        Choices(f"{controller}.kp", (60.0, 150.0)),
        Choices(f"{controller}.torque_limit[.*_calf]", (9.0, float("inf"))),
    )
    swept = [
        sweep(
            scene("quadruped"),
            Space(choices),
            scenario,
            randomise=Randomisation.read(randomise),
            seeds=2,
            engine=engine,
            executor="inline",
        )
        for engine in ("warp", "mujoco")
    ]
    for warp, mujoco in zip(*(s.results for s in swept), strict=True):
        assert (warp.values, warp.seed, warp.status) == (mujoco.values, mujoco.seed, OK)
        assert (warp.engine, mujoco.engine) == ("warp float32", "mujoco float64")
        for metric, value in mujoco.metrics.items():
            assert warp.metrics[metric] == pytest.approx(value, rel=1e-3, abs=2e-4), metric
    assert [r.values for r in swept[0].ranking] == [r.values for r in swept[1].ranking]


def test_two_runs_are_the_same_and_a_world_that_diverges_is_a_row(tmp_path: Path) -> None:
    path = hinge_scene(tmp_path)
    described = mjrig.Scene.load(path)
    described.set("arm.joints", {"swing": 0.5})
    described.set("arm.PDController.torque_limit", float("inf"))
    space = Space((Choices(KV, (4.0, 1e7, 5.0)),))
    rows = [list(sweep(described, space, FreeRun(0.3), engine="warp").results) for _ in range(2)]
    assert [row.status for row in rows[0]] == [OK, DIVERGED, OK]
    assert [row.metrics for row in rows[0]] == [row.metrics for row in rows[1]]


def test_too_little_room_for_contacts_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The room is that of the first world, which is in the air."""
    contacts, constraints = warp_device._CONTACTS, warp_device._CONSTRAINTS
    for least, room, is_short in (
        ((1, constraints), 1, True),
        ((contacts, 1), 1, True),
        ((1, 1), 16, False),
    ):
        monkeypatch.setattr(warp_device, "_MORE", 1)
        monkeypatch.setattr(warp_device, "_CONTACTS", least[0])
        monkeypatch.setattr(warp_device, "_CONSTRAINTS", least[1])
        batch = WarpBatch(scene("quadruped"), 2, room=room)
        batch.qpos[0, 2] += 1.0
        batch.step(20)
        assert batch.overflow.any() == is_short, (least, room)
