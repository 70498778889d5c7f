"""Runs made at random import and do what a loop of the tests does with the same files."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components.importers.importing import import_policy
from tests.campaign import Tally
from tests.components.importers import biped
from tests.components.importers.isaac import runs

COMMAND = (0.4, -0.1, 0.2)
TICKS = 3


def weights_of(path: Path) -> np.ndarray:
    (found,) = runs.onnx_weights(path)
    return found


def differences(folder: Path, data: runs.Data, **options: Any) -> str:
    """Import a run and compare it with the loop of the tests; empty: they do the same."""
    model = runs.model(folder)
    size, count = runs.sizes(model, data)
    network = biped.network(folder / "policy.onnx", size, count)
    config = runs.write(folder, data)
    imported = import_policy(
        [config], network, model, folder / "out" / "scene.yaml", overwrite=True, **options
    )
    world = mjrig.World(mjrig.Scene.load(imported.scene))
    policy: Any = next(c for c in world["robot"].components if type(c).__name__ == "Policy")
    if policy.command_now.size:
        policy.follow([(0.0, COMMAND)])
    world.step(TICKS * data["decimation"])
    wanted = runs.reference(model, data, weights_of(network), TICKS, COMMAND)
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
        kind = rng.choice(("ImplicitActuator", "IdealPDActuator", "DCMotor"))
        more: dict[str, Any] = {"joint_names_expr": patterns}
        own = [n for n in runs.JOINTS if any(__import__("re").fullmatch(p, n) for p in patterns)]

        def values(low: float, high: float, own: list[str] = own) -> Any:
            if rng.random() < 0.5:
                return round(rng.uniform(low, high), 3)
            return {name: round(rng.uniform(low, high), 3) for name in rng.sample(own, len(own))}

        more |= {"stiffness": values(20.0, 80.0), "damping": values(0.5, 3.0)}
        more["armature"] = rng.choice((None, values(0.01, 0.05)))
        if kind == "ImplicitActuator":
            key = rng.choice(("effort_limit_sim", "effort_limit"))
            more[key] = rng.choice((None, values(5.0, 30.0)))
        else:
            more["effort_limit"] = values(5.0, 30.0)
        if kind == "DCMotor":
            more |= {"saturation_effort": values(31.0, 50.0), "velocity_limit": values(5.0, 30.0)}
        made = runs.actuators(kind, **more)
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
        try:
            wrong = differences(tmp_path, data)
        except mjrig.MjrigError as error:
            wrong = f"refused: {error}"
        if wrong:
            tally.found(f"{wrong}\n{data}")
