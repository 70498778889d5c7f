"""Files like unitree_rl_gym's, made at random: imported they do what a loop of the tests does."""

import random
from functools import partial
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
import yaml

import mjrig
from mjrig.components.importers.policy_import import import_policy
from tests.campaign import Tally
from tests.components.importers import biped
from tests.components.importers.comparing import difference, or_refused
from tests.components.importers.isaac.runs import onnx_weights

TICKS = 4
Data = dict[str, Any]


def some_file(rng: random.Random) -> tuple[Data, int, bool]:
    """A file, its frames, and whether the observation has a phase."""

    def four(low: float, high: float) -> list[float]:
        return [round(rng.uniform(low, high), 3) for _ in range(4)]

    frames, has_phase = rng.choice((1, 1, 2, 5)), rng.random() < 0.5
    legs, knees = four(20.0, 60.0), four(0.2, 0.6)
    data: Data = {
        "policy_path": "{HOME}/pre_train/walker/policy.pt",
        "simulation_dt": rng.choice((0.001, 0.002, 0.005)),
        "control_decimation": rng.choice((1, 4, 10)),
        "kps": legs[:2] * 2,
        "kds": four(0.5, 2.0)[:2] * 2,
        "default_angles": [-knees[0], knees[1]] * 2,
        "ang_vel_scale": rng.choice((1, 1.0, 0.25)),
        "dof_vel_scale": rng.choice((1.0, 0.05)),
        "action_scale": rng.choice((1.0, 0.25, 0.5)),
        "cmd_scale": rng.choice(([1, 1, 1], [2.0, 2.0, 0.25])),
        "num_actions": 4,
        "cmd_init": [0.5, round(rng.uniform(-0.3, 0.3), 2), 0.1],
    }
    if rng.random() < 0.5:
        data["dof_pos_scale"] = rng.choice((1.0, 2.0))
    if rng.random() < 0.5:
        data["model_joint_names"] = rng.sample(biped.JOINTS, 4)
        for key in ("kps", "kds", "default_angles"):  # left and right alike, whatever the order
            by_joint = dict(zip(biped.JOINTS, data[key], strict=True))
            data[key] = [by_joint[name] for name in data["model_joint_names"]]
    size = 23 if has_phase else 21
    declared = rng.choice((size, size * frames, None))
    if declared is not None:
        data["num_obs"] = declared
    return data, frames, has_phase


class Loop:
    """What the stack's deploy_mujoco does; reads the file with nothing of the importer."""

    def __init__(self, path: Path, data: Data, frames: int, has_phase: bool) -> None:
        self.model = mujoco.MjModel.from_xml_path(str(path))
        self.model.opt.timestep = data["simulation_dt"]
        self.state, self.data, self.has_phase = mujoco.MjData(self.model), data, has_phase
        names = data.get("model_joint_names", biped.JOINTS)
        joints = [self.model.joint(name) for name in names]
        self.q, self.v = ([int(getattr(j, k)[0]) for j in joints] for k in ("qposadr", "dofadr"))
        self.motor = [self.model.actuator(n.removesuffix("_joint")).id for n in names]
        self.default = np.array(data["default_angles"], np.float32)
        self.last = np.zeros(4, np.float32)
        self.frames = [np.zeros(23 if has_phase else 21, np.float32)] * frames

    def run(self, weights: np.ndarray) -> np.ndarray:
        target, seen = self.default, np.zeros(0)
        kp, kd = (np.array(self.data[key]) for key in ("kps", "kds"))
        for step in range(TICKS * self.data["control_decimation"] + 1):
            if step and step % self.data["control_decimation"] == 0:  # after the step before
                self.frames = [*self.frames[1:], self.observe(step)]
                seen = np.concatenate(self.frames)
                self.last = (seen @ weights).astype(np.float32)
                target = self.last * np.float32(self.data["action_scale"]) + self.default
            q, v = self.state.qpos[self.q], self.state.qvel[self.v]
            self.state.ctrl[self.motor] = (target - q) * kp + (0.0 - v) * kd
            mujoco.mj_step(self.model, self.state)
        return seen

    def observe(self, step: int) -> np.ndarray:
        data, state = self.data, self.state
        w, x, y, z = state.qpos[3:7]
        gravity = [2 * (w * y - x * z), -2 * (y * z + w * x), 1 - 2 * (w * w + z * z)]
        phase = (step * data["simulation_dt"]) % 0.8 / 0.8
        parts = [
            state.qvel[3:6] * data["ang_vel_scale"],
            np.array(gravity),
            np.array(data["cmd_init"]) * data["cmd_scale"],
            (state.qpos[self.q] - self.default) * data.get("dof_pos_scale", 1.0),
            state.qvel[self.v] * data["dof_vel_scale"],
            self.last,
            [np.sin(2 * np.pi * phase), np.cos(2 * np.pi * phase)] if self.has_phase else [],
        ]
        return np.concatenate(parts).astype(np.float32)


def differences(folder: Path, data: Data, frames: int, has_phase: bool) -> str:
    """Import a file and compare it with the loop; empty: they do the same."""
    size = (23 if has_phase else 21) * frames
    motors = ("right_knee_joint", "left_hip_joint", "right_hip_joint", "left_knee_joint")
    by_place = "model_joint_names" not in data
    model = biped.model(folder, order=biped.JOINTS if by_place else motors)
    network = biped.network(folder / "policy.onnx", size)
    config = biped.write(folder / "walker.yaml", yaml.safe_dump(data, sort_keys=False))
    out = folder / "out" / "scene.yaml"
    found = import_policy([config], network, model, out, overwrite=True)
    world = mjrig.World(mjrig.Scene.load(found.scene))
    policy: Any = next(c for c in world["robot"].components if type(c).__name__ == "Policy")
    world.step(TICKS * data["control_decimation"] + 1)
    loop = Loop(model, data, frames, has_phase)
    (weights,) = onnx_weights(network)
    seen = loop.run(weights)
    return difference(world, policy, seen, loop.state.qpos)


@pytest.mark.campaign
def test_generated_files_do_what_the_stacks_loop_does(tmp_path: Path, tally: Tally) -> None:
    for rng in tally.cases("generated files of unitree_rl_gym", 12, 1500):
        data, frames, has_phase = some_file(rng)
        if wrong := or_refused(partial(differences, tmp_path, data, frames, has_phase)):
            tally.found(f"{wrong}\n{frames} frames, phase {has_phase}: {data}")


def test_keys_that_nothing_knows_are_listed(tmp_path: Path) -> None:
    for k, (key, value) in enumerate({"clip_actions": 1.0, "hip_reduction": 0.5}.items()):
        folder = tmp_path / str(k)
        folder.mkdir()
        data, frames, has_phase = some_file(random.Random(k))
        network = biped.network(folder / "policy.onnx", (23 if has_phase else 21) * frames)
        text = yaml.safe_dump({**data, key: value})
        config = biped.write(folder / "walker.yaml", text)
        found = import_policy([config], network, biped.model(folder), folder / "out" / "scene.yaml")
        said = [f.text for f in found.findings if f.kind == "not-taken-over"]
        assert said == [f"fields that are not known, and not taken over: {key} {value}"]
