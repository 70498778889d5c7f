"""The same experiment gives the same bits on every back end; it can be written, resumed, ended."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.lab.bench.trial import PolicyTrial
from mjrig.lab.replay.replay_test import ReplayTest
from mjrig.lab.rollouts.experiment import DIVERGED, OK, Engine, Experiment, LiveWorld, Scenario
from mjrig.lab.rollouts.experiment_data import experiment_data, read_experiment
from mjrig.lab.rollouts.joint_bench import Bench
from mjrig.lab.rollouts.joint_signals import JointCase, JointSignals
from mjrig.lab.rollouts.metrics import METRICS, metrics_table
from mjrig.lab.rollouts.plan import ExperimentPlan, examine
from mjrig.lab.rollouts.randomisation import Randomisation
from mjrig.lab.rollouts.results import TABLE
from mjrig.lab.rollouts.run import BACKENDS, run
from mjrig.lab.rollouts.scenarios import FreeRun, SignalTest
from mjrig.lab.rollouts.scene_bundle import LocalScene
from mjrig.lab.rollouts.signals import Kind, Signal
from tests.places import DOCS
from tests.plugin.lab.sweep.swept import KP, KV, hinge_scene, refused

POINTS: list[dict[str, object]] = [{KP: 20, KV: 1.0}, {KP: 40, KV: 2.0}, {KP: 40, KV: 1e7}]
STEP = Signal(Kind.STEP, 0.2, duration=0.2)
RANDOM = Randomisation(mass=(0.9, 1.1), noise=0.01, start=0.05)


def hinge_experiment(folder: Path, scenario: Scenario | None = None) -> Experiment:
    scene = mjrig.Scene.load(hinge_scene(folder))
    scene.set("arm.PDController.torque_limit", float("inf"))  # the last point diverges
    experiment = Experiment(
        LocalScene.of(scene), scenario or FreeRun(0.2), "arm", randomisation=RANDOM
    )
    return experiment.with_points(POINTS, (0, 1))


def outcomes(experiment: Experiment, backend: str, **options: Any) -> dict[str, Any]:
    found = run(experiment, backend=backend, workers=2, **options)
    return {r.variation.id: (r.status, dict(r.metrics)) for r in found}


@pytest.mark.parametrize("scenario", [FreeRun(0.2), SignalTest(STEP)], ids=["run", "signal"])
def test_every_back_end_gives_the_same_bits(tmp_path: Path, scenario: Scenario) -> None:
    experiment = hinge_experiment(tmp_path, scenario)
    alone = outcomes(experiment, "inline")
    assert list(alone) == [variation.id for variation in experiment.variations]
    assert {status for status, _ in alone.values()} == {OK, DIVERGED}
    for backend in ("auto", "batch", "threads", "processes"):
        assert outcomes(experiment, backend) == alone, backend


def test_dask_gives_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed: Any = pytest.importorskip("distributed")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    experiment = hinge_experiment(tmp_path / "scene")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        found = outcomes(experiment, "dask", scheduler=cluster.scheduler_address)
    assert found == outcomes(experiment, "inline")


def test_warp_is_within_its_tolerance(tmp_path: Path) -> None:
    pytest.importorskip("warp")
    pytest.importorskip("mujoco_warp")
    scene = LocalScene.of(mjrig.Scene.load(hinge_scene(tmp_path)))
    experiment = Experiment(scene, FreeRun(0.2), "arm").with_points(POINTS[:2])
    double, single = (list(run(experiment, backend=b)) for b in ("inline", "warp"))
    assert {r.engine for r in single} == {Engine.WARP}
    for one, other in zip(double, single, strict=True):
        assert other.metrics == pytest.approx(dict(one.metrics), rel=1e-3, abs=2e-4)


@pytest.mark.parametrize(
    "counted",
    [("", ""), ('gravcomp="1"', 'actuatorfrcrange="-3 3" actuatorgravcomp="true"')],
    ids=["motor", "gravity compensation"],
)
def test_joints_in_a_batch_and_alone_respond_alike(
    tmp_path: Path, counted: tuple[str, str]
) -> None:
    path = hinge_scene(tmp_path)
    text = (tmp_path / "arm.xml").read_text().replace("<body", f"<body {counted[0]}")
    (tmp_path / "arm.xml").write_text(text.replace("<joint", f"<joint {counted[1]}"))
    scene = mjrig.Scene.load(path)
    experiment = Experiment(LocalScene.of(scene), JointSignals(STEP), "arm")
    signals = [STEP, Signal(Kind.STEP, 0.1, duration=0.2)]
    experiment = experiment.with_cases([JointCase("arm", "drive", s) for s in signals])
    plan = ExperimentPlan(experiment)
    alone, batched = (list(run(plan, backend=b)) for b in ("inline", "batch"))
    for one, other in zip(alone, batched, strict=True):
        trace, applied = other.traces.trace, other.traces.trace.applied_effort
        assert trace.position.tolist() == one.traces.trace.position.tolist()
        assert applied.tolist() == one.traces.trace.applied_effort.tolist()
        assert np.allclose(applied, trace.effort) != bool(counted[1])
        assert other.metrics == one.metrics
    (response,) = Bench(mjrig.World(scene)).run("arm", ["drive"], STEP)
    assert alone[0].metrics["overshoot"] == response.metrics.overshoot  # type: ignore[union-attr]


def test_an_experiment_is_data(tmp_path: Path) -> None:
    experiment = hinge_experiment(tmp_path)
    assert pickle.loads(pickle.dumps(experiment)) == experiment
    assert len({experiment, hinge_experiment(tmp_path)}) == 1
    read = read_experiment(json.loads(json.dumps(experiment_data(experiment))))
    assert read == experiment
    assert read.fingerprint == experiment.fingerprint
    assert outcomes(read, "inline") == outcomes(experiment, "inline")


@pytest.mark.parametrize(
    "scenario", [FreeRun(1.0), SignalTest(STEP, ("drive",), True), ReplayTest(Path("a.csv"))]
)
def test_every_scenario_can_be_written(tmp_path: Path, scenario: Scenario) -> None:
    scene = LocalScene.of(mjrig.Scene.load(hinge_scene(tmp_path)))
    experiment = Experiment(scene, scenario, "arm", engine=Engine.WARP, live=frozenset({KP}))
    assert read_experiment(json.loads(json.dumps(experiment_data(experiment)))) == experiment


def test_cases_are_written_too(tmp_path: Path) -> None:
    scene = LocalScene.of(mjrig.Scene.load(hinge_scene(tmp_path)))
    experiment = Experiment(scene, JointSignals(STEP), "arm")
    experiment = experiment.with_cases([JointCase("arm", "drive", STEP)])
    assert read_experiment(json.loads(json.dumps(experiment_data(experiment)))) == experiment


def test_a_running_world_and_an_unknown_scenario_are_refused(tmp_path: Path) -> None:
    world = mjrig.World(hinge_scene(tmp_path))
    with refused("an experiment in a … LocalScene.of(scene)"):
        experiment_data(Experiment(LiveWorld(world), FreeRun(), "arm"))
    data = experiment_data(hinge_experiment(tmp_path))
    data["scenario"]["kind"] = "FreeRum"
    with refused("unknown scenario 'FreeRum'; did you … 'FreeRun'?"):
        read_experiment(data)


def test_a_run_resumes_from_its_table(tmp_path: Path) -> None:
    experiment = hinge_experiment(tmp_path / "scene")
    for count, _ in enumerate(run(experiment, backend="inline", resume=tmp_path / "out"), 1):
        if count == 2:
            break
    assert len((tmp_path / "out" / TABLE).read_text().splitlines()) == 1 + 2
    told: list[tuple[float, int]] = []
    found = outcomes(
        experiment, "inline", resume=tmp_path / "out", progress=lambda *done: told.append(done)
    )
    assert told[0] == (0, len(experiment.variations) - 2)
    assert found == outcomes(experiment, "inline")


@pytest.mark.parametrize("backend", ["inline", "batch", "threads", "processes"])
def test_progress_is_reported_and_a_run_can_be_ended(tmp_path: Path, backend: str) -> None:
    experiment, told = hinge_experiment(tmp_path), list[tuple[float, int]]()
    total = len(experiment.variations)
    outcomes(experiment, backend, progress=lambda *done: told.append(done))
    assert (told[0], told[-1]) == ((0, total), (total, total))
    assert told == sorted(told)
    assert outcomes(experiment, backend, cancel=lambda: True) == {}


def test_an_ended_run_keeps_its_first_rollouts(tmp_path: Path) -> None:
    experiment, done = hinge_experiment(tmp_path), list[str]()
    for rollout in run(experiment, backend="inline", cancel=lambda: len(done) >= 2):
        done.append(rollout.variation.id)
    assert done == [variation.id for variation in experiment.variations[:2]]


def test_unknown_back_ends_are_refused(tmp_path: Path) -> None:
    with refused("unknown executor 'thread'; did you … 'threads'?"):
        list(run(hinge_experiment(tmp_path), backend="thread"))
    assert set(BACKENDS) == {"auto", "inline", "batch", "threads", "processes", "dask", "warp"}


def test_values_of_the_variations_are_tried_before_anything_runs(tmp_path: Path) -> None:
    experiment = hinge_experiment(tmp_path).with_points([{KP: 40}, {KP: -1}])
    with pytest.raises(mjrig.PropertyError, match="kp"):
        examine(experiment)
    plan = examine(experiment.with_points([{KP: 40}]))
    assert plan.experiment.live == {KP}
    assert plan.why_not_batched == ""


def test_every_metric_is_declared_and_documented() -> None:
    scenarios: list[Any] = [FreeRun(), SignalTest(), JointSignals(STEP), ReplayTest(Path())]
    names = dict.fromkeys(name for scenario in scenarios for name in scenario.metrics)
    assert set(names) <= set(METRICS)
    assert set(PolicyTrial.metrics.fget(None)) <= set(METRICS)  # type: ignore[attr-defined]
    for metric in METRICS.values():
        assert metric.meaning and metric.better in ("lower", "higher", "0", "1")
    if (page := DOCS / "sweeps.md").is_file():
        shown = dict.fromkeys((*scenarios[0].metrics, *scenarios[1].metrics, *scenarios[3].metrics))
        assert metrics_table(shown) in page.read_text("utf-8")
