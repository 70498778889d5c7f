"""Cases of `mjrig tune respond`, `tune test`, `sweep` and `optimise`."""

from typing import Any

import mjrig
from tests.oracles.case import case
from tests.oracles.workspace import Workspace

RESPOND = "tune respond config/scenes/{} --json --workers 1"
TEST = "tune test config/scenes/{} --json --workers 1"
SWEEP = "sweep config/scenes/{} --executor inline -o out"
OPTIMISE = "optimise config/scenes/{} --executor inline -o out"
#: Rows of a sweep are named by a hash of the test's class; its values do not depend on it.
HASHES = ("task",)


@case()
def respond_signals(work: Workspace) -> Any:
    arm = RESPOND.format("arm.yaml") + " --joint elbow"
    return {
        "step": work.run(RESPOND.format("pendulum.yaml")),
        "square": work.run(f"{arm} --signal square --duration 0.5 --frequency 4"),
        "sine": work.run(f"{arm} --signal sine --duration 0.5 --frequency 4"),
        "chirp": work.run(f"{arm} --signal chirp --duration 0.8 --end-frequency 8"),
        "saturated": work.run(RESPOND.format("pendulum.yaml") + " --amplitude 2 --duration 0.5"),
    }


@case()
def respond_robots(work: Workspace) -> Any:
    bench = RESPOND.replace("{}", "bench_{}.yaml") + " --joint F._(hip|calf) --duration 0.2"
    return {
        "quadruped": work.run(
            RESPOND.format("quadruped.yaml") + " --joint FL_.* --duration 0.2 --csv out.csv"
        ),
        "samples": work.table("out.csv"),
        "dc": work.run(bench.format("dc")),
        "delay": work.run(bench.format("delay")),
        "pid": work.run(bench.format("pid")),
        "python": work.run(RESPOND.format("pendulum.yaml") + " --duration 0.2 --execution python"),
    }


@case()
def respond_texts(work: Workspace) -> Any:
    line = "tune respond config/scenes/arm.yaml --workers 1 --duration 0.2"
    return {
        "text": work.run(line),
        "no_joint": work.run(f"{line} --joint nothing"),
        "chirp": work.run(f"{line} --joint elbow --signal chirp"),
    }


@case()
def gain_tests(work: Workspace) -> Any:
    pendulum = TEST.format("pendulum.yaml") + " --tests step load"
    return {
        "passes": work.run(TEST.format("pendulum.yaml")),
        "soft": work.run(pendulum, "--set", "pendulum.PDController.kp=15"),
        "weak": work.run(pendulum, "--set", "pendulum.PDController.torque_limit=3"),
        "underdamped": work.run(pendulum, "--set", "pendulum.PDController.kv=0.3"),
        "sluggish": work.run(pendulum, "--set", "pendulum.PDController.kv=60"),
        "weak_sine": work.run(
            TEST.format("pendulum.yaml") + " --tests sine",
            "--set",
            "pendulum.PDController.torque_limit=3",
        ),
        "coarse": work.run(
            TEST.format("pendulum.yaml") + " --tests timestep", "--set", "sim.timestep=0.01"
        ),
        "arm": work.run(TEST.format("arm.yaml") + " --joints elbow"),
        "quadruped": work.run(
            TEST.format("quadruped.yaml") + " --joints FL_calf --tests step load"
        ),
    }


@case()
def gain_test_report(work: Workspace) -> Any:
    line = "tune test config/scenes/pendulum.yaml --workers 1 --report page.html"
    return {
        "text": work.run(line, "--set", "pendulum.PDController.kp=15"),
        "data": work.data("page.json"),
        "page": work.page("page.html"),
        "unknown": work.run("tune test config/scenes/pendulum.yaml --tests nothing"),
    }


@case()
def sweep_grid(work: Workspace) -> Any:
    line = SWEEP.format("pendulum.yaml") + " --grid pendulum.PDController.kp=50,100,200"
    line += " --grid pendulum.PDController.kv=3:6:2 --signal step:0.3:0.4"
    return {
        "text": work.run(f"{line} --best best.yaml --best-scene config/scenes/best.yaml"),
        "results": work.table("out/results.csv", HASHES),
        "best": work.yaml("best.yaml"),
        "best_scene": work.yaml("config/scenes/best.yaml"),
        "again": work.run(line),
        "other_metric": work.run(line, "--metric", "rmse + 0.01*effort"),
    }


@case()
def sweep_samples(work: Workspace) -> Any:
    line = SWEEP.format("pendulum.yaml") + " --range pendulum.PDController.kp=20:200:log --sample 3"
    line += " --seed 4 --seeds 2 --run 0.3 --randomise mass=0.9:1.1,armature=0.5:2,damping=0.5:2,"
    line += "strength=0.8:1,noise=0.002,start=0.05 --method random"
    return {"text": work.run(line), "results": work.table("out/results.csv", HASHES)}


@case(rel=1e-6)
def sweep_walk(work: Workspace) -> Any:
    line = SWEEP.format("quadruped_walk.yaml") + " --range quadruped.PDController.kv=3:8 --sample 2"
    line += " --run 0.4 --randomise friction=0.5:1.2,payload=0:0.5,kick=0.5,push=0.5"
    line += ",bias=0.01,latency=0:0.02 --seeds 2"
    return {
        "text": work.run(f"{line} --metric=-travel"),
        "results": work.table("out/results.csv", HASHES),
    }


@case()
def sweep_failures(work: Workspace) -> Any:
    line = SWEEP.format("pendulum.yaml") + " --grid pendulum.PDController.kp=100,1e9"
    return {
        "unstable": work.run(
            f"{line} --run 0.3", "--set", "pendulum.PDController.torque_limit=inf"
        ),
        "results": work.table("out/results.csv", HASHES),
        "unknown": work.run(SWEEP.format("pendulum.yaml") + " --grid pendulum.PDController.q=1"),
        "no_space": work.run(SWEEP.format("pendulum.yaml")),
        "metric": work.run(f"{line} --metric nothing --mix"),
    }


@case()
def sweep_replay(work: Workspace) -> Any:
    scene = mjrig.Scene.load(work.folder / "config/scenes/pendulum.yaml")
    world = mjrig.World(scene)
    with mjrig.Recorder(world, work.folder / "run.h5"):
        for k in range(20):
            world["pendulum"].set_targets([0.02 * k])
            world.step(20)
    line = SWEEP.format("pendulum.yaml") + " --grid pendulum.PDController.kp=80,100,125"
    return {
        "text": work.run(f"{line} --replay run.h5"),
        "results": work.table("out/results.csv", HASHES),
    }


@case(rel=1e-6)
def optimise_search(work: Workspace) -> Any:
    line = OPTIMISE.format("pendulum.yaml") + " --range pendulum.PDController.kp=20:300:log"
    line += " --range pendulum.PDController.kv=1:20 --signal step:0.3:0.3 --seed 3"
    return {
        "tpe": work.run(f"{line} --trials 12 --best best.yaml"),
        "results": work.table("out/results.csv", HASHES),
        "best": work.yaml("best.yaml"),
        "resumed": work.run(f"{line} --trials 13"),
        "random": work.run(f"{line} --trials 4 --sampler random --mix -o random"),
        "random_results": work.table("random/results.csv", HASHES),
    }
