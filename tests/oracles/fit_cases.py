"""Cases of `mjrig tune fit`: recordings of mjrig, and logs of a robot simulated by bare MuJoCo."""

from functools import partial
from typing import Any

import numpy as np

import mjrig
from tests.oracles.case import case
from tests.oracles.workspace import Workspace
from tests.plugin.data.robot_logs.simulated import MODEL, SCENE, simulated, write_csv, write_npz

#: A search ends where its steps are small: other CPUs agree to this.
SEARCH = 1e-5
ARM = "config/scenes/arm.yaml"
PENDULUM = "config/scenes/pendulum.yaml"


def record(work: Workspace, scene: str, name: str, seconds: float, **settings: object) -> str:
    """A run of a scene with other properties, its joints moved by waves."""
    source = mjrig.Scene.load(work.folder / scene)
    for path, value in settings.items():
        source.set(path.replace("__", "."), value)
    world = mjrig.World(source)
    robot = next(iter(world.articulations.values()))
    rest = robot.setpoints.values[0].copy()
    size = np.array([0.15 if b.on_joint else 0.005 for b in robot.actuators])
    every = round(0.02 / world.timestep)
    with mjrig.Recorder(world, work.folder / "raw.h5", overwrite=True):
        for k in range(round(seconds / 0.02)):
            turns = (0.6 + 0.13 * np.arange(len(rest))) * 0.02 * k
            robot.set_targets(rest + size * np.sin(2 * np.pi * turns))
            world.step(every)
    assert work.run(f"convert raw.h5 {name}")["exit"] == 0
    columns = {"qpos": 1e-4, "qvel": 5e-3, "effort": 1e-2}
    noisy = {f"{robot.name}/{c}": partial(add_noise, size) for c, size in columns.items()}
    work.change_arrays(name, name, **noisy)
    return name


def add_noise(size: float, values: Any) -> Any:
    """Sensor noise: without it, intervals and residuals would be rounding errors."""
    return values + np.random.default_rng(values.shape).normal(0.0, size, values.shape)


@case(rel=SEARCH)
def fit_gains(work: Workspace) -> Any:
    gains = {"pendulum__PDController__kp": 80.0, "pendulum__PDController__kv": 5.0}
    record(work, PENDULUM, "run.npz", 2.5, **gains)
    line = f"tune fit {PENDULUM} run.npz --json"
    return {
        "motion": work.run(f"{line} --parameters kp,kv"),
        "efforts": work.run(f"{line} --parameters kp,kv --evidence efforts"),
        "prior": work.run(f"{line} --parameters kp,kv --prior 0.1 --validate none"),
        "unknown": work.run(f"{line} --parameters nothing"),
    }


@case(rel=SEARCH, long=True)
def fit_options(work: Workspace) -> Any:
    gains = {"pendulum__PDController__kp": 80.0, "pendulum__PDController__kv": 5.0}
    record(work, PENDULUM, "run.npz", 2.5, **gains)
    record(work, PENDULUM, "short.npz", 1.0, **gains)
    line = f"tune fit {PENDULUM} run.npz --json"
    return {
        "joint": work.run(f"{line} --parameters armature,damping,frictionloss --each"),
        "bounds": work.run(f"{line} --parameters kp --bounds kp=90:200"),
        "validated": work.run(f"{line} --parameters kp --validate short.npz --window 0.2"),
    }


@case(rel=SEARCH)
def fit_arm(work: Workspace) -> Any:
    record(work, ARM, "arm.npz", 1.0, arm__PDController__kv=12.0)
    line = f"tune fit {ARM} arm.npz --json --joint elbow"
    return {"kv": work.run(f"{line} --parameters kp,kv --evidence efforts")}


@case(rel=SEARCH)
def fit_still(work: Workspace) -> Any:
    world = mjrig.World(work.folder / PENDULUM)
    with mjrig.Recorder(world, work.folder / "still.h5"):
        world.step(600)
    return {"still": work.run(f"tune fit {PENDULUM} still.h5 --json --parameters kp,kv,delay")}


@case(rel=SEARCH)
def fit_log(work: Workspace) -> Any:
    work.write("arm.xml", MODEL)
    work.write("scene.yaml", SCENE)
    run = simulated(2.0)
    write_csv(work.folder / "log.csv", run)
    write_npz(work.folder / "log.npz", run)
    return {
        "delay": work.run("tune fit scene.yaml log.npz --json --parameters kp,kv,delay"),
        "gains": work.run("tune fit scene.yaml log.csv --json --parameters kp,kv --offset 0"),
    }


@case(rel=SEARCH, long=True)
def fit_bodies(work: Workspace) -> Any:
    work.write("arm.xml", MODEL.replace("<body>", '<body name="upper">', 1).replace(
        '<body pos', '<body name="lower" pos'))  # fmt: skip
    work.write("scene.yaml", SCENE.replace("kp: 40, kv: 2", "kp: 31, kv: 1.5"))
    write_npz(work.folder / "log.npz", simulated(1.5))
    line = "tune fit scene.yaml log.npz --json --offset 0.006"
    return {
        "mass": work.run(f"{line} --parameters mass --bodies lower"),
        "payload": work.run(f"{line} --parameters payload --payload lower"),
    }


@case(rel=SEARCH)
def fit_report(work: Workspace) -> Any:
    record(work, PENDULUM, "run.npz", 2.2, pendulum__PDController__kp=80.0)
    line = f"tune fit {PENDULUM} run.npz --parameters kp,kv"
    return {
        "text": work.run(f"{line} --report report --preset gains.yaml"),
        "data": work.data("report/report.json"),
        "page": work.page("report/report.html"),
        "preset": work.yaml("gains.yaml"),
        "written": work.run(f"{line} --write"),
        "scene": work.yaml(PENDULUM),
    }
