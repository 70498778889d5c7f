"""LEAPP bundles: a description with networks that take physical quantities and give targets.

Gains are outputs; the plant, the physics timestep and the default pose are not in a bundle: an
env.yaml beside it, or the model, has them.
"""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.components.importers.isaac.actions import ActionTerm
from mjrig.components.importers.isaac.joint_order import JointOrder, order_from_file
from mjrig.components.importers.isaac.run import opened_run, plant_of
from mjrig.components.importers.isaac.training_files import env_in
from mjrig.components.importers.sources.policy_description import (
    Doubt,
    FoundPolicy,
    Term,
    term,
    term_size,
)
from mjrig.components.importers.sources.source import NetworkFile, PolicySource
from mjrig.components.laws.onnx_file import OnnxFile, OnnxGraph, read_graph
from mjrig.components.policies.leapp import TARGETS, TOP, BundleTensor, LeappBundle
from mjrig.core.arrays import FloatArray
from mjrig.core.errors import SceneError, Wording, option
from mjrig.core.files.decoding import reason
from mjrig.core.names import how_many, listed

# Bundle file --------------------------------------------------------------------------------------

#: Largest relative difference of gains that are constant.
SAME = 1e-5


class BundleFile(NetworkFile):
    """A bundle: its inputs are named by terms, so that it has none to be guessed.

    Raises:
        PolicyError: it is damaged, or its networks are not those that are described.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bundle = LeappBundle(path)
        self.bundle.verify()
        self.digest = sha256(path.read_bytes()).hexdigest()
        self._sessions = {node.name: OnnxFile(node.path) for node in self.bundle.nodes}
        self.onnx = next(iter(self._sessions.values()))

    @property
    def inputs(self) -> list[str]:
        return []

    @property
    def outputs(self) -> list[str]:
        return []

    def width(self, name: str) -> int | None:
        return None

    @property
    def paths(self) -> list[Path]:
        more = [self.path.with_name(n) for p in self.bundle.files if p.suffix == ".onnx"
                for n in read_graph(p).beside]  # fmt: skip
        return [*self.bundle.files, *more]

    def subtracted(self, tensor: BundleTensor) -> FloatArray | None:
        """What its network subtracts from an input; None: nothing constant."""
        node = next(node for node in self.bundle.nodes if node.name == tensor.node)
        graph: OnnxGraph = read_graph(node.path)
        return graph.subtracted(tensor.name, tensor.size)

    def constant_outputs(self, tensors: Sequence[BundleTensor]) -> list[FloatArray]:
        """Outputs that do not depend on the inputs.

        Raises:
            SceneError: one does.
        """
        found = []
        for tensor in tensors:
            tries = [self._run(tensor, seed) for seed in (0, 1)]
            if not np.allclose(*tries, rtol=SAME, atol=SAME):
                raise SceneError(
                    f"{self.path.name}: the gains {tensor.name!r} change with what the policy "
                    "sees: variable impedance is not run here"
                )
            found.append(tries[0])
        return found

    def _run(self, tensor: BundleTensor, seed: int) -> FloatArray:
        """An output for inputs at random."""
        rng = np.random.default_rng(seed)
        node = next(node for node in self.bundle.nodes if node.name == tensor.node)
        feeds = {t.name: rng.normal(size=t.shape).astype(np.float32) for t in node.inputs}
        try:
            (value,) = self._sessions[node.name].session.run([tensor.name], feeds)
        except Exception as error:  # onnxruntime has no common base class
            raise SceneError(f"{node.path.name}: cannot be run: {reason(error)}") from error
        return np.asarray(value, np.float64).reshape(-1)


# Leapp --------------------------------------------------------------------------------------------

KEYS = (TOP,)
_STATES: dict[str, tuple[str, dict[str, Any]]] = {
    "root_ang_vel_b": ("BaseAngularVelocity", {}),
    "root_link_ang_vel_b": ("BaseAngularVelocity", {}),
    "root_com_ang_vel_b": ("BaseAngularVelocity", {}),
    "root_lin_vel_b": ("BaseLinearVelocity", {"point": "com"}),
    "root_com_lin_vel_b": ("BaseLinearVelocity", {"point": "com"}),
    "root_link_lin_vel_b": ("BaseLinearVelocity", {}),
    "root_quat_w": ("BaseOrientation", {"convention": "xyzw"}),
    "root_link_quat_w": ("BaseOrientation", {"convention": "xyzw"}),
    "projected_gravity_b": ("ProjectedGravity", {}),
}
#: By kind, where there is no connection.
_KINDS = {
    "state/body/angular_velocity": "root_ang_vel_b",
    "state/body/linear_velocity": "root_lin_vel_b",
    "state/body/rotation": "root_quat_w",
    "state/joint/position": "joint_pos",
    "state/joint/velocity": "joint_vel",
}
_JOINTS = {"joint_pos": "JointPositions", "joint_vel": "JointVelocities"}


def read(source: PolicySource) -> FoundPolicy:
    """The policy of a bundle.

    Raises:
        PolicyError: the bundle is damaged.
        SceneError: something is missing or cannot be expressed.
    """
    path = next(config.path for config in source.configs if config.has(*TOP))
    source.network = file = BundleFile(path)
    return _BundlePolicy(source, file).found()


class _BundlePolicy:
    """Reads a bundle for a robot."""

    def __init__(self, source: PolicySource, file: BundleFile) -> None:
        self._source, self._file, self._bundle = source, file, file.bundle
        self._targets = file.bundle.targets
        if not self._targets:
            raise SceneError(f"{file.path.name}: has no output that commands joints")
        without = [t.name for t in self._targets if len(t.names) != t.size]
        if without:
            raise SceneError(f"{file.path.name}: {listed(without)} does not name its joints")
        self._moved = [name for tensor in self._targets for name in tensor.names]
        self._assumed: list[str | Wording] = []
        self._notes: list[str] = []

    def found(self) -> FoundPolicy:
        """The policy and plant."""
        source, env = self._source, env_in(self._source.configs)
        joints = self._joints()
        order = order_from_file(joints, source.robot, self._file.path.name)
        more: dict[str, Any] = {"doubts": self._doubts()}
        timestep = None
        if env is not None:
            run = opened_run(source, env, order, self._actions())
            plant = plant_of(run)
            more = {"actor": plant.actor, "sim": plant.sim, "controllers": plant.controllers,
                    "base": env.base(), "doubts": tuple(plant.doubts)}  # fmt: skip
            timestep, default = env.timestep, run.default
            gains = [[plant.kp[j] for j in self._moved], [plant.kd[j] for j in self._moved]]
        else:
            default, gains = self._default(order), self._gains()
        here = {name: order.model_name(name) for name in order.names}
        return FoundPolicy(
            stack="leapp",
            names=tuple(self._moved),
            timestep=timestep,
            tick=1.0 / self._bundle.frequency,
            kp=gains[0],
            kv=gains[1],
            default=[default[j] for j in self._moved],
            terms=self._terms(here),
            action={"offset": [0.0] * len(self._moved), "dtype": "float32"},
            kinds=[TARGETS[t.kind] for t in self._targets for _ in t.names],
            command=self._command(),
            observed={here[j]: default[j] for j in joints if j not in self._moved},
            notes=tuple((*order.notes, *self._notes)),
            assumed=tuple(self._assumed),
            **more,
        )

    def _joints(self) -> list[str]:
        """All joints that it names: of its inputs first, which have more."""
        names = [n for t in self._bundle.inputs if _state(t) in _JOINTS for n in t.names]
        return list(dict.fromkeys((*names, *self._moved)))

    def _doubts(self) -> tuple[Doubt, ...]:
        text = (
            "a bundle has no plant: effort limits, armature and friction are the model's, and "
            "gains are applied by an explicit PD law"
        )
        return (Doubt("of-the-model", text, "an env.yaml beside it has the plant", mild=True),)

    def _actions(self) -> list[ActionTerm]:
        endless = float("inf")
        return [
            ActionTerm(
                t.name, TARGETS[t.kind], t.names, (1.0,) * t.size, (0.0,) * t.size,
                (-endless,) * t.size, (endless,) * t.size,
            )
            for t in self._targets
        ]  # fmt: skip

    # Default pose and gains ---------------------------------------------------------------------

    def _default(self, order: JointOrder) -> dict[str, float]:
        """What a network subtracts from the positions; else the model's own pose."""
        for tensor in self._bundle.inputs:
            if _state(tensor) == "joint_pos" and len(tensor.names) == tensor.size:
                values = self._file.subtracted(tensor)
                if values is not None and set(tensor.names) >= set(order.names):
                    self._assumed.append(
                        "the default pose is what the network subtracts from the joint positions"
                    )
                    found = dict(zip(tensor.names, values.tolist(), strict=True))
                    return {name: found[name] for name in order.names}
        pose = self._source.robot.start_pose()
        self._assumed.append(
            "the bundle has no default pose: a run starts in the model's ("
            + option("default")
            + " sets another one)"
        )
        return {name: pose.get(order.model_name(name), 0.0) for name in order.names}

    def _gains(self) -> list[list[float]]:
        """Gains that the network gives; they must not depend on what it sees."""
        pair = []
        for kind in ("kp", "kd"):
            tensors = [t for t in self._bundle.gains(kind) if len(t.names) == t.size]
            named = {n: i for t in tensors for i, n in enumerate(t.names)}
            lacking = [joint for joint in self._moved if joint not in named]
            if lacking:
                raise SceneError(
                    f"{self._file.path.name}: has no {kind} for {listed(lacking)}; give the "
                    "params/env.yaml of the run too"
                )
            values = self._file.constant_outputs(tensors)
            by_joint = {n: v for t, row in zip(tensors, values, strict=True)
                        for n, v in zip(t.names, row.tolist(), strict=True)}  # fmt: skip
            pair.append([by_joint[joint] for joint in self._moved])
        zero = [j for j, kp, kd in zip(self._moved, *pair, strict=True) if kp == kd == 0.0]
        if zero:
            raise SceneError(
                f"{self._file.path.name}: kp and kd are 0 for {listed(zero)}: the exporter writes "
                "that for explicit actuators; give the params/env.yaml of the run too"
            )
        return pair

    # Observation --------------------------------------------------------------------------------

    def _terms(self, here: dict[str, str]) -> list[Term]:
        made, refused = [], []
        for tensor in self._bundle.inputs:
            result = self._term(tensor, here)
            if isinstance(result, str):
                refused.append(f"{tensor.name!r} ({result})")
            else:
                made.append(result)
        if refused:
            raise SceneError(
                f"{self._file.path.name}: {how_many(len(refused), 'input')} that nothing here can "
                f"feed: {'; '.join(refused)}"
            )
        return made

    def _term(self, tensor: BundleTensor, here: dict[str, str]) -> Term | str:
        """The term of an input, or why there is none."""
        what = _state(tensor)
        name = self._bundle.label(tensor)
        if tensor.temporal:
            return "a history that it does not keep itself"
        if what == "command":
            return term("CommandTerm", tensor.size, input=name)
        if what in _JOINTS:
            return self._joint_term(tensor, what, here)
        if what not in _STATES:
            return tensor.connection or tensor.kind or "no connection and no kind"
        kind, keys = _STATES[what]
        size = term_size({"type": kind}, len(self._moved))
        if kind == "BaseOrientation" and tensor.names[:1] == ("qw",):
            keys = {}
        if size != tensor.size:
            return f"{tensor.size} values instead of {size}"
        return term(kind, tensor.size, input=name, **keys)

    def _joint_term(self, tensor: BundleTensor, what: str, here: dict[str, str]) -> Term | str:
        if len(tensor.names) != tensor.size:
            return "joints without names"
        more: dict[str, Any] = {"input": self._bundle.label(tensor)}
        own = [here[joint] for joint in tensor.names]
        if own != [here[joint] for joint in self._moved]:
            more["joints"] = own
        if what == "joint_pos":
            more["relative"] = False
        return term(_JOINTS[what], tensor.size, **more)

    def _command(self) -> dict[str, Any]:
        found = [t for t in self._bundle.inputs if _state(t) == "command"]
        if not found:
            return {}
        if len(found) > 1:
            names = listed(t.name for t in found)
            raise SceneError(
                f"{self._file.path.name}: takes several commands ({names}); here it is one"
            )
        known = {"lin_vel_x": "vx", "lin_vel_y": "vy", "ang_vel_z": "wz"}
        names = [known.get(n, n) for n in found[0].names]
        names += [f"value {i + 1}" for i in range(len(names), found[0].size)]
        return {"names": names[: found[0].size]}


def _state(tensor: BundleTensor) -> str:
    """What an input is: the property of the robot it is connected to, or `command`."""
    parts = tensor.connection.split(":")
    if parts[0] == "command" or tensor.kind.startswith("command/"):
        return "command"
    if parts[0] == "state" and len(parts) == 3:
        return parts[2]
    return "" if tensor.connection else _KINDS.get(tensor.kind, "")
