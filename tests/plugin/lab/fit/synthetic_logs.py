"""Logs of robots whose every number is known: bare MuJoCo, and what clocks and sensors add."""

import random
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

import mjrig
from mjrig.core.arrays import FloatArray
from tests.plugin.data.robot_logs.simulated import NAMES, Run, joint_messages, ros2, write_rosbag2

#: The robot's own physics step: finer than the scene's, and not known to a fit [s].
STEP = 0.0005
ARM = """<mujoco><option timestep="{step}"/><worldbody>
<body name="upper"><joint name="shoulder" axis="0 1 0" {shoulder}/>
<geom type="capsule" fromto="0 0 0 {upper} 0 0" size="0.03" mass="{heavy}"/>
<body name="lower" pos="{upper} 0 0"><joint name="wrist" axis="{axis}" {wrist}/>
<geom type="capsule" fromto="0 0 0 {lower} 0 0.02" size="0.02" mass="{light}"/>
{payload}</body></body></worldbody>
<actuator><motor name="shoulder" joint="shoulder"/><motor name="wrist" joint="wrist"/></actuator>
</mujoco>"""
SCENE = """mjrig: 1
sim: {timestep: 0.001}
actors:
- name: arm
  model: arm.xml
  components:
  - {type: PDController, kp: 40, kv: 1.5}
"""
JOINT = 'armature="{armature}" damping="{damping}" frictionloss="{frictionloss}"'
NOMINAL = {"armature": 0.015, "damping": 0.15, "frictionloss": 0.2}


@dataclass(frozen=True)
class Truth:
    """What a robot has, joint by joint, and what its log adds to it."""

    joints: dict[str, dict[str, float]]
    delay: float
    ahead: float
    encoder: tuple[float, float] = (0.0, 0.0)
    feedback: int = 0
    torque_gain: float = 1.0
    payload: float = 0.0
    #: How soft its dry friction is, as a multiple of what MuJoCo makes of the joint's inertia.
    creep: float = 1.0
    #: When velocities are commanded beside positions, as shares of the time.
    velocities: tuple[float, float] = (0.5, 1.0)
    #: When somebody pushes both joints [s], and how much [N·m].
    pushed: tuple[float, float, float] = (0.0, 0.0, 0.0)


def random_truth(rng: random.Random) -> Truth:
    """Gains, delay and clock of a robot that differs from the scene by up to a half."""
    joints = {
        name: {
            "kp": 40 * rng.uniform(0.75, 1.2),
            "kv": 1.5 * rng.uniform(0.75, 1.25),
            "armature": 0.015 * rng.uniform(0.8, 1.6),
            "damping": 0.15 * rng.uniform(0.6, 1.6),
            "frictionloss": 0.2 * rng.uniform(0.6, 1.6),
        }
        for name in NAMES
    }
    return Truth(
        joints,
        rng.uniform(0.002, 0.009),
        rng.uniform(-0.02, 0.02),
        torque_gain=rng.uniform(0.9, 1.1),
        creep=rng.uniform(0.4, 2.5),
    )


@dataclass(frozen=True)
class Robot:
    """A scene of a random arm, and the arm itself."""

    scene: mjrig.Scene
    shape: dict[str, object]

    @classmethod
    def random(cls, folder: Path, rng: random.Random) -> "Robot":
        """Links of random length and mass, the second joint about one of two axes."""
        shape: dict[str, object] = {
            "upper": round(rng.uniform(0.2, 0.35), 3),
            "lower": round(rng.uniform(0.15, 0.25), 3),
            "heavy": round(rng.uniform(0.6, 1.4), 3),
            "light": round(rng.uniform(0.3, 0.6), 3),
            "axis": rng.choice(["0 1 0", "0 0 1"]),
        }
        joint = JOINT.format(**NOMINAL)
        folder.mkdir(parents=True, exist_ok=True)
        nominal = ARM.format(step=0.001, shoulder=joint, wrist=joint, payload="", **shape)
        (folder / "arm.xml").write_text(nominal)
        return cls(mjrig.Scene.parse(SCENE, folder), shape)

    def run(self, truth: Truth, seconds: float, seed: int) -> Run:
        """What it does under two chirps, as its sensors measure it."""
        joints = {name: JOINT.format(**truth.joints[name]) for name in NAMES}
        payload = (
            f'<geom pos="0.12 0 0" size="0.001" mass="{truth.payload}" contype="0"/>'
            if truth.payload
            else ""
        )
        model = mujoco.MjModel.from_xml_string(
            ARM.format(step=STEP, payload=payload, **joints, **self.shape)
        )
        return _simulated(model, truth, seconds, seed)

    def log(self, path: Path, truth: Truth, run: Run, seed: int) -> Path:
        """A bag: the robot's clock is off, messages are late, some are lost."""
        rng = np.random.default_rng(seed)
        count = len(run.time)
        kept = np.flatnonzero(rng.random(count) > 0.005)
        messages = joint_messages(
            run,
            ros2(),
            ahead=truth.ahead,
            latency=lambda n: 0.001 + rng.exponential(0.0004, n),
            keep=[int(k) for k in kept],
        )
        return write_rosbag2(path, messages, ros2(), "SQLITE3")


def _simulated(model: mujoco.MjModel, truth: Truth, seconds: float, seed: int) -> Run:
    rng = np.random.default_rng(seed)
    model.dof_invweight0[:] *= truth.creep
    data = mujoco.MjData(model)
    kp, kv = (np.array([truth.joints[n][g] for n in NAMES]) for g in ("kp", "kv"))
    offset = np.array(truth.encoder)
    sent = np.arange(0.0, seconds, 0.005)
    sent[1:] += rng.uniform(-0.0004, 0.0004, len(sent) - 1)
    goal = _goals(sent, seconds, truth.velocities)
    seen: list[tuple[FloatArray, FloatArray]] = []
    rows = []
    for k in range(round(seconds / STEP)):
        held = max(int(np.searchsorted(sent + truth.delay, k * STEP + 1e-9, side="right")) - 1, 0)
        seen.append((data.qpos.copy() + offset, data.qvel.copy()))
        position, speed = seen[max(k - truth.feedback, 0)]
        tau = kp * (goal[held, 0] - position) + kv * (goal[held, 1] - speed)
        if k % 4 == 0:
            rows.append([k * STEP, *seen[k][0], *seen[k][1], *(truth.torque_gain * tau)])
        data.ctrl[:] = tau
        begin, end, push = truth.pushed
        data.qfrc_applied[:] = push if begin <= k * STEP < end else 0.0
        mujoco.mj_step(model, data)
    table = np.array(rows)
    table[:, 1:3] = _quantised(table[:, 1:3] + rng.normal(0, 2e-5, (len(table), 2)), 3e-5)
    table[:, 3:5] = _quantised(table[:, 3:5] + rng.normal(0, 0.01, (len(table), 2)), 0.004)
    table[:, 5:7] = _quantised(table[:, 5:7] + rng.normal(0, 0.03, (len(table), 2)), 0.02)
    return Run(
        table[:, 0], table[:, 1:3], table[:, 3:5], table[:, 5:7], sent, goal[:, 0], goal[:, 1]
    )


def _goals(sent: FloatArray, seconds: float, span: tuple[float, float]) -> FloatArray:
    """(m, 2, joints): positions, and velocities within a span, as shares of the time."""
    moving = (sent > span[0] * seconds) & (sent <= span[1] * seconds)
    rate = 7.0 / seconds
    cycles = (0.4 + 0.5 * rate * sent) * sent
    slope = 0.4 + rate * sent
    found = np.zeros((len(sent), 2, 2))
    for j, (size, factor, phase) in enumerate(((0.35, 1.0, 0.0), (0.45, 1.17, 1.0))):
        angle = 2 * np.pi * factor * cycles + phase
        found[:, 0, j] = size * (np.sin(angle) - np.sin(phase))
        speed = size * np.cos(angle) * 2 * np.pi * factor * slope
        found[:, 1, j] = np.where(moving, speed, 0.0)
    return found


def _quantised(values: FloatArray, quantum: float) -> FloatArray:
    return np.round(values / quantum) * quantum
