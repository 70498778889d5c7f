"""What is to be small, and the tests it is measured in."""

import math
from importlib.resources import files
from pathlib import Path

import pytest

import mjrig
from mjrig.lab.replay.replay_test import ReplayTest
from mjrig.lab.rollouts.experiment import Variation
from mjrig.lab.rollouts.hosts import WorldHost
from mjrig.lab.rollouts.joint_bench import Bench
from mjrig.lab.rollouts.randomisation import Randomisation
from mjrig.lab.rollouts.results import Objective
from mjrig.lab.rollouts.scenarios import FreeRun, SignalTest
from mjrig.lab.rollouts.signals import Kind, Signal
from tests.plugin.lab.sweep.swept import hinge_scene, refused

METRICS = ("rmse", "effort", "travel")


def test_an_objective_is_a_weighted_sum_of_metrics() -> None:
    read = Objective.read("rmse + 0.01*effort - 2e-1 * travel", METRICS)
    assert read.terms == ((1.0, "rmse"), (0.01, "effort"), (-0.2, "travel"))
    assert read.value({"rmse": 1.0, "effort": 10.0, "travel": 5.0}) == pytest.approx(0.1)
    assert Objective.read("-travel", METRICS).value({"travel": 3.0}) == -3.0


def test_a_missing_metric_makes_it_infinite() -> None:
    read = Objective.read("rmse", METRICS)
    assert read.value({}) == read.value({"rmse": math.nan}) == math.inf


@pytest.mark.parametrize("text", ["", "rmse effort", "2", "rmse*2", "rmse +"])
def test_what_is_no_sum_is_refused(text: str) -> None:
    with refused(f"{text!r} is not a sum … + 0.01*effort"):
        Objective.read(text, METRICS)


def test_an_unknown_metric_is_refused_with_the_nearest_one() -> None:
    with refused("unknown metric 'rsme'; did you … 'rmse'?"):
        Objective.read("effort + rsme", METRICS)
    with refused("unknown metric 'open'; available: rmse, effort, travel"):
        Objective.read("open('x')", METRICS)


def test_a_free_run_measures_tracking_and_effort(tmp_path: Path) -> None:
    world = mjrig.World(hinge_scene(tmp_path))
    test = FreeRun(6.0)
    (found,) = test.run(WorldHost(world, "arm"), Randomisation(), [Variation()])
    assert tuple(found) == test.metrics
    # In the end kp · error holds m·g·r = 0.981 N·m; on the way there it is a little less.
    sag = 9.81 * 0.1 / 40.0
    assert found["rmse"] == found["worst_rmse"] == pytest.approx(sag, rel=0.1)
    assert found["effort"] == pytest.approx(0.981, rel=0.1)
    assert (found["saturation"], found["travel"], found["fell"]) == (0.0, 0.0, 0.0)


def test_a_limit_that_cuts_shows_as_saturation_in_every_execution(tmp_path: Path) -> None:
    scene = mjrig.Scene.load(hinge_scene(tmp_path))
    scene.set("arm.PDController.torque_limit", 0.5)
    for execution in ("native", "python"):
        host = WorldHost(mjrig.World(scene, execution), "arm")
        (found,) = FreeRun(0.5).run(host, Randomisation(), [Variation()])
        assert 0.5 < found["saturation"] <= 1.0


def test_a_base_that_tips_over_has_fallen() -> None:
    quadruped = "package:mjrig.assets/quadruped/quadruped.xml"
    text = f"""
    mjrig: 1
    actors:
    - {{name: dog, model: {quadruped}, keyframe: home, pose: {{position: [0, 0, 0.2]}},
        velocity: {{linear: [0, 0, 4], angular: [12, 0, 0]}}, components: [{{type: PDController}}]}}
    """
    world = mjrig.World(mjrig.Scene.parse(text))
    (found,) = FreeRun(0.4).run(WorldHost(world, "dog"), Randomisation(), [Variation()])
    assert found["fell"] == 1.0


def test_a_signal_has_the_numbers_of_the_bench(tmp_path: Path) -> None:
    signal = Signal(Kind.STEP, 0.2, duration=1.5)
    path = hinge_scene(tmp_path)
    test = SignalTest(signal, ("swing",))
    world = mjrig.World(path)
    test.prepare(world)
    (found,) = test.run(WorldHost(world, "arm"), Randomisation(), [Variation()])
    (response,) = Bench(mjrig.World(path)).run("arm", ["drive"], signal)
    metrics = response.metrics
    assert metrics is not None and tuple(found) == test.metrics
    for name in ("rmse", "rise_time", "settling_time", "overshoot", "saturation"):
        assert found[name] == pytest.approx(getattr(metrics, name), rel=1e-12), name


def test_what_never_rests_has_a_problem_and_no_metrics(tmp_path: Path) -> None:
    host, found = undamped(hinge_scene(tmp_path))
    assert found == {}
    assert host.problems == ["drive is never at rest before the signal, in 30 s"]


def test_what_never_rests_after_a_step_has_times_as_long_as_it_was_followed(tmp_path: Path) -> None:
    host, found = undamped(hinge_scene(tmp_path), gravity=[0.0, 0.0, 0.0])
    assert host.problems == [""]
    assert found["rise_time"] == found["settling_time"] == pytest.approx(host.world.time - 0.24)


def undamped(path: Path, **sim: object) -> tuple[WorldHost, dict[str, float]]:
    """A step of a joint without damping: after it, it swings forever."""
    scene = mjrig.Scene.load(path)
    scene.set("arm.PDController.kv", 0.0)
    for name, value in sim.items():
        scene.set(f"sim.{name}", value)
    test = SignalTest(Signal(Kind.STEP, 0.2, duration=0.3))
    world = mjrig.World(scene)
    test.prepare(world)
    host = WorldHost(world, "arm")
    (found,) = test.run(host, Randomisation(), [Variation()])
    return host, found


def test_a_signal_begins_at_rest_and_a_step_is_followed_to_its_end(tmp_path: Path) -> None:
    """ζ = 0.064: an overshoot of 82 %, which a start in motion would make 180 %."""
    scene = mjrig.Scene.load(hinge_scene(tmp_path))
    scene.set("arm.PDController.kp", 20.0)
    scene.set("arm.PDController.kv", 0.4)
    test = SignalTest(Signal(Kind.STEP, 0.1, duration=1.0))
    world = mjrig.World(scene)
    test.prepare(world)
    (found,) = test.run(WorldHost(world, "arm"), Randomisation(), [Variation()])
    assert found["overshoot"] == pytest.approx(0.82, abs=0.02)
    assert found["settling_time"] == pytest.approx(4.0 / 0.4, rel=0.1)


def test_only_a_step_has_the_numbers_of_a_step() -> None:
    assert SignalTest(Signal(Kind.SINE)).metrics == ("rmse", "effort", "saturation")


def test_a_pattern_that_no_joint_matches_is_refused(tmp_path: Path) -> None:
    world = mjrig.World(hinge_scene(tmp_path))
    with refused("'swong' matches no actuator or … 'swing'?"):
        SignalTest(joints=("swong",)).run(WorldHost(world, "arm"), Randomisation(), [Variation()])


def test_a_replay_is_scored_by_its_errors() -> None:
    scene = Path(str(files("mjrig.config").joinpath("scenes", "quadruped.yaml")))
    recording = Path(str(files("mjrig.assets").joinpath("walk", "walk.npz")))
    world, plain = mjrig.World(scene), (Randomisation(), [Variation()])
    (same,) = ReplayTest(recording).run(WorldHost(world, "quadruped"), *plain)
    assert (same["max_error"], same["rmse"], same["effort_rmse"], same["fell"]) == (0, 0, 0, 0)
    world["quadruped"].controllers[0].assign({"kv": 4.0})
    (softer,) = ReplayTest(recording).run(WorldHost(world, "quadruped"), *plain)
    assert 0.0 < softer["rmse"] < softer["worst_rmse"] < softer["max_error"] < 1.0
    assert softer["velocity_rmse"] > 0.0
    assert softer["effort_rmse"] > 0.0
