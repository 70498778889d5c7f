"""The engine warp in sweeps: the same tasks, seeds and metrics; what it cannot run is refused.

MuJoCo stands in for MuJoCo Warp, so that rows can be compared bit by bit; what the package
computes is compared in tests/plugin/core/sim/test_on_warp.py.
"""

import csv
import json
import sys
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

import mjrig
from mjrig.core.sim import warp_device
from mjrig.lab.replay.replay_test import ReplayTest
from mjrig.lab.rollouts.experiment import DIVERGED, FAILED, OK, Engine, Scenario, Variation
from mjrig.lab.rollouts.randomisation import Randomisation
from mjrig.lab.rollouts.scenarios import FreeRun, SignalTest
from mjrig.lab.rollouts.signals import Kind, Signal
from mjrig.lab.rollouts.worker import evaluate
from mjrig.lab.sweep.runner import Swept, examine, sweep
from mjrig.lab.sweep.search_space import Choices, Space
from tests.plugin.core.sim.c_device import CDevice, on_c
from tests.plugin.lab.sweep.swept import KP, KV, hinge_scene, refused
from tests.wording import matches

SCENES = Path(str(files("mjrig.config").joinpath("scenes")))
WITHOUT = " (without it, MuJoCo runs the scene)"
__all__ = ["on_c"]  # a fixture


def on_both(
    scene: mjrig.Scene | Path, space: Space, scenario: Scenario, randomise: str = "", seeds: int = 1
) -> tuple[Swept, Swept]:
    warp, mujoco = (
        sweep(
            scene,
            space,
            scenario,
            randomise=Randomisation.read(randomise),
            seeds=seeds,
            engine=engine,
            executor="inline",
        )
        for engine in ("warp", "mujoco")
    )
    return warp, mujoco


@pytest.mark.usefixtures("on_c")
@pytest.mark.parametrize(
    ("scenario", "randomise", "gains"),
    [
        (
            FreeRun(0.1),
            "mass=0.8:1.2,friction=0.4:1.2,armature=0.5:2,damping=0.5:2,start=0.05,noise=0.01",
            (60.0, 150.0),
        ),
        (FreeRun(2.6), "kick=0.5,strength=0.7:1,payload=0:0.2", (60.0,)),
        (SignalTest(Signal(Kind.STEP, 0.3, duration=0.1), ("FL_hip",)), "mass=0.8:1.2", (60.0,)),
    ],
)
def test_rows_are_those_of_mujoco(
    scenario: Scenario, randomise: str, gains: tuple[float, ...]
) -> None:
    scene = mjrig.Scene.load(SCENES / "quadruped.yaml")
    scene.set("sim.timestep", 0.004)
    controller = "quadruped.PDController"
    choices = (
        Choices(f"{controller}.kp", gains),
        Choices(f"{controller}.torque_limit[.*_calf]", (3.0, float("inf"))[: len(gains)]),
    )
    warp, mujoco = on_both(scene, Space(choices), scenario, randomise, seeds=2)
    assert {row.status for row in warp.results} == {OK}
    assert [(r.values, r.seed) for r in warp.results] == [
        (r.values, r.seed) for r in mujoco.results
    ]
    assert [r.metrics for r in warp.results] == [r.metrics for r in mujoco.results]
    assert (
        len({r.metrics["rmse"] for r in warp.results}) == len(warp.results) == 2 * len(gains) ** 2
    )
    assert {r.engine for r in warp.results} == {"warp float32"}
    assert {r.engine for r in mujoco.results} == {"mujoco float64"}
    assert warp.best is not None and mujoco.best is not None
    assert warp.best.values == mujoco.best.values


@pytest.mark.usefixtures("on_c")
def test_delays_timesteps_and_torque_speed_curves_get_worlds_of_their_own() -> None:
    for name, choices in (
        ("bench_delay", (Choices("quadruped.PDController.delay.steps", (1, 4)),)),
        ("bench_dc", (Choices("quadruped.PDController.kv", (3.0, 6.0)),)),
        ("quadruped", (Choices("sim.timestep", (0.001, 0.002)),)),
    ):
        scene = mjrig.Scene.load(SCENES / f"{name}.yaml")
        test, random = FreeRun(0.1), Randomisation(start=0.1, noise=0.1)
        warp = sweep(scene, Space(choices), test, engine="warp", randomise=random)
        native = sweep(
            scene, Space(choices), test, execution="native", executor="inline", randomise=random
        )
        assert [r.metrics for r in warp.results] == [r.metrics for r in native.results], name
        assert len({r.metrics["rmse"] for r in warp.results}) == 2, name


@pytest.mark.usefixtures("on_c")
def test_divergence_and_refused_values_are_rows(tmp_path: Path) -> None:
    scene = mjrig.Scene.load(hinge_scene(tmp_path))
    scene.set("arm.joints", {"swing": 0.5})
    scene.set("arm.PDController.torque_limit", float("inf"))
    warp, mujoco = on_both(scene, Space((Choices(KV, (4.0, 1e7, 5.0)),)), FreeRun(0.3))
    for swept in (warp, mujoco):
        assert [row.status for row in swept.results] == [OK, DIVERGED, OK]
    assert [r.metrics for r in warp.results] == [r.metrics for r in mujoco.results]
    # A value that only its own task shows to be wrong: others are not concerned.
    plan = examine(scene, [Choices(KP, (4.0, 5.0))], FreeRun(0.1), engine=Engine.WARP)
    tasks = [Variation.of("", {KP: kp}, 0) for kp in (4.0, -1.0, 5.0)]
    found = evaluate(replace(plan.experiment, variations=tuple(tasks)), 1)
    assert [o.status for o in found] == [OK, FAILED, OK]
    assert "kp" in found[1].error and "-1" in found[1].error


def test_a_table_resumes_and_says_the_engine(tmp_path: Path, on_c: type[CDevice]) -> None:
    scene, out = hinge_scene(tmp_path), tmp_path / "out"

    def run(*values: float, engine: str = "warp", mix: bool = False) -> Swept:
        return sweep(
            scene, Space((Choices(KP, values),)), FreeRun(0.1), seeds=2, output=out, mix=mix,
            randomise=Randomisation(start=0.1), engine=engine,
            executor=None if engine == "warp" else "inline",
        )  # fmt: skip

    first = run(10.0, 20.0)
    assert [len(d.worlds) for d in on_c.made] == [1, 3, 1]  # the trial, and four tasks
    on_c.made.clear()
    second = run(10.0, 15.0, 20.0)
    assert second.kept == 4 and [len(d.worlds) for d in on_c.made] == [1, 2]
    assert [r.metrics for r in first.results] == [
        r.metrics for r in second.results if r.values[KP] != 15.0
    ]
    with (out / "results.csv").open(newline="") as file:
        assert {row["engine"] for row in csv.DictReader(file)} == {"warp float32"}
    about = json.loads((out / "sweep.json").read_text())
    assert about["engine"] == "warp float32" and about["device"] == "cpu"
    with refused(f"{out}: holds results of something … --mix"):
        run(10.0, engine="mujoco")
    mixed = run(10.0, engine="mujoco", mix=True)
    assert mixed.kept == 0 and {r.engine for r in mixed.results} == {"mujoco float64"}


def test_a_table_from_before_engines_is_continued_as_it_is(tmp_path: Path) -> None:
    scene, out = hinge_scene(tmp_path), tmp_path / "out"

    def run(*values: float) -> Swept:
        space = Space((Choices(KP, values),))
        return sweep(scene, space, FreeRun(0.1), output=out, executor="inline")

    run(10.0)
    table, about = out / "results.csv", out / "sweep.json"
    table.write_text(table.read_text().replace(",engine", "").replace(",mujoco float64", ""))
    kept = json.loads(about.read_text())
    del kept["engine"]
    about.write_text(json.dumps(kept))
    swept = run(10.0, 20.0)
    assert swept.kept == 1 and {r.engine for r in swept.results} == {"mujoco float64"}
    lines = table.read_text().splitlines()
    assert len(lines) == 3 and {len(line.split(",")) for line in lines} == {
        len(lines[0].split(","))
    }


def test_contacts_get_more_room_until_they_fit(tmp_path: Path, on_c: type[CDevice]) -> None:
    scene, space = hinge_scene(tmp_path), Space((Choices(KP, (10.0, 20.0)),))
    on_c.too_small = 5
    swept = sweep(scene, space, FreeRun(0.1), engine="warp")
    assert {row.status for row in swept.results} == {OK}
    assert len(on_c.made) == 1 + 3  # the trial, then room for 1, 4 and 16 times as many
    on_c.too_small = 1000
    swept = sweep(scene, space, FreeRun(0.1), engine="warp")
    assert {(row.status, row.error) for row in swept.results} == {
        (FAILED, "more contacts than MuJoCo Warp has room for, even 64 times")
    }


@pytest.mark.usefixtures("on_c")
@pytest.mark.parametrize(
    ("name", "parameter", "why"),
    [
        (
            "bench_pid",
            "quadruped.PIDController.kp",
            "quadruped.PIDController integrates its error, and MuJoCo Warp … PDController",
        ),
        (
            "quadruped_trot",
            "quadruped.pd.kp",
            "quadruped.TrotGait runs in Python between steps; …",
        ),
        (
            "bench_full",
            "quadruped.PIDController.kp",
            "quadruped.PIDController cannot run natively: ",
        ),
    ],
)
def test_components_are_refused_by_name_before_any_work(
    name: str, parameter: str, why: str, tmp_path: Path
) -> None:
    scene = mjrig.Scene.load(SCENES / f"{name}.yaml")
    with pytest.raises(mjrig.ExecutionError) as caught:
        sweep(scene, Space((Choices(parameter, (40,)),)), FreeRun(0.1), engine="warp",
              output=tmp_path / "out")  # fmt: skip
    assert matches(str(caught.value), f"the engine warp cannot run this: {why}…")
    assert str(caught.value).endswith(WITHOUT)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("on_c")
@pytest.mark.parametrize(
    ("sim", "why"),
    [
        ("{solver: PGS}", "the solver is PGS; set … {solver: Newton} … CG"),
        (
            "{integrator: discrete, actuation: implicit, noslip_iterations: 2}",
            "noslip_iterations and the integrator discrete …",
        ),
        ("{midphase: disable}", "the flag midphase is … MuJoCo …"),
        ("{fwdinv: enable}", "the flag fwdinv is … MuJoCo …"),
        (
            "{actuatorgroupdisable: 2}",
            "the actuator group 1 is …",
        ),
        (
            "{integrator: implicitfast}",
            "arm.PDController cannot run natively: under … MuJoCo … {actuation: implicit} …",
        ),
    ],
)
def test_options_are_refused_before_any_work(tmp_path: Path, sim: str, why: str) -> None:
    scene = hinge_scene(tmp_path, more=f"sim: {sim}\n")
    model = tmp_path / "arm.xml"
    other = '<position name="other" joint="swing" group="1"/></actuator>'
    model.write_text(model.read_text().replace("</actuator>", other))
    with refused(f"the engine warp cannot … {why}{WITHOUT}"):
        sweep(scene, Space((Choices(KP, (40,)),)), FreeRun(0.1), engine="warp")


@pytest.mark.usefixtures("on_c")
@pytest.mark.parametrize(
    ("actuator", "why"),
    [
        (
            "{type: PIDActuator, name: extra, joint: swing, kp: 1, ki: 2}",
            "the actuator 'arm/extra' is a …",
        ),
        (
            "{type: OrientationActuator, name: extra, joint: turn, kp: 1}",
            "the actuator 'arm/extra' is an …",
        ),
    ],
)
def test_actuators_are_refused_by_name(tmp_path: Path, actuator: str, why: str) -> None:
    path = hinge_scene(tmp_path)
    model = tmp_path / "arm.xml"
    ball = '<body><joint name="turn" type="ball"/><geom size="0.01"/></body></worldbody>'
    model.write_text(model.read_text().replace("</worldbody>", ball))
    text = path.read_text().replace(
        "    components:", f"    actuators: [{actuator}]\n    components:"
    )
    path.write_text(text)
    with refused(f"the engine warp cannot … {why}{WITHOUT}"):
        sweep(path, Space((Choices(KP, (40,)),)), FreeRun(0.1), engine="warp")


@pytest.mark.usefixtures("on_c")
def test_replays_pushes_and_other_workers_are_refused(tmp_path: Path) -> None:
    scene, space = hinge_scene(tmp_path), Space((Choices(KP, (40,)),))
    with refused(f"the engine warp cannot … own{WITHOUT}"):
        sweep(scene, space, ReplayTest(tmp_path / "none.csv"), engine="warp")
    here = (
        "the engine warp runs all points at once, in this process; leave out executor and workers"
    )
    with refused(here):
        sweep(scene, space, FreeRun(0.1), engine="warp", executor="processes")
    with refused(here):
        sweep(scene, space, FreeRun(0.1), engine="warp", workers=2)
    with refused(f"the engine warp cannot … MuJoCo … python{WITHOUT}"):  # fmt: skip
        sweep(scene, space, FreeRun(0.1), engine="warp", execution="python")
    with refused("unknown engine 'warb'; did you … 'warp'?"):
        sweep(scene, space, FreeRun(0.1), engine="warb")
    quadruped = mjrig.Scene.load(SCENES / "quadruped.yaml")
    gains = Space((Choices("quadruped.PDController.kp", (40,)),))
    with refused(f"the engine warp cannot … world{WITHOUT}"):  # fmt: skip
        sweep(quadruped, gains, FreeRun(0.1), engine="warp", randomise=Randomisation(push=(1, 1)))


def test_without_the_package_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "warp", None)
    warp_device.packages.cache_clear()
    with pytest.raises(mjrig.MissingExtraError) as caught:
        sweep(hinge_scene(tmp_path), Space((Choices(KP, (40,)),)), FreeRun(0.1), engine="warp")
    warp_device.packages.cache_clear()
    assert str(caught.value).startswith(
        "the engine warp needs the extra 'warp': pip install 'mjrig[warp]'"
    )
