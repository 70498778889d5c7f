"""Cases of `mjrig replay`: matches, and the diagnosis of wrong scenes, recordings and policies.

Every case starts from the bundled walk, whose recording the bundled scene reproduces.
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import yaml

import mjrig
from tests.oracles.case import case
from tests.oracles.comparing import Text
from tests.oracles.workspace import Workspace

#: Contacts of a walking robot amplify rounding: other CPUs agree to this.
WALKING = 1e-6
SCENE = "config/scenes/quadruped_walk.yaml"
WALK = "assets/walk/walk.npz"
POLICY = "assets/walk/policy.yaml"
TARGETS = f"replay {WALK} --scene {SCENE} --json --workers 1 --duration 0.5"
#: Gains of the scene but for one joint.
ONE_SOFT = "{FL_calf: 180, FR_calf|R._calf: 220, default: 150}"
Edit = Callable[[dict[str, Any]], object]


def with_settings(work: Workspace, *settings: str, mode: str = TARGETS) -> Any:
    """A replay with other properties of the scene."""
    return work.run(mode, *(word for s in settings for word in ("--set", s)))


def with_actor(work: Workspace, lines: str) -> Any:
    """A replay in the scene with more lines in its actor."""
    name = "config/scenes/other.yaml"
    work.edit(SCENE, name, ("    keyframe: home\n", f"    keyframe: home\n    {lines}\n"))
    return work.run(TARGETS.replace(SCENE, name))


def with_arrays(work: Workspace, *options: str, **arrays: Any) -> Any:
    """A replay of the recording with other arrays."""
    names = {name.replace("__", "/"): value for name, value in arrays.items()}
    work.change_arrays(WALK, "other.npz", **names)
    return work.run(TARGETS.replace(WALK, "other.npz"), *options)


def with_policy(work: Workspace, edit: Edit) -> Any:
    """The policy in the loop against the recording, its file edited."""
    data = yaml.safe_load((work.folder / POLICY).read_text())
    edit(data)
    work.write("assets/walk/other.yaml", yaml.safe_dump(data, sort_keys=False))
    line = f"replay {WALK} --scene {SCENE} --json --workers 1 --mode policy --trials 0"
    return work.run(f"{line} --policy assets/walk/other.yaml --command 0.5,0,0 --duration 1")


def terms(data: dict[str, Any], kind: str) -> Any:
    """The first observation term of a type."""
    return next(t for t in data["observation"]["terms"] if t["type"] == kind)


def without_plant(text: Any) -> Any:
    """The header of a recording that lists no gains, limits and joint properties."""
    header = json.loads(str(text))
    for actor in header["actors"].values():
        actor.pop("plant", None)
    header["attributes"].pop("gains", None)
    return np.array(json.dumps(header))


def swap_sides(columns: Any) -> Any:
    """Left and right legs exchanged."""
    return columns[:, [3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8]]


def flip_sign(columns: Any) -> Any:
    """The second setpoint with the other sign."""
    return columns * np.where(np.arange(columns.shape[1]) == 1, -1.0, 1.0)


def delay_rows(columns: Any) -> Any:
    """Setpoints three steps late."""
    return np.concatenate([columns[:1]] * 3 + [columns[:-3]])


def roll_quaternion(qpos: Any) -> Any:
    """x, y, z, w where w, x, y, z is expected."""
    return qpos[:, [0, 1, 2, 4, 5, 6, 3, *range(7, qpos.shape[1])]]


@case(rel=WALKING)
def replay_matches(work: Workspace) -> Any:
    line = f"replay {POLICY} --scene {SCENE} --json --workers 1 --duration 0.6 --seed 3"
    return {
        "targets": work.run(TARGETS),
        "kinematic": work.run(f"{TARGETS} --mode kinematic"),
        "policy": with_policy(work, lambda data: None),
        "trials": work.run(f"{line} --command 0.5,0,0 --trials 2"),
        "schedule": work.run(f"{line} --schedule 0:0,0,0;0.3:0.5,0,0 --trials 0"),
    }


@case(rel=WALKING)
def replay_wrong_gains(work: Workspace) -> Any:
    gain = "quadruped.PDController"
    return {
        "kp": with_settings(work, f"{gain}.kp=120"),
        "kp_of_one": with_settings(work, f"{gain}.kp={ONE_SOFT}"),
        "kv": with_settings(work, f"{gain}.kv=6.5"),
        "limit": with_settings(work, f"{gain}.torque_limit=8"),
        "two": with_settings(work, f"{gain}.kp=120", f"{gain}.kv=7"),
        "precision": with_settings(work, f"{gain}.precision=float32"),
    }


@case(rel=WALKING)
def replay_wrong_body(work: Workspace) -> Any:
    return {
        "armature": with_actor(work, "dynamics: {armature: {.*: 0.03}}"),
        "stiffness": with_actor(work, "dynamics: {stiffness: {FL_pitch_calf: 4.0}}"),
        "frictionloss": with_actor(work, "dynamics: {frictionloss: {.*: 0.4}}"),
        "integrator": with_settings(work, "sim.integrator=implicitfast"),
        "gravity": with_settings(work, "sim.gravity=[0, 0, -9.0]"),
    }


@case(rel=WALKING)
def replay_wrong_times(work: Workspace) -> Any:
    policy = "      - type: Policy\n        file: ../../assets/walk/policy.yaml\n"
    work.edit(SCENE, "config/scenes/bare.yaml", (policy, ""))
    bare = TARGETS.replace(SCENE, "config/scenes/bare.yaml")
    return {
        "timestep": with_settings(work, "sim.timestep=0.0005", mode=bare),
        "resampled": with_settings(work, "sim.timestep=0.0005", mode=f"{bare} --resample"),
        "delay": with_settings(work, "quadruped.PDController.delay={steps: 20}"),
        "late": with_arrays(work, quadruped__setpoint__position=delay_rows),
    }


@case(rel=WALKING)
def replay_wrong_recordings(work: Workspace) -> Any:
    return {
        "order": with_arrays(work, quadruped__setpoint__position=swap_sides),
        "sign": with_arrays(work, quadruped__setpoint__position=flip_sign),
        "quaternion": with_arrays(
            work, quadruped__qpos=roll_quaternion, states__state=lambda s: s[:0],
            states__step=lambda s: s[:0],
        ),
    }  # fmt: skip


@case(rel=WALKING)
def replay_unlisted_gains(work: Workspace) -> Any:
    work.change_arrays(WALK, WALK, mjrig_recording=without_plant)
    return {
        "kp_of_one": with_settings(work, f"quadruped.PDController.kp={ONE_SOFT}"),
        "kv": with_settings(work, "quadruped.PDController.kv=6.5"),
        "armature": with_actor(work, "dynamics: {armature: {.*: 0.03}}"),
    }


@case(rel=WALKING)
def replay_wrong_actions(work: Workspace) -> Any:
    swapped = {"FL": "FR", "FR": "FL", "RL": "RR", "RR": "RL"}
    return {
        "scale": with_policy(work, lambda d: d["action"].update(scale=0.3)),
        "clip": with_policy(work, lambda d: d["action"].update(clip=[-0.5, 0.5])),
        "default": with_policy(
            work, lambda d: d.update(default={".*_calf": -1.5, ".*_thigh": 0.8})
        ),
        "joints": with_policy(
            work, lambda d: d.update(joints=[swapped[j[:2]] + j[2:] for j in d["joints"]])
        ),
        "decimation": with_policy(work, lambda d: d.update(decimation=10)),
    }


@case(rel=WALKING)
def replay_wrong_observations(work: Workspace) -> Any:
    def swap_terms(data: dict[str, Any]) -> None:
        entries = data["observation"]["terms"]
        entries[3], entries[4] = entries[4], entries[3]

    return {
        "velocities": with_policy(work, lambda d: terms(d, "JointVelocities").update(scale=0.1)),
        "command": with_policy(work, lambda d: terms(d, "CommandTerm").update(scale=[1, 2, 1])),
        "gait": with_policy(work, lambda d: terms(d, "GaitPhase").update(period=0.5)),
        "order": with_policy(work, swap_terms),
    }


@case(rel=WALKING)
def replay_report(work: Workspace) -> Any:
    line = f"replay {WALK} --scene {SCENE} --workers 1 --duration 0.4"
    wrong = ("--set", "quadruped.PDController.kp=120")
    return {
        "text": work.run(f"{line} --report report", *wrong),
        "data": work.data("report/report.json"),
        "page": work.page("report/report.html"),
        "match": work.run(line),
        "undiagnosed": work.run(f"{line} --no-diagnosis --fail-above 0.01", *wrong),
        "policy": work.run(
            f"replay {POLICY} --scene {SCENE} --workers 1 --duration 0.4 --trials 1 --seed 1"
        ),
    }


@case(rel=WALKING)
def replay_repair(work: Workspace) -> Any:
    name = "config/scenes/wrong.yaml"
    work.edit(SCENE, name, ("kv: 5", "kv: 7"))
    line = f"replay {WALK} --scene {name} --workers 1 --duration 0.4"
    return {
        "text": work.run(f"{line} --fix"),
        "scene": work.yaml(name),
        "after": work.run(line),
    }


@case(rel=WALKING)
def replay_folder(work: Workspace) -> Any:
    (work.folder / "runs").mkdir()
    work.change_arrays(WALK, "runs/a.npz")
    work.change_arrays(WALK, "runs/b.npz", **{"quadruped/setpoint/position": flip_sign})
    work.write("runs/c.npz", "not an archive")
    line = f"replay runs --scene {SCENE} --workers 1 --duration 0.3 --no-diagnosis"
    return {
        "text": work.run(line),
        "data": work.run(f"{line} --json"),
        "unknown_mode": work.run(f"{line} --mode nothing"),
    }


@case(rel=WALKING)
def replay_functions(work: Workspace) -> Any:
    recording = mjrig.read_recording(work.folder / WALK)
    scene = mjrig.Scene.load(work.folder / SCENE)
    scene.set("quadruped.PDController.kv", 7.0)
    replay = mjrig.replay(recording, mjrig.World(scene), "targets", duration=0.4)
    return work.normal({"data": replay.to_data(), "text": Text(str(replay).splitlines())})
