"""Tasks in a batch have the bits of tasks in a world each."""

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

import mjrig
from mjrig.lab.rollouts.experiment import DIVERGED, OK, Rollout, Scenario, Variation
from mjrig.lab.rollouts.randomisation import Randomisation
from mjrig.lab.rollouts.scenarios import FreeRun, SignalTest
from mjrig.lab.rollouts.signals import Kind, Signal
from mjrig.lab.rollouts.worker import evaluate
from mjrig.lab.sweep.runner import examine, sweep
from mjrig.lab.sweep.search_space import Choices, Space
from tests.plugin.lab.sweep.swept import KP, KV, hinge_scene
from tests.wording import matches, regex

SCENES = Path(str(files("mjrig.config").joinpath("scenes")))


def both_ways(
    scene: mjrig.Scene,
    points: list[dict[str, object]],
    scenario: Scenario,
    randomisation: Randomisation,
) -> tuple[list[Rollout], list[Rollout]]:
    parameters = [Choices(name, (points[0][name],)) for name in points[0]]
    plan = examine(scene, parameters, scenario, randomisation=randomisation)
    assert plan.why_not_batched == ""
    tasks = [Variation.of("", point, seed) for point in points for seed in (0, 1)]
    batched, alone = (
        evaluate(replace(plan.experiment, variations=tuple(tasks)), threads) for threads in (2, 0)
    )
    return batched, alone


@pytest.mark.parametrize(
    "randomise", ["", "mass=0.8:1.2,friction=0.4:1.2,armature=0.5:2,noise=0.01,start=0.05"]
)
def test_a_free_run_has_the_same_bits_both_ways(randomise: str) -> None:
    scene = mjrig.Scene.load(SCENES / "quadruped.yaml")
    points: list[dict[str, object]] = [
        {"quadruped.PDController.kp": kp, "quadruped.PDController.torque_limit[.*_calf]": limit}
        for kp, limit in ((60, 3), (150, 30))
    ]
    batched, alone = both_ways(scene, points, FreeRun(0.25), Randomisation.read(randomise))
    assert [o.metrics for o in batched] == [o.metrics for o in alone]
    assert {o.status for o in batched} == {OK}
    assert len({o.metrics["rmse"] for o in batched}) == (4 if randomise else 2)
    assert batched[0].metrics["saturation"] > 0.0


@pytest.mark.parametrize("name", ["bench_pid", "bench_delay", "arm"])
def test_other_native_laws_have_the_same_bits_too(name: str) -> None:
    scene = mjrig.Scene.load(SCENES / f"{name}.yaml")
    (actor,) = (a for a, r in mjrig.World(scene).articulations.items() if r.bindings)
    role = mjrig.World(scene)[actor].controllers[0]._role
    points: list[dict[str, object]] = [{f"{actor}.{role}.kv": kv} for kv in (2.0, 4.0)]
    random = Randomisation(damping=(0.5, 2.0), start=0.02)
    batched, alone = both_ways(scene, points, FreeRun(0.1), random)
    assert [o.metrics for o in batched] == [o.metrics for o in alone]


@pytest.mark.parametrize("together", [False, True])
def test_signals_have_the_same_bits_both_ways(together: bool) -> None:
    scene = mjrig.Scene.load(SCENES / "quadruped_trot.yaml")  # its gait is left out of the test
    test = SignalTest(Signal(Kind.STEP, 0.3, duration=0.1), ("FL_.*",), together)
    points: list[dict[str, object]] = [{"quadruped.pd.kp": kp} for kp in (40, 150)]
    random = Randomisation(mass=(0.8, 1.2), noise=0.002)
    batched, alone = both_ways(scene, points, test, random)
    assert [o.metrics for o in batched] == [o.metrics for o in alone]
    assert batched[0].metrics != batched[2].metrics


def test_a_world_that_diverges_leaves_the_others_alone(tmp_path: Path) -> None:
    scene = mjrig.Scene.load(hinge_scene(tmp_path))
    scene.set("arm.PDController.torque_limit", float("inf"))
    points: list[dict[str, object]] = [{KP: 40, KV: kv} for kv in (4.0, 1e7)]
    batched, alone = both_ways(scene, points, FreeRun(0.5), Randomisation(start=0.1))
    for found in (batched, alone):
        assert [o.status for o in found] == [OK, OK, DIVERGED, DIVERGED]
        assert [o.metrics == {} for o in found] == [False, False, True, True]
    assert [o.metrics for o in batched] == [o.metrics for o in alone]


def test_divergence_in_the_very_first_step_is_seen_both_ways(tmp_path: Path) -> None:
    scene = mjrig.Scene.load(hinge_scene(tmp_path))
    scene.set("arm.joints", {"swing": 0.5})
    scene.set("arm.PDController.torque_limit", float("inf"))
    points: list[dict[str, object]] = [{KP: kp} for kp in (40.0, 1e14)]
    batched, alone = both_ways(scene, points, FreeRun(0.01), Randomisation(start=0.1))
    for found in (batched, alone):
        assert [o.status for o in found] == [OK, OK, DIVERGED, DIVERGED]


def test_noise_needs_setpoints_that_nobody_else_writes() -> None:
    scene = mjrig.Scene.load(SCENES / "quadruped_trot.yaml")
    gains = [Choices("quadruped.pd.kp", (40,))]
    with pytest.raises(
        mjrig.PropertyError, match="^" + regex("noise: the setpoints of quadruped …")
    ):
        examine(scene, gains, FreeRun(0.1), randomisation=Randomisation(noise=0.1))
    plan = examine(scene, gains, FreeRun(0.1))
    assert matches(plan.why_not_batched, "quadruped.TrotGait runs in Python between steps; …")


def test_what_only_a_policy_or_a_free_base_feels_is_refused_without(tmp_path: Path) -> None:
    scene = mjrig.Scene.load(hinge_scene(tmp_path))
    gains = [Choices(KP, (40,))]
    for said, why in (("kick=1", "the robot has none"), ("latency=0.01", "are of a policy")):
        with pytest.raises(mjrig.PropertyError, match=why):
            examine(scene, gains, FreeRun(0.1), randomisation=Randomisation.read(said))


def test_kicks_and_weak_motors_have_the_same_bits_in_a_batch() -> None:
    scene = mjrig.Scene.load(SCENES / "quadruped.yaml")
    said = "kick=0.5,strength=0.7:1,payload=0:0.2"
    points: list[dict[str, object]] = [{"quadruped.PDController.kp": kp} for kp in (100.0, 200.0)]
    batched, alone = both_ways(scene, points, FreeRun(2.6), Randomisation.read(said))
    assert [o.metrics for o in batched] == [o.metrics for o in alone]
    assert len({o.metrics["travel"] for o in alone}) == len(alone)


def test_noise_beside_a_policy_is_of_what_it_measures() -> None:
    scene = mjrig.Scene.load(SCENES / "quadruped_walk.yaml")
    found = []
    for said in ("", "noise=0.02", "bias=0.02", "latency=0.01"):
        swept = sweep(
            scene, Space(), FreeRun(0.3), randomise=Randomisation.read(said), executor="inline"
        )
        (row,) = swept.results
        assert row.status == OK
        found.append(row.metrics["effort"])
    assert len(set(found)) == 4


def test_a_rig_forgets_the_draws_of_the_task_before(tmp_path: Path) -> None:
    scene = mjrig.Scene.load(hinge_scene(tmp_path))
    random = Randomisation(mass=(0.5, 2.0))
    plan = examine(scene, [Choices(KP, (40,))], FreeRun(0.1), randomisation=random)
    tasks = [Variation.of("", {KP: 40}, seed) for seed in (0, 1, 0)]
    first, second, again = evaluate(replace(plan.experiment, variations=tuple(tasks)), 0)
    assert first.metrics == again.metrics != second.metrics
