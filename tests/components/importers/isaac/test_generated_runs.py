"""Runs made at random import and do what a loop of the tests does with the same files."""

import math
import random
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components.importers.policy_import import import_policy
from tests import networks
from tests.campaign import Tally
from tests.components.importers import biped
from tests.components.importers.comparing import or_refused
from tests.components.importers.isaac import runs
from tests.components.importers.isaac.plants import network_of

COMMAND = (0.4, -0.1, 0.2)
TICKS = 3


def weights_of(path: Path) -> np.ndarray:
    (found,) = runs.onnx_weights(path)
    return found


def write_networks(folder: Path, groups: dict[str, Any]) -> None:
    """Networks of learned actuators beside the run, as a plain export has them: no metadata."""
    folder.mkdir(exist_ok=True)
    for group in groups.values():
        if "network_file" in group and "input_idx" in group:
            networks.mlp(network_of(group, folder), 2 * len(group["input_idx"]))
        elif "network_file" in group:
            networks.lstm(network_of(group, folder), batch_first=len(group["network_file"]) % 2 > 0)


def differences(
    folder: Path, data: runs.Data, rng: random.Random | None = None, **options: Any
) -> str:
    """Import a run and compare it with the loop of the tests; empty: they do the same.

    With `rng`, limbs and motors of the model are in any order, and the file may have aliases.
    """
    limbs, motors = list(runs.LIMBS), list(runs.MOTORS)
    if rng is not None:
        rng.shuffle(limbs)
        rng.shuffle(motors)
    tied = rng is not None and rng.random() < 0.5
    write_networks(folder / "params", data["scene"]["robot"]["actuators"])
    model = runs.model(folder, limbs=limbs, motors=motors)
    size, count = runs.sizes(model, data)
    network = biped.network(folder / "policy.onnx", size, count)
    config = runs.write(folder, data, tied=tied)
    imported = import_policy(
        [config], network, model, folder / "out" / "scene.yaml", overwrite=True, **options
    )
    world = mjrig.World(mjrig.Scene.load(imported.scene))
    policy: Any = next(c for c in world["robot"].components if type(c).__name__ == "Policy")
    if policy.command_now.size:
        policy.follow([(0.0, COMMAND)])
    start = world.data.qpos.copy()
    world.step(TICKS * data["decimation"])
    wanted = runs.reference(model, data, weights_of(network), TICKS, COMMAND)
    if not np.array_equal(start, wanted.start):
        return f"the start differs by {np.abs(start - wanted.start).max():.2g}"
    if policy.observation.shape != wanted.observation.shape:
        return f"{policy.observation.size} values instead of {wanted.observation.size}"
    if not np.allclose(policy.observation, wanted.observation, atol=2e-6):
        bad = np.flatnonzero(~np.isclose(policy.observation, wanted.observation, atol=2e-6))
        return f"the observation differs at {bad[:5]}"
    if not np.allclose(world.data.qpos, wanted.qpos, atol=1e-7):
        return f"the state differs by {np.abs(world.data.qpos - wanted.qpos).max():.2g}"
    if not np.allclose(world.data.qfrc_actuator, wanted.torque, atol=1e-3):
        return f"efforts differ by {np.abs(world.data.qfrc_actuator - wanted.torque).max():.2g}"
    return ""


# Generator --------------------------------------------------------------------------------------


def some_values(rng: random.Random, low: float, high: float) -> Any:
    """A number, or numbers by pattern for all joints."""
    one, two, three = (round(rng.uniform(low, high), 3) for _ in range(3))
    return rng.choice((
        one,
        {".*": one},
        {".*_hip_joint": one, ".*_knee_joint": two, "arm_joint": three},
        {"(left|right)_.*": one, "arm.*": two},
        {"l[a-z]+_.*": one, "righ[t,s]_hip_joint": two, "right_knee_.*|arm_joint": three},
    ))  # fmt: skip


def some_groups(rng: random.Random) -> dict[str, Any]:
    """One or several groups over all joints, in any order."""
    splits = ([[".*"]], [[".*_hip_joint", "arm_joint"], [".*_knee_joint"]],
              [["arm_.*"], ["left_.*"], ["right_.*"]])  # fmt: skip
    groups = []
    for patterns in rng.choice(splits):
        kind = rng.choice((
            "ImplicitActuator", "IdealPDActuator", "DCMotor", "DelayedPDActuator",
            "RemotizedPDActuator", "UnitreeActuator", "ActuatorNetMLP", "ActuatorNetLSTM",
        ))  # fmt: skip
        more: dict[str, Any] = {"joint_names_expr": patterns}
        own = [n for n in runs.JOINTS if any(__import__("re").fullmatch(p, n) for p in patterns)]

        def values(low: float, high: float, own: list[str] = own) -> Any:
            if rng.random() < 0.5:
                return round(rng.uniform(low, high), 3)
            return {name: round(rng.uniform(low, high), 3) for name in rng.sample(own, len(own))}

        more |= {"stiffness": values(20.0, 80.0), "damping": values(0.5, 3.0)}
        more["armature"] = rng.choice((None, values(0.01, 0.05)))
        more |= some_limits(rng, kind, own, values)
        made = runs.actuators(kind, **more)
        if rng.random() < 0.3:  # 2.0 had no such fields
            made = {k: v for k, v in made.items() if v is not None or not k.endswith("_sim")}
        made["class_type"] = rng.choice((
            made["class_type"],
            f"omni.isaac.lab.actuators.actuator_pd:{kind}",
            f"<class 'omni.isaac.lab.actuators.actuator_pd.{kind}'>",
        ))  # fmt: skip
        if rng.random() < 0.3:  # keys in any order
            made = dict(rng.sample(list(made.items()), len(made)))
        groups.append(made)
    names = rng.sample(("base_legs", "N7520-14.3", "arms", "a.b"), len(groups))
    return dict(zip(names, groups, strict=True))


def some_limits(
    rng: random.Random, kind: str, own: list[str], values: Any
) -> dict[str, Any]:  # fmt: skip
    """What a class has beside gains; limits may be absent, infinite, and of two kinds."""
    none = (None, math.inf, {name: None for name in own})
    if kind == "ImplicitActuator":
        limits = rng.choice((*none, values(5.0, 30.0)))
        keys = ("effort_limit_sim", "effort_limit")
        return dict.fromkeys(rng.choice((keys, keys[:1], keys[1:])), limits)
    more: dict[str, Any] = {"effort_limit": rng.choice((*none, values(5.0, 30.0)))}
    more["effort_limit_sim"] = rng.choice((None, None, math.inf, values(3.0, 20.0)))
    if kind in ("DCMotor", "ActuatorNetMLP", "ActuatorNetLSTM"):
        speed = rng.choice((math.inf, values(2.0, 30.0)))
        more |= {"saturation_effort": values(8.0, 50.0), "velocity_limit": speed}
        more["effort_limit"] = rng.choice((None, math.inf, values(5.0, 30.0)))
    if kind in ("DelayedPDActuator", "UnitreeActuator", "RemotizedPDActuator"):
        more["min_delay"] = more["max_delay"] = rng.choice((0, 1, 3))
    if kind == "RemotizedPDActuator":
        angles = rng.sample((-1.0, -0.3, 0.0, 0.2, 0.5, 1.2), 4)
        rows = [(angle, 1.0, round(rng.uniform(2.0, 30.0), 2)) for angle in angles]
        more |= {"joint_parameter_lookup": rows, "effort_limit": None}
    if kind == "UnitreeActuator":
        more |= {
            "X1": values(0.05, 1.0), "X2": values(1.1, 8.0), "Y1": values(2.0, 20.0),
            "Y2": rng.choice((None, values(2.0, 30.0))), "Fs": rng.choice((0.0, values(0.1, 0.6))),
            "Fd": rng.choice((0.0, 0.1)), "Va": 0.01, "effort_limit": None,
            "viscous_friction": rng.choice((None, 0.05)),
        }  # fmt: skip
        if rng.random() < 0.2:
            more |= {"X1": 1e9, "X2": 1e9}
    if kind.startswith("ActuatorNet"):
        stem = "".join(sorted(name[0] + name[-7] for name in own))
        folder = rng.choice(("nets", "my_nets"))
        more |= {"stiffness": None, "damping": None, "network_file": f"/{folder}/{stem}.pt"}
    if kind == "ActuatorNetMLP":
        more |= {
            "pos_scale": rng.choice((-1.0, 2.5)), "vel_scale": 0.2, "torque_scale": 4.0,
            "input_order": rng.choice(("pos_vel", "vel_pos")),
            "input_idx": rng.choice(([0], [0, 1, 2], [2, 0])),
        }  # fmt: skip
    return more


def some_actions(rng: random.Random) -> dict[str, Any]:
    splits = (
        [[".*"]],
        [[".*_hip_joint", ".*_knee_joint"]],
        [["left_knee_joint", "arm_joint", "right_.*", "left_hip_joint"]],
        [[".*_knee_joint"], [".*_hip_joint"]],
    )
    found: dict[str, Any] = {}
    for i, patterns in enumerate(rng.choice(splits)):
        clip = rng.choice((None, None, {".*_knee_.*": (0.3, 0.5)}, {".*": [-0.4, 0.45]}))
        found[f"term_{i}"] = runs.action(
            joint_names=patterns,
            preserve_order=rng.random() < 0.5,
            use_default_offset=rng.random() < 0.7,
            offset=rng.choice((0.0, 0.1, {"left_.*": 0.2})),
            scale=rng.choice((0.25, {"left_.*": 0.5}, {".*_hip_.*": 0.1, ".*_knee_.*": 0.4})),
            clip=clip,
        )
    if rng.random() < 0.3:
        found["unused"] = None
    return found


def selection(rng: random.Random) -> dict[str, Any]:
    """Parameters of a joint term: all joints, or some of them in an order."""
    names = rng.choice((None, None, [".*_knee_joint"], ["left_.*", "right_hip_joint"]))
    asset = {"name": "robot", "joint_names": names, "joint_ids": slice(None),
             "preserve_order": rng.random() < 0.5}  # fmt: skip
    return rng.choice(({}, {"asset_cfg": asset}))


def some_terms(rng: random.Random) -> dict[str, Any]:
    makers = {
        "lin": lambda: runs.term("base_lin_vel"),
        "ang": lambda: runs.term("base_ang_vel"),
        "gravity": lambda: runs.term("projected_gravity"),
        "commands": runs.command_term,
        "q": lambda: runs.term("joint_pos_rel", params=selection(rng)),
        "absolute": lambda: runs.term("joint_pos", params=selection(rng)),
        "v": lambda: runs.term("joint_vel_rel", params=selection(rng)),
        "last": lambda: runs.term("last_action"),
        "heights": lambda: runs.term(
            "height_scan", clip=(-1.0, 1.0), params={"sensor_cfg": {"name": "height_scanner"}}
        ),
    }
    threes = ("lin", "ang", "gravity", "commands")
    found: dict[str, Any] = {
        "concatenate_terms": True, "enable_corruption": True,
        "history_length": rng.choice((None, None, 0, 1, 4)), "flatten_history_dim": True,
    }  # fmt: skip
    for name in rng.sample(list(makers), rng.randint(3, len(makers))):
        said = makers[name]()
        said["history_length"] = rng.choice((0, 0, 1, 3))
        said["scale"] = rng.choice((None, 0.5, 2.0))
        if name in threes and rng.random() < 0.4:
            said["scale"] = tuple(round(rng.uniform(0.1, 2.0), 2) for _ in range(3))
        said["clip"] = said["clip"] or rng.choice((None, None, (-0.3, 0.2), [-5.0, 5.0]))
        said["func"] = rng.choice((
            said["func"], said["func"].replace("isaaclab.", "omni.isaac.lab."),
            f"<function {said['func'].rpartition(':')[2]} at 0x7f00>",
        )) if rng.random() < 0.3 else said["func"]  # fmt: skip
        found[name] = said
        if rng.random() < 0.1:
            found[f"no_{name}"] = None
    return found


def some_run(rng: random.Random) -> runs.Data:
    data = runs.env(decimation=rng.choice((1, 2, 4)), actions=some_actions(rng))
    data["sim"]["dt"] = rng.choice((0.002, 0.004, 0.005))
    data["observations"] = {"policy": some_terms(rng), "critic": {"concatenate_terms": False}}
    robot = data["scene"]["robot"]
    robot["actuators"] = some_groups(rng)
    robot["init_state"]["joint_pos"] = some_values(rng, 0.0, 0.5)
    robot["init_state"]["pos"] = (0.1, -0.2, rng.uniform(0.75, 1.0))
    if rng.random() < 0.4:
        data["scene"]["height_scanner"]["pattern_cfg"]["ordering"] = "yx"
    if rng.random() < 0.3:  # 3.0
        robot["init_state"]["rot"] = (0.0, 0.0, 0.0, 1.0)
        data["scene"]["height_scanner"]["offset"]["rot"] = (0.0, 0.0, 0.0, 1.0)
    return data


@pytest.mark.campaign
def test_generated_runs_do_what_a_loop_does(tmp_path: Path, tally: Tally) -> None:
    for rng in tally.cases("generated runs of Isaac Lab", 8, 2000):
        data = some_run(rng)
        if wrong := or_refused(partial(differences, tmp_path, data, rng)):
            tally.found(f"{wrong}\n{data}")
