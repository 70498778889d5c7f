"""Policies made for tests of batches: random ones on the bundled quadruped, and what worlds do."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import mjrig
from mjrig.components import PolicyFile
from mjrig.core.control.policy import PolicyDisturbance
from tests.networks import onnx, save, tensor, value
from tests.plugin.lab.scenes import BUNDLED

ASSETS = BUNDLED.parents[1] / "assets"
JOINTS = [
    f"{leg}_{joint}"
    for leg in ("FL", "FR", "RL", "RR")
    for joint in ("roll_hip", "pitch_thigh", "pitch_calf")
]
FEET = [f"{leg}_foot" for leg in ("FL", "FR", "RL", "RR")]
#: Every kind of term that needs nothing but the robot, with the number of its values.
TERMS: list[tuple[dict[str, Any], int]] = [
    ({"type": "BaseAngularVelocity"}, 3),
    ({"type": "BaseAngularVelocity", "sensor": "imu_gyro"}, 3),
    ({"type": "BaseLinearVelocity"}, 3),
    ({"type": "BaseLinearVelocity", "point": "com"}, 3),
    ({"type": "BaseLinearVelocity", "site": "imu"}, 3),
    ({"type": "BaseOrientation", "convention": "xyzw"}, 4),
    ({"type": "ProjectedGravity"}, 3),
    ({"type": "ProjectedGravity", "sensor": "imu_quat"}, 3),
    ({"type": "ProjectedGravity", "site": "imu"}, 3),
    ({"type": "CommandTerm"}, 3),
    ({"type": "JointPositions", "zero": [".*_calf"]}, 12),
    ({"type": "JointPositions", "joints": [JOINTS[7], JOINTS[2], JOINTS[3]]}, 3),
    ({"type": "JointVelocities", "scale": 0.05}, 12),
    ({"type": "JointTargetErrors"}, 12),
    ({"type": "LastAction"}, 12),
    ({"type": "GaitPhase", "period": 0.37, "offsets": [0, 0.5, 0.25]}, 6),
    ({"type": "GaitPhase", "frequency": 2, "standing": "stop", "threshold": 0.2}, 2),
    ({"type": "GaitPhase", "frequency": 2, "standing": "hold", "threshold": 0.2}, 2),
    ({"type": "GaitPhase", "period": 0.4, "speedup": 0.7, "form": "phase"}, 1),
    ({"type": "GaitPhase", "period": 0.4, "clock": "first_tick", "form": "cos_sin"}, 2),
    ({"type": "MotionPhase", "duration": 0.3}, 1),
    ({"type": "SensorTerm", "sensor": "imu_gyro"}, 3),
    ({"type": "RelativeRotation", "sensor": "imu_quat", "other": "imu_quat"}, 9),
    ({"type": "FootPositions", "sites": FEET, "bodies": ["trunk"]}, 15),
    ({"type": "ContactTerm", "bodies": [f"{leg}_calf" for leg in ("FL", "RR")]}, 2),
    ({"type": "HeightScan", "extent": [0.4, 0.2], "resolution": 0.2}, 6),
    ({"type": "Constant", "values": [0.3, -1]}, 2),
    ({"type": "MotionJoints"}, 24),
    ({"type": "MotionAnchorPosition"}, 3),
    ({"type": "MotionAnchorOrientation"}, 6),
    ({"type": "DepthImage", "camera": "side", "size": [6, 4]}, 24),
]


def network(path: Path, kind: str, size: int, random: np.random.Generator) -> None:
    """A network of `size` values to twelve actions, small enough that the robot stays up."""
    width = int(random.choice([16, 32, 13]))
    names = {"w1": (size, width), "w2": (width, 12)}
    shapes = {n: random.normal(size=s) / np.sqrt(s[0]) for n, s in names.items()}
    shapes["w2"] *= 0.3
    worlds: Any = 1 if random.random() < 0.5 else "n"
    nodes, inputs = [], [value("obs", [worlds, size])]
    outputs = [value("actions", [worlds, 12])]
    weights = [tensor(n, w) for n, w in shapes.items()]
    make = onnx.helper.make_node
    if kind == "lstm":
        weights += [
            tensor("w", random.normal(size=(1, 4 * width, width)) * 0.3),
            tensor("r", random.normal(size=(1, 4 * width, width)) * 0.3),
            tensor("b", random.normal(size=(1, 8 * width)) * 0.3),
            onnx.numpy_helper.from_array(np.array([0]), "first"),
            onnx.numpy_helper.from_array(np.array([1]), "second"),
        ]
        state = [1, worlds, width]
        inputs += [value("h_in", state), value("c_in", state)]
        outputs += [value("h_out", state), value("c_out", state)]
        nodes = [
            make("MatMul", ["obs", "w1"], ["x"]),
            make("Unsqueeze", ["x", "first"], ["steps"]),
            make(
                "LSTM", ["steps", "w", "r", "b", "", "h_in", "c_in"], ["all", "h_out", "c_out"],
                hidden_size=width,
            ),
            make("Squeeze", ["h_out", "first"], ["rows"]),
            make("MatMul", ["rows", "w2"], ["actions"]),
        ]  # fmt: skip
    else:
        nodes = [
            make("MatMul", ["obs", "w1"], ["x"]),
            make(kind, ["x"], ["y"]),
            make("MatMul", ["y", "w2"], ["actions"]),
        ]
    save(path, nodes, inputs, outputs, weights, None)


@dataclass
class Variant:
    """A policy file with its scene."""

    scene: Path
    said: dict[str, Any]
    decimation: int
    kind: str


def clip(folder: Path, random: np.random.Generator) -> None:
    """A motion of the twelve joints and the trunk, of a few frames."""
    quaternions = random.normal(size=(9, 1, 4))
    np.savez(
        folder / "clip.npz",
        joint_pos=random.normal(size=(9, 12)),
        joint_vel=random.normal(size=(9, 12)),
        body_pos_w=random.normal(size=(9, 1, 3)),
        body_quat_w=quaternions / np.linalg.norm(quaternions, axis=-1, keepdims=True),
    )


def variant(folder: Path, seed: int, *, all_terms: bool = False, kind: str = "") -> Variant:
    """A random policy, of a few terms or of all there are."""
    random = np.random.default_rng(seed)
    pick = random.choice
    terms, sizes = [], []
    chosen = range(len(TERMS)) if all_terms else random.choice(len(TERMS), 5, replace=False)
    clip(folder, random)
    for i in chosen:
        term, size = TERMS[i]
        more: dict[str, Any] = {}
        if random.random() < 0.4:
            more |= {"noise": 0.05, "noise_kind": str(pick(["uniform", "gaussian"]))}
        if random.random() < 0.3:
            more |= {"bias": 0.1}
        if random.random() < 0.3:
            more |= {"interval": int(pick([2, 3])), "delay": int(pick([0, 1, 4]))}
        if random.random() < 0.4:
            order = ["clip_then_scale", "scale_then_clip"]
            more |= {"clip": 0.7, "scale": 1.3, "order": str(pick(order))}
        terms.append(term | more)
        sizes.append(size)
    length = int(pick([1, 1, 2, 5]))
    decimation, kind = int(pick([3, 5, 8])), kind or str(pick(["Tanh", "Elu", "lstm"]))
    network(folder / "policy.onnx", kind, sum(sizes) * length, random)
    history = {
        "length": length,
        "order": str(pick(["oldest_first", "newest_first"])),
        "fill": str(pick(["first", "zeros"])),
        "by": str(pick(["term", "frame"])),
    }
    said = {
        "network": "policy.onnx",
        "joints": JOINTS,
        "decimation": decimation,
        "phase": str(pick(["before", "after", "inside"])),
        "state": str(pick(["float32", "float64"])),
        "default": {".*_hip": 0, ".*_thigh": 0.8, ".*_calf": -1.6},
        "observation": {"clip": 50, "history": history, "terms": terms},
        "action": {
            "mode": str(pick(["absolute", "absolute", "delta", "measured"])),
            "scale": 0.1,
            "clip": 4,
            "smoothing": float(pick([1.0, 0.6])),
            "dtype": str(pick(["float32", "float64"])),
            "last": str(pick(["raw", "clipped"])),
        },
        "command": {"names": ["vx", "vy", "wz"], "default": [0.5, 0, 0]},
        "motion": {"file": "clip.npz", "anchor": "trunk", "bodies": ["trunk"]},
    }
    if random.random() < 0.4:
        said["start"] = {"duration": 0.011, "kp": 60, "kv": 2}
    PolicyFile.from_data(said).save(folder / "policy.yaml")
    text = (BUNDLED / "quadruped_walk.yaml").read_text()
    text = text.replace("../../assets/walk/policy.yaml", str(folder / "policy.yaml"))
    text = text.replace("../../assets", str(ASSETS))
    if random.random() < 0.4:
        text = text.replace("kv: 5\n", "kv: 5\n        delay: {steps: 2}\n")
    (folder / "scene.yaml").write_text(text)
    return Variant(folder / "scene.yaml", said, decimation, kind)


@dataclass
class Treatment:
    """What a world is told, the same alone and in a batch."""

    seed: int
    command: list[float]
    schedule: list[tuple[float, list[float]]]
    kp: np.ndarray
    moved: np.ndarray
    disturbance: PolicyDisturbance | None
    resets: set[int] = field(default_factory=set)


def treatment(random: np.random.Generator, chunks: int) -> Treatment:
    """Random commands, gains, start, noise, latency, and chunks after which it is reset."""
    disturbance = None
    if random.random() < 0.5:
        offsets = 0.02 * random.normal(size=(4, 12))
        disturbance = PolicyDisturbance(offsets, int(random.choice([0, 2, 11])))
    return Treatment(
        int(random.integers(1000)),
        random.uniform(-0.5, 0.5, 3).tolist(),
        [] if random.random() < 0.5 else [(0.0, [0.1, 0, 0]), (0.02, [0.4, 0.1, -0.2])],
        random.uniform(100, 200, 12),
        0.02 * random.normal(size=12),
        disturbance,
        set(random.choice(chunks, 1).tolist()) if random.random() < 0.5 else set(),
    )


def alone(scene: Path, told: Treatment, chunks: list[int]) -> tuple[mjrig.World, Any]:
    """A world of its own after all chunks, and its policy."""
    world = mjrig.World(scene, "native")
    robot = world["quadruped"]
    policy: Any = robot.part("Policy")
    policy.seed = told.seed
    policy.command = told.command
    if told.schedule:
        policy.follow(told.schedule)
    policy.disturb(told.disturbance)
    robot.controllers[0].assign({"kp": told.kp.tolist()})
    world.reset()
    world.data.qpos[7:19] += told.moved
    for k, n in enumerate(chunks):
        world.step(n)
        if k in told.resets:
            world.reset()
    return world, policy


def set_const(world: mjrig.World) -> None:
    """Derive the constants of a model again."""
    mujoco.mj_setConst(world.model, mujoco.MjData(world.model))


def together(scene: Path, told: list[Treatment], chunks: list[int]) -> mjrig.PolicyBatch:
    """The same worlds in a batch."""
    batch = mjrig.PolicyBatch(scene, len(told), threads=2)
    policy = batch.policy()
    policy.set_seed([t.seed for t in told])
    policy.set_command([t.command for t in told])
    for i, t in enumerate(told):
        if t.schedule:
            policy.follow(t.schedule, worlds=i)
        policy.disturb(t.disturbance, worlds=[i])
    batch["quadruped"].controllers[0].set_gains(kp=np.array([t.kp for t in told]))
    batch.reset()
    batch.qpos[:, 7:19] += [t.moved for t in told]
    for k, n in enumerate(chunks):
        batch.step(n)
        again = [i for i, t in enumerate(told) if k in t.resets]
        if again:
            batch.reset(again)
    return batch
