"""Files like unitree_rl_lab's deploy.yaml, made at random, against a loop of the tests."""

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
from tests.wording import mentions

TICKS, DECIMATION = 4, 10
COMMAND = (0.4, -0.1, 0.2)
SIZES = {"base_ang_vel": 3, "projected_gravity": 3, "velocity_commands": 3, "joint_pos_rel": 4,
         "joint_vel_rel": 4, "last_action": 4}  # fmt: skip
Data = dict[str, Any]


def some_file(rng: random.Random) -> Data:
    """A deploy.yaml; left and right are alike, in whatever order."""
    motor = rng.sample(range(4), 4)

    def per_motor(low: float, high: float) -> list[float]:
        return [round(rng.uniform(low, high), 2) for _ in range(2)] * 2

    default = per_motor(0.1, 0.4)
    by_frame = rng.random() < 0.5
    length = rng.choice((1, 2, 5))
    observations: Data = {}
    for switch, value in (("use_gym_history", by_frame), ("scale_first", rng.random() < 0.5)):
        if value or rng.random() < 0.3:
            observations[switch] = value
    for name in rng.sample(list(SIZES), rng.randint(2, 6)):
        scale = rng.choice((None, 1.0, 0.5, [round(rng.uniform(0.1, 2.0), 2)] * SIZES[name]))
        said = {"params": {}, "clip": rng.choice((None, [-0.2, 0.3])), "scale": scale}
        own = length if by_frame else rng.choice((1, 2, 5))
        observations[name] = said | ({"history_length": own} if own > 1 else {})
    return {
        "joint_ids_map": motor,
        "step_dt": 0.02,
        "stiffness": per_motor(30.0, 80.0),
        "damping": per_motor(0.5, 2.0),
        "default_joint_pos": [default[m] for m in motor],
        "actions": {"JointPositionAction": {
            "clip": rng.choice((None, [[-0.5, 0.5]] * 4)), "joint_names": [".*"],
            "scale": [0.25] * 4, "offset": [default[m] for m in motor],
            "joint_ids": rng.choice((None, [0, 1, 2, 3])),
        }},
        "observations": observations,
    }  # fmt: skip


class Loop:
    """What the stack's controller does, in the order of its own files."""

    def __init__(self, path: Path, data: Data, height: float) -> None:
        self.model = mujoco.MjModel.from_xml_path(str(path))
        self.state, self.data = mujoco.MjData(self.model), data
        motors = data["joint_ids_map"]
        joints = [self.model.joint(self.model.actuator_trnid[m, 0]) for m in motors]
        self.q, self.v = ([int(getattr(j, k)[0]) for j in joints] for k in ("qposadr", "dofadr"))
        self.default = np.array(data["default_joint_pos"], np.float32)
        self.state.qpos[self.q], self.state.qpos[2] = self.default, height
        self.kp, self.kd = (np.array(data[k])[motors] for k in ("stiffness", "damping"))
        self.last = np.zeros(4, np.float32)
        self.kept: dict[str, list[np.ndarray]] = {}

    def run(self, weights: np.ndarray) -> np.ndarray:
        action = self.data["actions"]["JointPositionAction"]
        seen = target = np.zeros(0)
        for step in range(TICKS * DECIMATION):
            if step % DECIMATION == 0:
                seen = self.observe()
                self.last = (seen @ weights).astype(np.float32)
                scale, offset = (np.array(action[k], np.float32) for k in ("scale", "offset"))
                target = self.last * scale + offset
                if action["clip"]:
                    target = np.clip(target, *np.array(action["clip"], np.float32).T)
            q, v = self.state.qpos[self.q], self.state.qvel[self.v]
            self.state.ctrl[self.data["joint_ids_map"]] = self.kp * (target - q) - self.kd * v
            mujoco.mj_step(self.model, self.state)
        return seen

    def observe(self) -> np.ndarray:
        w, x, y, z = self.state.qpos[3:7]
        values = {
            "base_ang_vel": self.state.qvel[3:6].copy(),
            "projected_gravity": np.array(
                [2 * (w * y - x * z), -2 * (y * z + w * x), 1 - 2 * (w * w + z * z)]
            ),
            "velocity_commands": np.array(COMMAND),
            "joint_pos_rel": self.state.qpos[self.q] - self.default,
            "joint_vel_rel": self.state.qvel[self.v].copy(),
            "last_action": self.last.astype(float),
        }
        switches = {"use_gym_history": False, "scale_first": False}
        terms: list[list[np.ndarray]] = []
        for name, said in self.data["observations"].items():
            if name in switches:
                switches[name] = said
                continue
            value = self._processed(values[name], said, scale_first=switches["scale_first"])
            length = said.get("history_length", 1)
            kept = self.kept.setdefault(name, [value] * length)
            kept[:] = [*kept[1:], value]
            terms.append(kept)
        frames = zip(*terms, strict=True) if switches["use_gym_history"] else terms
        return np.concatenate([value for frame in frames for value in frame])

    def _processed(self, value: np.ndarray, said: Data, *, scale_first: bool) -> np.ndarray:
        scale = 1.0 if said["scale"] is None else np.array(said["scale"])
        low, high = said["clip"] or (-np.inf, np.inf)
        done = (
            np.clip(value * scale, low, high) if scale_first else np.clip(value, low, high) * scale
        )
        return done.astype(np.float32)


def differences(folder: Path, data: Data, rng: random.Random) -> str:
    """Import a file and compare it with the loop; empty: they do the same."""
    terms = {n: t for n, t in data["observations"].items() if n in SIZES}
    size = sum(SIZES[name] * t.get("history_length", 1) for name, t in terms.items())
    order = tuple(rng.sample(("left", "right"), 2))
    joints = tuple(f"{side}_{part}_joint" for side in order for part in ("hip", "knee"))
    model = biped.model(folder, order=joints)
    network = biped.network(folder / "policy.onnx", size)
    config = biped.write(folder / "deploy.yaml", yaml.safe_dump(data, sort_keys=False))
    out = folder / "out" / "scene.yaml"
    found = import_policy([config], network, model, out, overwrite=True)
    world = mjrig.World(mjrig.Scene.load(found.scene))
    policy: Any = next(c for c in world["robot"].components if type(c).__name__ == "Policy")
    if policy.command_now.size:
        policy.follow([(0.0, COMMAND)])
    loop = Loop(model, data, float(world.data.qpos[2]))
    world.step(TICKS * DECIMATION)
    (weights,) = onnx_weights(network)
    seen = loop.run(weights)
    return difference(world, policy, seen, loop.state.qpos)


@pytest.mark.campaign
def test_generated_files_do_what_the_controller_does(tmp_path: Path, tally: Tally) -> None:
    for rng in tally.cases("generated files of unitree_rl_lab", 12, 1500):
        data = some_file(rng)
        if wrong := or_refused(partial(differences, tmp_path, data, rng)):
            tally.found(f"{wrong}\n{data}")


@pytest.mark.parametrize(
    ("place", "change", "said"),
    [
        ("actions.JointPositionAction", {"alpha": 0.5}, "actions.JointPositionAction.alpha 0.5"),
        ("observations.last_action", {"delay": 2}, "observations.last_action.delay 2"),
        ("observations.last_action.params", {"gain": 3.0}, "last_action.params.gain 3.0"),
        ("", {"low_pass": 0.3}, "low_pass 0.3"),
        ("actions.JointPositionAction", {"joint_ids": [0, 1]}, "must be all joints"),
        ("observations", {"use_gym_history": "yes"}, "must be true or … 'yes'"),
        ("observations", {"use_gym_history": True}, "needs the same history_length in …"),
    ],
)
def test_what_has_no_place_is_listed_or_refused(
    place: str, change: Data, said: str, tmp_path: Path
) -> None:
    terms = {
        "base_ang_vel": {"params": {}, "clip": None, "scale": None, "history_length": 2},
        "last_action": {"params": {}, "clip": None, "scale": None},
    }
    data = some_file(random.Random(1)) | {"observations": terms}
    owner = data
    for key in filter(None, place.split(".")):
        owner = owner[key]
    owner |= change
    network = biped.network(tmp_path / "policy.onnx", 10)
    config = biped.write(tmp_path / "deploy.yaml", yaml.safe_dump(data, sort_keys=False))
    try:
        found = import_policy(
            [config], network, biped.model(tmp_path), tmp_path / "out" / "scene.yaml"
        )
        text = "\n".join(f.text for f in found.findings if f.kind == "not-taken-over")
    except mjrig.MjrigError as error:
        text = str(error)
    assert mentions(text, said)
