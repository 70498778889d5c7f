"""Train the example policy: a small network that walks the bundled quadruped as commanded.

    python tools/train_quadruped.py assets/quadruped/walk

The network starts as an imitation of a scripted trot and is improved by random search (ARS) on
`mjrig.Batch`: at every iteration some directions in parameter space are tried with both signs, and
the parameters move along the best. Takes minutes on two cores; a fixed seed gives the same file on
the same machine. Needs `onnx` to write the network.
"""

import argparse
import math
import sys
import time
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
import numpy.typing as npt

import mjrig

Array = npt.NDArray[np.float64]

LEGS, JOINTS = ("FL", "FR", "RL", "RR"), ("roll_hip", "pitch_thigh", "pitch_calf")
JOINT_NAMES = [f"{leg}_{joint}" for leg in LEGS for joint in JOINTS]
TICK_STEPS = 20
PERIOD = 0.4  # stride period [s]
ACTION_SCALE = 0.25
COMMAND_SCALE = np.array([2.0, 2.0, 1.0])
#: Hip positions on the trunk [m], x forward and y left; give each foot's speed at a yaw rate.
LEG_PLACES = np.array([(0.19, 0.13), (0.19, -0.13), (-0.19, 0.13), (-0.19, -0.13)])
LINK, HEIGHT, LIFT = 0.21, 0.29, 0.06  # link length, stance height and foot lift [m]

#: Sizes of the observation's terms, in order.
TERMS = {"omega": 3, "gravity": 3, "command": 3, "q": 12, "v": 12, "action": 12, "phase": 2}
WIDTH = sum(TERMS.values())
HIDDEN = 24
#: Left and right change places, and what points sideways or rolls changes its sign.
MIRROR_LEGS = [3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8]
MIRROR_SIGN = np.tile([-1.0, 1.0, 1.0], 4)
LEFT = [0, 1, 2, 6, 7, 8]
RIGHT = [3, 4, 5, 9, 10, 11]


def mirror_matrix() -> Array:
    """Mirror image of an observation: half a stride later, left and right exchanged."""
    legs = np.eye(12)[MIRROR_LEGS] * MIRROR_SIGN[:, None]
    blocks = [
        np.diag([-1.0, 1.0, -1.0]),
        np.diag([1.0, -1.0, 1.0]),
        np.diag([1.0, -1.0, -1.0]),
        legs,
        legs,
        legs,
        -np.eye(2),
    ]
    mirror = np.zeros((WIDTH, WIDTH))
    at = 0
    for block in blocks:
        end = at + len(block)
        mirror[at:end, at:end] = block
        at = end
    return mirror


MIRROR = mirror_matrix()


@dataclass(frozen=True)
class Network:
    """tanh network for the left legs; the right legs use its output for the mirrored world."""

    w1: Array
    b1: Array
    w2: Array
    b2: Array

    @classmethod
    def of(cls, flat: Array) -> "Network":
        """From a parameter vector (…, size)."""
        cuts = np.cumsum([WIDTH * HIDDEN, HIDDEN, HIDDEN * 6])
        w1, b1, w2, b2 = np.split(flat, cuts, axis=-1)
        lead = flat.shape[:-1]
        return cls(w1.reshape(*lead, WIDTH, HIDDEN), b1, w2.reshape(*lead, HIDDEN, 6), b2)

    def flat(self) -> Array:
        """One vector."""
        return np.concatenate([p.ravel() for p in (self.w1, self.b1, self.w2, self.b2)])

    def whole(self) -> tuple[Array, Array, Array, Array]:
        """The same as a plain network for all legs: weights of two layers."""
        w1 = np.concatenate([self.w1, MIRROR.T @ self.w1], axis=1)
        b1 = np.concatenate([self.b1, self.b1])
        w2, b2 = np.zeros((2 * HIDDEN, 12)), np.zeros(12)
        w2[:HIDDEN, LEFT], b2[LEFT] = self.w2, self.b2
        sign = MIRROR_SIGN[RIGHT]
        w2[HIDDEN:, RIGHT], b2[RIGHT] = self.w2 * sign, self.b2 * sign
        return w1, b1, w2, b2


SIZE = WIDTH * HIDDEN + HIDDEN + HIDDEN * 6 + 6


# A scripted trot to begin with ------------------------------------------------------------------


def leg_angles(x: Array, y: Array, z: Array) -> Array:
    """Hip, thigh and calf that put a foot there, relative to its thigh axis [rad]."""
    hip = np.arctan2(y, -z)
    down = np.hypot(y, z)
    cosine = (x * x + down * down - 2.0 * LINK * LINK) / (2.0 * LINK * LINK)
    calf = -np.arccos(np.clip(cosine, -1.0, 1.0))
    thigh = np.arctan2(-x, down) - np.arctan2(LINK * np.sin(calf), LINK * (1.0 + np.cos(calf)))
    return np.stack([hip, thigh, calf], axis=-1)


def trot(phase: Array, command: Array) -> Array:
    """Twelve joint targets for a share of the stride (n,) and a command (n, 3) [m/s, rad/s]."""
    moving = (np.abs(command) > 1e-3).any(axis=1)
    found = []
    for leg, (place_x, place_y) in enumerate(LEG_PLACES):
        own = (phase + (0.0 if leg in (0, 3) else 0.5)) % 1.0
        velocity_x = command[:, 0] - command[:, 2] * place_y
        velocity_y = command[:, 1] + command[:, 2] * place_x
        swing = np.clip(2.0 * own - 1.0, 0.0, 1.0)
        sweep = np.where(
            own < 0.5, 0.5 - 2.0 * own, swing - 0.5 - np.sin(2.0 * np.pi * swing) / (2.0 * np.pi)
        )
        stride = sweep * PERIOD / 2.0
        lift = LIFT * 0.5 * (1.0 - np.cos(2.0 * np.pi * swing)) * moving
        found.append(leg_angles(velocity_x * stride, velocity_y * stride, lift - HEIGHT))
    return np.concatenate(found, axis=1)


def imitate(default: Array, rng: np.random.Generator, rounds: int = 3000) -> Network:
    """A network that imitates the trot for any observation: gradient descent (Adam)."""
    flat = np.concatenate(
        [
            rng.normal(0.0, 0.3 / math.sqrt(WIDTH), WIDTH * HIDDEN),
            np.zeros(HIDDEN),
            rng.normal(0.0, 0.3 / math.sqrt(HIDDEN), HIDDEN * 6),
            np.zeros(6),
        ]
    )
    first, second = np.zeros(SIZE), np.zeros(SIZE)
    for k in range(1, rounds + 1):
        command = sample_commands(256, rng)
        phase = rng.uniform(0.0, 1.0, 256)
        seen = np.zeros((256, WIDTH))
        seen[:, 6:9] = command * COMMAND_SCALE
        seen[:, 5] = -1.0
        seen[:, 9:45] = rng.normal(0.0, 0.2, (256, 36))
        seen[:, 45] = np.sin(2.0 * np.pi * phase)
        seen[:, 46] = np.cos(2.0 * np.pi * phase)
        wanted = ((trot(phase, command) - default) / ACTION_SCALE)[:, LEFT]
        net = Network.of(flat)
        hidden = np.tanh(seen @ net.w1 + net.b1)
        error = (hidden @ net.w2 + net.b2 - wanted) / 256
        back = (error @ net.w2.T) * (1.0 - hidden**2)
        slope = Network(seen.T @ back, back.sum(0), hidden.T @ error, error.sum(0)).flat()
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        step = first / (1.0 - 0.9**k) / (np.sqrt(second / (1.0 - 0.999**k)) + 1e-8)
        flat = flat - 5e-3 * (1.0 - k / rounds) * step
    return Network.of(flat)


# Worlds to try it in ----------------------------------------------------------------------------


def sample_commands(count: int, rng: np.random.Generator) -> Array:
    """Commands as the policy will get them, some of them: stand still."""
    command = rng.uniform([-0.4, -0.25, -0.8], [0.8, 0.25, 0.8], (count, 3))
    command[rng.uniform(size=count) < 0.15] = 0.0
    straight = rng.uniform(size=count) < 0.3
    command[straight, 1:] = 0.0
    return command


class Course:
    """Many robots at once, each with its own command and network."""

    def __init__(self, worlds: int) -> None:
        scene = files("mjrig.config").joinpath("scenes", "quadruped.yaml")
        self.batch = mjrig.Batch(Path(str(scene)), worlds)
        self.robot = self.batch["quadruped"]
        bindings = {b.joint: b for b in self.robot.bindings}
        self.q = [bindings[j].qpos_address for j in JOINT_NAMES]
        self.v = [bindings[j].dof_address for j in JOINT_NAMES]
        names = list(self.robot.actuator_names)
        self.columns = [names.index(bindings[j].actuator) for j in JOINT_NAMES]
        self.default: Array = self.batch.qpos[0, self.q].copy()

    def observe(self, tick: int, command: Array, last: Array) -> Array:
        """What the networks see (worlds, WIDTH): the terms of policy.yaml, in its order."""
        qpos, qvel = self.batch.qpos, self.batch.qvel
        w, x, y, z = qpos[:, 3:7].T
        gravity = [2.0 * (w * y - x * z), -2.0 * (y * z + w * x), 1.0 - 2.0 * (w * w + z * z)]
        angle = 2.0 * math.pi * (tick * TICK_STEPS * self.batch.timestep % PERIOD) / PERIOD
        phase = np.tile([math.sin(angle), math.cos(angle)], (len(qpos), 1))
        return np.concatenate(
            [
                qvel[:, 3:6] * 0.25,
                np.stack(gravity, axis=1),
                command * COMMAND_SCALE,
                qpos[:, self.q] - self.default,
                qvel[:, self.v] * 0.05,
                last,
                phase,
            ],
            axis=1,
        )

    def run(
        self, net: Network, command: Array, ticks: int, rng: np.random.Generator
    ) -> tuple[Array, npt.NDArray[np.bool_]]:
        """Returns (mean reward per tick, still up) of every world.

        `net` has one network per world. All robots are pushed at random.
        """
        batch = self.batch
        batch.reset()
        count = batch.count
        batch.qpos[:, self.q] += rng.normal(0.0, 0.05, 12)
        last, score = np.zeros((count, 12)), np.zeros(count)
        up = np.ones(count, np.bool_)
        for tick in range(ticks):
            if tick % 50 == 30:
                batch.qvel[:, :2] += rng.uniform(-0.4, 0.4, 2)
            seen = self.observe(tick, command, last)
            action = self._act(net, seen)
            self.robot.position[:, self.columns] = self.default + ACTION_SCALE * action
            batch.step(TICK_STEPS)
            score += up * self._reward(command, action, last)
            last = action
            x, y = batch.qpos[:, 4:6].T
            up &= (1.0 - 2.0 * (x * x + y * y) > 0.7) & (batch.qpos[:, 2] > 0.18)
        return score / ticks, up

    def _act(self, net: Network, seen: Array) -> Array:
        per = len(seen) // net.b1.shape[0]
        rows = seen.reshape(-1, per, WIDTH)
        action = np.zeros((*rows.shape[:2], 12))
        for legs, view, sign in (
            (LEFT, rows, np.ones(6)),
            (RIGHT, rows @ MIRROR.T, MIRROR_SIGN[RIGHT]),
        ):
            hidden = np.tanh(view @ net.w1 + net.b1[:, None])
            action[..., legs] = (hidden @ net.w2 + net.b2[:, None]) * sign
        return np.clip(action.reshape(-1, 12), -6.0, 6.0)

    def _reward(self, command: Array, action: Array, last: Array) -> Array:
        qpos, qvel = self.batch.qpos, self.batch.qvel
        w, x, y, z = qpos[:, 3:7].T
        yaw = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
        c, s = np.cos(yaw), np.sin(yaw)
        vx, vy = c * qvel[:, 0] + s * qvel[:, 1], c * qvel[:, 1] - s * qvel[:, 0]
        off = (vx - command[:, 0]) ** 2 + (vy - command[:, 1]) ** 2
        turn = (qvel[:, 5] - command[:, 2]) ** 2
        still = (np.abs(command) < 1e-3).all(axis=1)
        return np.asarray(
            1.0
            + 2.0 * np.exp(-off / 0.05)
            + np.exp(-turn / 0.1)
            - 4.0 * (x * x + y * y)
            - 0.05 * (qvel[:, 3] ** 2 + qvel[:, 4] ** 2)
            - 10.0 * (qpos[:, 2] - 0.305) ** 2
            - 0.01 * ((action - last) ** 2).sum(axis=1)
            - 0.1 * still * (action**2).sum(axis=1)
        )


def search(
    start: Network, rng: np.random.Generator, *, iterations: int, directions: int, tries: int
) -> Network:
    """Augmented random search: step along directions whose two signs differ most in reward."""
    course = Course(2 * directions * tries)
    flat = start.flat()
    scale = 0.02
    began = time.monotonic()
    for k in range(iterations):
        noise = rng.normal(size=(directions, SIZE))
        trial = np.concatenate([flat + scale * noise, flat - scale * noise])
        command = np.tile(sample_commands(tries, rng), (2 * directions, 1))
        score, up = course.run(Network.of(trial), command, 150, rng)
        plus, minus = score.reshape(2, directions, tries).mean(axis=2)
        best = np.argsort(-np.maximum(plus, minus))[: directions // 2]
        spread = np.concatenate([plus[best], minus[best]]).std() + 1e-6
        rate = 0.03 * (1.0 - 0.8 * k / iterations)
        flat = flat + rate / (len(best) * spread) * ((plus - minus)[best] @ noise[best])
        if k % 10 == 0 or k == iterations - 1:
            print(
                f"{k:4d}  reward {score.mean():.3f}  up {100 * up.mean():.0f} %  "
                f"{time.monotonic() - began:.0f} s",
                flush=True,
            )
    return Network.of(flat)


# Files ------------------------------------------------------------------------------------------


def write_onnx(net: Network, path: Path) -> None:
    """Two layers as plain operators, float32."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    w1, b1, w2, b2 = net.whole()
    names = {"w1": w1, "b1": b1, "w2": w2, "b2": b2}
    constants = [numpy_helper.from_array(v.astype(np.float32), name=n) for n, v in names.items()]
    nodes = [
        helper.make_node("Gemm", ["obs", "w1", "b1"], ["sum"]),
        helper.make_node("Tanh", ["sum"], ["hidden"]),
        helper.make_node("Gemm", ["hidden", "w2", "b2"], ["actions"]),
    ]
    graph = helper.make_graph(
        nodes,
        "walk",
        [helper.make_tensor_value_info("obs", TensorProto.FLOAT, [1, WIDTH])],
        [helper.make_tensor_value_info("actions", TensorProto.FLOAT, [1, 12])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())


def main(arguments: list[str]) -> None:
    """Train and write OUTPUT.onnx."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("output", type=Path, help="file to write, without .onnx")
    parser.add_argument("--iterations", type=int, default=150)
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args(arguments)
    rng = np.random.default_rng(options.seed)
    start = imitate(Course(1).default, rng)
    net = search(start, rng, iterations=options.iterations, directions=16, tries=4)
    write_onnx(net, options.output.with_suffix(".onnx"))
    for command in ((0.5, 0.0, 0.0), (0.3, 0.0, 0.5), (0.0, 0.2, 0.0), (0.0, 0.0, 0.0)):
        course = Course(1)
        one = Network.of(net.flat()[None])
        _, up = course.run(one, np.array([command]), 500, np.random.default_rng(0))
        x, y = course.batch.qpos[0, :2]
        print(f"command {command}: up {bool(up[0])}, at {x:.2f}, {y:.2f} m after 10 s")


if __name__ == "__main__":
    main(sys.argv[1:])
