"""Cases of `mjrig bench`, `import` and `info`."""

import json
from pathlib import Path
from typing import Any

import yaml

import mjrig
from tests.components.importers import biped
from tests.oracles.case import case
from tests.oracles.workspace import Workspace
from tests.plugin.data.robot_logs.simulated import (
    joint_messages,
    ros2,
    simulated,
    write_bag1,
    write_csv,
    write_json_mcap,
    write_npz,
    write_parquet,
    write_rosbag2,
)

#: Contacts of a walking robot amplify rounding: other CPUs agree to this.
WALKING = 1e-6
SCENE = "config/scenes/quadruped_walk.yaml"
SUITE = """
title: Short
seeds: 2
tasks:
  - {name: stand, command: stand, duration: 0.5, settle: 0.1, randomise: "start=0.05"}
  - {name: walk, command: forward, duration: 0.6, settle: 0.1, randomise: "mass=0.9:1.1"}
  - {name: weak, duration: 0.8, settle: 0.1, vary: strength, levels: [1, 0.05]}
"""


def bench_line(work: Workspace) -> str:
    """Two policies on a short suite."""
    work.write("suite.yaml", SUITE)
    work.edit(SCENE, "config/scenes/stiff.yaml", ("kv: 5", "kv: 9"))
    return f"bench {SCENE} config/scenes/stiff.yaml --suite suite.yaml --executor inline -o out"


@case(rel=WALKING)
def bench_suite(work: Workspace) -> Any:
    line = bench_line(work)
    return {
        "text": work.run(f"{line} --fail-below weak_0.05=0.9"),
        "results": work.table("out/results.csv"),
        "data": work.data("out/bench.json"),
        "again": work.run(line),
    }


@case(rel=WALKING)
def bench_report(work: Workspace) -> Any:
    line = bench_line(work).replace(" config/scenes/stiff.yaml", "")
    swapped = {"FL": "FR", "FR": "FL", "RL": "RR", "RR": "RL"}
    policy = yaml.safe_load((work.folder / "assets/walk/policy.yaml").read_text())
    policy["joints"] = [swapped[j[:2]] + j[2:] for j in policy["joints"]]
    work.write("assets/walk/swapped.yaml", yaml.safe_dump(policy, sort_keys=False))
    work.edit(SCENE, "config/scenes/swapped.yaml", ("walk/policy.yaml", "walk/swapped.yaml"))
    return {
        "swapped": work.run(
            line.replace(SCENE, f"{SCENE} config/scenes/swapped.yaml") + " --task walk"
        ),
        "page": work.page("out/bench.html"),
        "no_policy": work.run("bench config/scenes/pendulum.yaml --suite suite.yaml"),
        "no_task": work.run(f"{line} --task nothing --seed 1"),
    }


def import_line(work: Workspace, config: str, size: int, name: str, **network: Any) -> str:
    """The words that import a network of this size with a configuration."""
    biped.model(work.folder)
    biped.network(work.folder / f"{name}.onnx", size, **network)
    words = []
    if config:
        work.write(f"{name}.yaml", config)
        words = [f"{name}.yaml"]
    return f"import {' '.join(words)} {name}.onnx --model biped.xml -o {name}/scene.yaml --json"


@case(rel=WALKING)
def import_policies(work: Workspace) -> Any:
    gym = import_line(work, biped.GYM, 23, "gym")
    lab = import_line(work, biped.LAB, 2 * (3 + 3 + 3 + 4 + 4 + 4), "lab")
    mimic = import_line(work, "", biped.MIMIC_SIZE, "mimic", metadata=biped.MIMIC)
    return {
        "walk": work.run(
            "import assets/walk/policy.yaml --model assets/quadruped/quadruped.xml "
            "-o walk/scene.yaml --json --no-probe"
        ),
        "walk_scene": work.yaml("walk/scene.yaml"),
        "gym": work.run(gym),
        "gym_scene": work.yaml("gym/scene.yaml"),
        "gym_policy": work.yaml("gym/policy.yaml"),
        "lab": work.run(lab),
        "lab_policy": work.yaml("lab/policy.yaml"),
        "mimic": work.run(mimic),
        "mimic_policy": work.yaml("mimic/policy.yaml"),
    }


@case(rel=WALKING)
def import_findings(work: Workspace) -> Any:
    stiff = biped.GYM.replace("kps: [60, 80, 60, 80]", "kps: [6000, 80, 60, 80]")
    slow = biped.GYM.replace("simulation_dt: 0.002", "simulation_dt: 0.004")
    pose = biped.GYM.replace("[-0.1, 0.3, -0.1, 0.3]", "[-0.1, 3.3, -0.1, 0.3]")
    gym = import_line(work, biped.GYM, 23, "text").replace(" --json", " --no-probe")
    return {
        "wrong_size": work.run(import_line(work, biped.GYM, 29, "wrong_size")),
        "stiff": work.run(import_line(work, stiff, 23, "stiff") + " --no-probe"),
        "slow": work.run(import_line(work, slow, 23, "slow") + " --no-probe"),
        "pose": work.run(import_line(work, pose, 23, "pose") + " --no-probe --strict"),
        "overrides": work.run(
            import_line(work, biped.GYM, 23, "overrides")
            + " --no-probe --scale 0.5 --height 0.7 --rate 25 --actuators pd"
        ),
        "text": work.run(gym),
        "again": work.run(gym),
        "no_network": work.run("import text.yaml --model biped.xml -o none/scene.yaml"),
    }


@case()
def info_recordings(work: Workspace) -> Any:
    world = mjrig.World(work.folder / "config/scenes/arm.yaml")
    with mjrig.Recorder(world, work.folder / "run.h5"):
        world.step(50)
    work.run("convert run.h5 run.npz")
    content = (work.folder / "run.npz").read_bytes()
    (work.folder / "cut.npz").write_bytes(content[: len(content) // 2])
    return {
        "walk": work.run("info assets/walk/walk.npz"),
        "npz": work.run("info run.npz --verify"),
        "h5": work.run("info run.h5 --verify"),
        "cut": work.run("info cut.npz --verify"),
        "missing": work.run("info missing.npz"),
        "policy": work.run("info assets/walk/policy.yaml"),
        "network": work.run("info assets/walk/walk.onnx"),
    }


@case()
def info_logs(work: Workspace) -> Any:
    run, store, folder = simulated(1.0), ros2(), work.folder
    messages = joint_messages(run, store)
    paths: list[Path] = [
        write_rosbag2(folder / "sqlite", messages, store, "SQLITE3"),
        write_bag1(folder / "run.bag", run),
        write_json_mcap(folder / "json.mcap", run),
        write_csv(folder / "table.csv", run),
        write_npz(folder / "table.npz", run),
        write_parquet(folder / "lerobot", run),
    ]
    results = {p.name: work.run(f"info {p.name}") for p in paths}
    late = joint_messages(run, store, ahead=0.5, keep=[*range(100), *range(200, 500)])
    write_rosbag2(folder / "gap", late, store, "SQLITE3")
    results["gap"] = work.run("info gap")
    return results


@case()
def info_training(work: Workspace) -> Any:
    biped.network(work.folder / "net.onnx", 23, metadata=biped.MIMIC, memory=True)
    work.write("gym.yaml", biped.GYM)
    work.write("lab.yaml", biped.LAB)
    work.write("judo.json", json.dumps(biped.judo()))
    biped.torchscript(work.folder / "net.pt")
    names = ("net.onnx", "gym.yaml", "lab.yaml", "judo.json", "net.pt")
    return {name: work.run(f"info {name}") for name in names}
