"""Runs of mjlab made at random import and do what a loop of the tests does with the same numbers.

A run is made as Isaac Lab would describe it, which the loop reads, and written as mjlab does.
"""

import random
from functools import partial
from pathlib import Path
from typing import Any

import mujoco
import pytest

import mjrig
from mjrig.components.importers.policy_import import import_policy
from tests.campaign import Tally
from tests.components.importers import biped
from tests.components.importers.comparing import difference, or_refused
from tests.components.importers.isaac import runs
from tests.components.importers.isaac.test_generated_runs import (
    COMMAND,
    TICKS,
    selection,
    some_actions,
    some_values,
    weights_of,
)

SPLITS = ([[".*"]], [[".*_hip_joint", "arm_joint"], [".*_knee_joint"]],
          [["arm_.*"], ["left_.*"], ["right_.*"]])  # fmt: skip


def some_run(rng: random.Random) -> runs.Data:
    """A run that both stacks can have."""
    data = runs.env(decimation=rng.choice((1, 2, 4)), actions=some_actions(rng))
    data["actions"].pop("unused", None)
    data["sim"]["dt"] = rng.choice((0.002, 0.004, 0.005))
    makers = {
        "ang": lambda: runs.term("base_ang_vel"),
        "gravity": lambda: runs.term("projected_gravity"),
        "commands": runs.command_term,
        "q": lambda: runs.term("joint_pos_rel", params=selection(rng)),
        "v": lambda: runs.term("joint_vel_rel", params=selection(rng)),
        "last": lambda: runs.term("last_action"),
    }
    policy: runs.Data = {
        "concatenate_terms": True, "enable_corruption": True,
        "history_length": rng.choice((None, None, 0, 1, 5)), "flatten_history_dim": True,
    }  # fmt: skip
    for name in rng.sample(list(makers), rng.randint(2, len(makers))):
        policy[name] = makers[name]() | {
            "history_length": rng.choice((0, 0, 1, 5)),
            "scale": rng.choice((None, 1, 1.0, 0.5)),
            "clip": rng.choice((None, None, (-0.3, 0.2))),
        }
    data["observations"] = {"policy": policy}
    robot = data["scene"]["robot"]
    robot["actuators"] = {
        f"group_{k}": runs.actuators(
            joint_names_expr=patterns,
            stiffness=round(rng.uniform(20.0, 80.0), 2),
            damping=round(rng.uniform(0.5, 3.0), 2),
            effort_limit_sim=round(rng.uniform(5.0, 30.0), 1),
            armature=round(rng.uniform(0.01, 0.05), 3),
        )
        for k, patterns in enumerate(rng.choice(SPLITS))
    }
    robot["init_state"]["joint_pos"] = some_values(rng, 0.0, 0.5)
    robot["init_state"]["pos"] = (0.1, -0.2, round(rng.uniform(0.75, 1.0), 3))
    return data


def as_mjlab(data: runs.Data) -> runs.Data:
    """The same run in the format of mjlab."""
    robot, policy = data["scene"]["robot"], data["observations"]["policy"]
    lag = {"delay_min_lag": 0, "delay_max_lag": 0}
    groups = tuple(
        {
            "target_names_expr": tuple(said["joint_names_expr"]),
            "armature": said["armature"], "frictionloss": None, "viscous_damping": None,
            "stiffness": said["stiffness"], "damping": said["damping"],
            "effort_limit": said["effort_limit_sim"], **lag,
        }
        for said in robot["actuators"].values()
    )  # fmt: skip
    said = runs.mjlab(decimation=data["decimation"])
    said["scene"]["entities"]["robot"] = {
        "init_state": {k: robot["init_state"][k] for k in ("pos", "rot", "joint_pos")},
        "articulation": {"actuators": groups, "soft_joint_pos_limit_factor": 0.9},
    }
    said["sim"]["mujoco"] = {"timestep": data["sim"]["dt"], "integrator": "implicitfast"}
    terms = {n: _term(t) | lag for n, t in policy.items() if isinstance(t, dict)}
    history = {k: policy[k] for k in ("history_length", "flatten_history_dim")}
    said["observations"] = {"actor": {"terms": terms, "concatenate_terms": True, **history}}
    said["actions"] = {
        name: {
            "entity_name": "robot", "actuator_names": tuple(a["joint_names"]),
            **{k: a[k] for k in ("scale", "offset", "clip", "preserve_order",
                                 "use_default_offset")},
        }
        for name, a in data["actions"].items()
    }  # fmt: skip
    return said


def _term(term: runs.Data) -> runs.Data:
    function = term["func"].rpartition(":")[2]
    params: Any = term["params"]
    if function == "base_ang_vel":
        function, params = "builtin_sensor", {"sensor_name": "robot/imu_ang_vel"}
    elif function == "generated_commands":
        params = {"command_name": "twist"}
    own = {k: term[k] for k in ("clip", "scale", "history_length", "flatten_history_dim")}
    return {
        "func": f"mjlab.envs.mdp.observations.{function}", "params": params, "noise": None, **own
    }  # fmt: skip


def differences(folder: Path, data: runs.Data, rng: random.Random) -> str:
    """Import a run and compare it with the loop of the tests; empty: they do the same."""
    limbs, motors = rng.sample(runs.LIMBS, 3), rng.sample(runs.MOTORS, 5)
    model = runs.model(folder, rng.choice(("motor", "none")), limbs=limbs, motors=motors)
    m = mujoco.MjModel.from_xml_path(str(model))
    order = [m.joint(k).name for k in range(1, m.njnt)]
    size, count = runs.sizes(model, data, order)
    network = biped.network(folder / "policy.onnx", size, count)
    config = runs.write(folder, as_mjlab(data), tied=rng.random() < 0.5)
    out = folder / "out" / "scene.yaml"
    found = import_policy([config], network, model, out, overwrite=True)
    world = mjrig.World(mjrig.Scene.load(found.scene))
    policy: Any = next(c for c in world["robot"].components if type(c).__name__ == "Policy")
    if policy.command_now.size:
        policy.follow([(0.0, COMMAND)])
    world.step(TICKS * data["decimation"])
    full = runs.model(folder, limbs=limbs, motors=motors)  # the loop needs actuators to change
    wanted = runs.reference(full, data, weights_of(network), TICKS, COMMAND, order)
    return difference(world, policy, wanted.observation, wanted.qpos)


@pytest.mark.campaign
def test_generated_runs_of_mjlab_do_what_a_loop_does(tmp_path: Path, tally: Tally) -> None:
    for rng in tally.cases("generated runs of mjlab", 10, 1500):
        data = some_run(rng)
        if wrong := or_refused(partial(differences, tmp_path, data, rng)):
            tally.found(f"{wrong}\n{as_mjlab(data)}")
