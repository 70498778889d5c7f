"""PolicyLoop: the control loop of a policy: commands, ticks, observations, targets."""

from collections import deque
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, ClassVar, Final

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.components.laws.pipeline_arrays import Precision
from mjrig.components.policies.action_targets import TargetMap, actuators_of
from mjrig.components.policies.leapp import LeappNetwork
from mjrig.components.policies.network import OnnxNetwork, PolicyNetwork, TorchNetwork
from mjrig.components.policies.observer import Observer
from mjrig.components.policies.policy_file import CommandInput, Phase, PolicyFile, StartPhase, given
from mjrig.components.policies.terms.motion_terms import Clip
from mjrig.components.policies.terms.view import Float32, Indices, Motion, View
from mjrig.core.arrays import FloatArray, frozen
from mjrig.core.attributes import CheckedAttributes
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.policy import CommandSpace, PolicyDisturbance
from mjrig.core.errors import BindingError, PolicyError, PropertyError
from mjrig.core.model.binding import ActuatorBinding
from mjrig.core.names import how_many, suggestion
from mjrig.core.properties.memory import DeclaredMemory
from mjrig.core.properties.per_actuator import PerActuator

# Network loading ----------------------------------------------------------------------------------

_KINDS: dict[str, type[OnnxNetwork] | type[TorchNetwork] | type[LeappNetwork]] = {
    ".onnx": OnnxNetwork,
    ".pt": TorchNetwork,
    ".yaml": LeappNetwork,
}


def load_network(policy: PolicyFile) -> PolicyNetwork:
    """The network of a policy file.

    Raises:
        PolicyError: it is missing, or does not match the file.
    """
    try:
        path = policy.network_file()
    except PropertyError as error:
        raise PolicyError(str(error)) from error
    return _KINDS.get(path.suffix.lower(), OnnxNetwork)(path, policy)


def check_sizes(network: PolicyNetwork, parts: Mapping[str, int], joints: int) -> None:
    """Run a network once, to check its input and output sizes.

    Args:
        network: as loaded.
        parts: the terms of the observation, with the number of values of each.
        joints: required size of the action.

    Raises:
        PolicyError: it does not fit; the message has the table of terms.
    """
    built = sum(parts.values())
    table = ", ".join(f"{name} {size}" for name, size in parts.items())
    if network.size is not None and network.size != built:
        raise network.error(
            f"takes {how_many(network.size, 'value')}, the observation has {built}: {table}"
        )
    try:
        action = network.run(np.zeros(built, dtype=np.float32), 0)
    except PolicyError as error:
        raise PolicyError(f"{error}; the observation has {built}: {table}") from error
    network.reset()
    if action.size != joints:
        raise network.error(
            f"gives {how_many(action.size, 'value')} but the policy file names "
            f"{how_many(joints, 'joint')}: a policy for another robot?"
        )


# Commands -----------------------------------------------------------------------------------------

#: An entry may start this much early [s]: times are sums of rounded steps.
TOLERANCE = 1e-6


class Commands(CheckedAttributes):
    """The command at a time: a fixed one, else the schedule's, else the default.

    Args:
        command: `command` of the policy file; None: it takes no command.
        who: label for error messages.
    """

    size: Final[int]
    space: Final[CommandSpace]

    def __init__(self, command: CommandInput | None, who: str) -> None:
        command = command if command is not None else CommandInput()
        self.size, self._who = command.size, who
        self._names = command.names
        self._default = command.default if command.default.size else frozen(np.zeros(self.size))
        self._schedule = command.schedule
        self._fixed: FloatArray | None = None
        self.space = CommandSpace(tuple(self._names), self._default, command.ranges)

    def fix(self, values: FloatArray) -> None:
        """Fix these values, overriding the schedule; none: the schedule again.

        Raises:
            PropertyError: another number of values, or no numbers.
        """
        if values.size:
            self._check(values)
            if not np.isfinite(values).all():
                raise PropertyError(
                    f"{self._who}.command: must be numbers, got {values.tolist()}", ("command",)
                )
        self._fixed = values if values.size else None

    def follow(self, schedule: Sequence[tuple[float, Sequence[float]]]) -> None:
        """Take the command from a schedule of (time [s], values); an empty one: the default.

        Raises:
            PropertyError: another number of values, or times that do not ascend.
        """
        rows: list[list[float]] = []
        for time, values in schedule:
            self._check(np.asarray(values, dtype=np.float64))
            rows.append([float(time), *map(float, values)])
        table = np.array(rows).reshape(-1, self.size + 1)
        if not np.isfinite(table).all() or np.any(np.diff(table[:, 0]) <= 0.0):
            raise PropertyError(f"{self._who}: a schedule must be finite and its times ascend")
        self._schedule, self._fixed = frozen(table), None

    def at(self, time: float) -> FloatArray:
        """The command at a time since the policy began [s]."""
        if self._fixed is not None:
            return self._fixed
        if self._schedule.size:
            begun = np.searchsorted(self._schedule[:, 0], time + TOLERANCE, side="right")
            if begun:
                row: FloatArray = self._schedule[begun - 1, 1:]
                return row
        return self._default

    def _check(self, values: npt.NDArray[np.float64]) -> None:
        if values.shape != (self.size,):
            names = f" ({', '.join(self._names)})" if self._names else ""
            raise PropertyError(
                f"{self._who}.command: must have {how_many(self.size, 'value')}{names}, "
                f"got {values.size}",
                ("command",),
            )


# Loop parts ---------------------------------------------------------------------------------------


class LoopParts:
    """A policy file on a robot: what it sees, what it commands, and when it ticks.

    Steps are counted from the reset by the world's time. The policy begins after the start phase;
    with d = decimation it ticks before the steps 0, d, 2d, … from there (`before`), between the
    stages of d−1, 2d−1, … (`inside`), or before d, 2d, … (`after`).

    Args:
        data: MjData, or the `mujoco.batch.Batch`.
        setpoints: (3, actuators), or (worlds, 3, actuators).
        worlds: how many of a batch; 0: one world.

    Raises:
        PolicyError, BindingError, PropertyError: something does not fit; nothing has run.
    """

    policy: Final[PolicyFile]
    timestep: Final[float]
    bindings: Final[list[ActuatorBinding]]
    view: Final[View]
    targets: Final[TargetMap]
    start_steps: Final[int]
    action: Final[Float32]

    def __init__(
        self,
        policy: PolicyFile,
        robot: Articulation,
        who: str,
        data: Any,
        setpoints: FloatArray,
        worlds: int = 0,
    ) -> None:
        self.policy, self._robot, self._who = policy, robot, who
        self.timestep = _checked_timestep(policy, robot)
        self.bindings = actuators_of(robot, policy.joints, who)
        size = Commands(policy.command, who).size
        self.view = View(
            robot,
            robot.model,
            data,
            (*policy.joints, *policy.observed),
            self.timestep,
            np.append(policy.pose, _observed_pose(policy)),
            np.zeros((worlds, size) if worlds else size),
            rounded=policy.state is Precision.FLOAT32,
            motion=self._motion(worlds),
            moved=len(policy.joints),
            steps=np.zeros(worlds, np.int64) if worlds else 0,
            worlds=worlds,
        )
        self._clip = self._clip_of_motion()
        self._observer = Observer(policy, self.view)
        self.targets = TargetMap(policy, robot, self.bindings, self.view, setpoints)
        self._every = policy.decimation
        self._shift = int(policy.phase is Phase.INSIDE)
        self._first = int(policy.phase is Phase.AFTER)
        self.start_steps = self._steps_of_start()
        observed = [_joint_address(robot, name, who) for name in policy.observed]
        self._measure = _Measure(self.view, self.bindings, observed)
        self.action = self.view.zeros(len(policy.joints)).astype(np.float32)

    @property
    def observation(self) -> Float32:
        """The observation of the last tick."""
        return self._observer.vector

    @property
    def needs_position_stage(self) -> bool:
        """Whether a tick falls between the stages of a step."""
        terms = any(term.needs_position_stage for term in self.policy.terms)
        return terms or self.policy.phase is Phase.INSIDE

    def _steps_of_start(self) -> int:
        start = self.policy.start
        if start is None:
            return 0
        steps = start.duration / self.timestep
        if abs(steps - round(steps)) > 1e-6 * max(1.0, steps):
            raise BindingError(
                f"policy.start.duration: {start.duration:g} s is not a multiple of the "
                f"timestep, {self.timestep:g} s"
            )
        return round(steps)

    def _motion(self, worlds: int) -> Motion | None:
        motion = self.policy.motion
        if motion is None or (motion.file is None and not motion.from_network):
            return None
        return Motion(len(self.policy.joints), motion.anchor, motion.bodies, worlds)

    def _clip_of_motion(self) -> Clip | None:
        motion = self.policy.motion
        if motion is None or motion.file is None:
            return None
        try:
            path = self.policy.find_file(motion.file)
        except PropertyError as error:
            raise PolicyError(f"policy.motion.file: {error}") from None
        return Clip(path, self.policy.joints, motion.joints, motion.bodies)


class _Measure:
    """Reads joint positions and velocities in the policy's order."""

    def __init__(
        self, view: View, bindings: list[ActuatorBinding], observed: list[tuple[int, int]]
    ) -> None:
        self._view = view
        data = view.data
        on_joint = np.array([b.on_joint for b in bindings])
        self._joints: Indices = np.append(
            np.flatnonzero(on_joint), np.arange(view.moved, len(view.joints))
        ).astype(np.intp)
        self._others: Indices = np.flatnonzero(~on_joint)
        own = [(b.qpos_address, b.dof_address) for b in bindings if b.on_joint]
        self._qpos = _indices(qpos for qpos, _ in (*own, *observed))
        self._dof = _indices(dof for _, dof in (*own, *observed))
        self._outputs = _indices(bindings[i].output_address for i in self._others)
        self._all_joints = np.array_equal(self._joints, np.arange(len(view.joints)))
        self._positions, self._velocities = data.qpos, data.qvel
        if self._others.size:
            self._lengths, self._speeds = data.actuator_length, data.actuator_velocity

    def __call__(self) -> None:
        view = self._view
        if self._all_joints:
            # With another mode `take` would use a buffer; the addresses are known to be valid.
            self._positions.take(self._qpos, -1, view.position, "clip")
            self._velocities.take(self._dof, -1, view.velocity, "clip")
        else:
            view.position[..., self._joints] = self._positions[..., self._qpos]
            view.velocity[..., self._joints] = self._velocities[..., self._dof]
            view.position[..., self._others] = self._lengths[..., self._outputs]
            view.velocity[..., self._others] = self._speeds[..., self._outputs]
        if view.rounded:
            view.position[:] = view.position.astype(np.float32)
            view.velocity[:] = view.velocity.astype(np.float32)


def _indices(found: Any) -> npt.NDArray[np.intp]:
    return np.array(list(found), dtype=np.intp)


def _observed_pose(policy: PolicyFile) -> FloatArray:
    """Default positions of the joints that are only observed, as precise as those of the others."""
    pose = np.array(list(policy.observed.values()))
    single = policy.action_recipe.dtype is Precision.FLOAT32
    return pose.astype(np.float32).astype(np.float64) if single else pose


def _joint_address(robot: Articulation, name: str, who: str) -> tuple[int, int]:
    """Addresses in qpos and qvel of a hinge or slide joint by local name.

    Raises:
        BindingError: there is none.
    """
    model, prefix = robot.model, robot.model_map.prefix
    joint = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, prefix + name)
    kinds = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
    if joint < 0 or model.jnt_type[joint] not in kinds:
        hint = suggestion(name, robot.joint_names)
        raise BindingError(f"{who}: observed: there is no hinge or slide joint {name!r}; {hint}")
    return int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])


def _checked_timestep(policy: PolicyFile, robot: Articulation) -> float:
    """The world's timestep.

    Raises:
        BindingError: the policy was trained with another one.
    """
    here = float(robot.model.opt.timestep)
    wanted = policy.timestep
    if wanted is not None and abs(wanted - here) > 1e-9 * wanted:
        raise BindingError(
            f"the policy needs a timestep of {wanted:g} s, the world has {here:g} s; "
            f"write sim: {{timestep: {wanted:g}}} in the scene"
        )
    return here


# Stand --------------------------------------------------------------------------------------------


class StandGains(DeclaredMemory):
    """The gains of the start phase on the controllers that drive the joints.

    Raises:
        BindingError: a joint is driven by no controller that has such a gain.
    """

    _remembered: ClassVar[tuple[str, ...]] = ("_is_applied",)

    def __init__(
        self, start: StartPhase, robot: Articulation, bindings: list[ActuatorBinding]
    ) -> None:
        self._robot, self._bindings = robot, bindings
        found = {name: given(start, name) for name in ("kp", "kv")}
        self._gains: dict[str, FloatArray] = {n: v for n, v in found.items() if v is not None}
        self.applied = False

    @property
    def _is_applied(self) -> bool:
        return self.applied

    @_is_applied.setter
    def _is_applied(self, applied: bool) -> None:
        if applied and not self.applied:
            self.apply()
        elif not applied:
            self.put_back()

    def apply(self) -> None:
        """Apply these gains; authored values stay unchanged."""
        self.applied = True
        for name, values in self._gains.items():
            for controller, places in self._owners(name).items():
                array = controller.__dict__[name].copy()
                for own, mine in places:
                    array[own] = values[mine]
                controller.__dict__[name] = frozen(array)
                self._tell(controller, name)

    def put_back(self) -> None:
        """Restore the authored gains."""
        if not self.applied:
            return
        self.applied = False
        for name in self._gains:
            for controller in self._owners(name):
                controller.property_named(name).refresh(controller)
                self._tell(controller, name)

    def _tell(self, controller: ArticulationController, name: str) -> None:
        controller._run_hook("on_change", (name,))
        controller._notify((name,))

    def _owners(self, name: str) -> dict[ArticulationController, list[tuple[int, int]]]:
        """The controllers with that gain: (place in the controller, place in the policy)."""
        owners: dict[ArticulationController, list[tuple[int, int]]] = {}
        for mine, binding in enumerate(self._bindings):
            for controller in self._robot.controllers:
                ids = [b.actuator_id for b in controller.bindings]
                if binding.actuator_id in ids and _has(controller, name):
                    place = ids.index(binding.actuator_id), mine
                    owners.setdefault(controller, []).append(place)
                    break
            else:
                raise BindingError(
                    f"policy.start.{name}: no controller of {self._robot.name!r} has a {name} "
                    f"for {binding.actuator!r}"
                )
        return owners


def _has(controller: ArticulationController, name: str) -> bool:
    return any(p.name == name and isinstance(p, PerActuator) for p in controller.properties())


# Loop ---------------------------------------------------------------------------------------------


class PolicyLoop(LoopParts, DeclaredMemory):
    """The control loop of a policy file on a robot of a world."""

    _remembered: ClassVar[tuple[str, ...]] = (
        "_begun", "ticks", "action", "_gains", "_observer", "_network", "targets", "view", "_late"
    )  # fmt: skip

    def __init__(self, policy: PolicyFile, robot: Articulation, who: str) -> None:
        super().__init__(policy, robot, who, robot.data, robot.setpoints.values)
        self._data = robot.data
        self.commands = Commands(policy.command, who)
        self._network = load_network(policy)
        self._network.feed(self._observer.inputs)
        check_sizes(self._network, self._observer.parts, len(policy.joints))
        self._answer = self._network.prepared(self.observation, self.action)
        self._start = policy.start
        self._gains = StandGains(policy.start or StartPhase(), robot, self.bindings)
        self.ticks = 0
        self._begun = False
        #: Errors of measurements and the delay of setpoints; None: there are none.
        self.disturbance: PolicyDisturbance | None = None
        self._late: deque[tuple[int, FloatArray]] = deque()

    def seed(self, seed: int) -> None:
        """Choose the random numbers of noise and bias, from the next reset on."""
        self._observer.seeds = [seed]

    # Time ---------------------------------------------------------------------------------------

    def steps(self) -> int:
        """Physics steps since the policy began; negative: in the start phase."""
        time: float = self._data.time
        return round(time / self.timestep) - self.start_steps

    def command_now(self) -> FloatArray:
        """The command in force."""
        return self.commands.at(max(self.steps(), 0) * self.timestep)

    def reset(self) -> None:
        """Start over: clear the memory, and command the targets that hold until the first tick."""
        self._gains.put_back()
        self.ticks = 0
        self._late.clear()
        self.action[:] = 0.0
        self._observer.reset()
        self._observer.vector[:] = 0.0
        self._network.reset()
        self.targets.find_rows()
        if self._start is not None and self.steps() <= 0:
            self._stand(self._start)
        self.targets.restart()
        self._begun = True

    def _stand(self, start: StartPhase) -> None:
        word = StartPhase.target.word(start)
        if word != "pose":
            self.targets.hold(self.policy.pose if word == "default" else start.target)
        if self.steps() < 0:
            self._gains.apply()

    def step(self) -> None:
        """Before a physics step: tick if it is time."""
        if not self._begun:
            self.reset()
        steps = self.steps()
        if steps < 0:
            return
        if self._gains.applied:
            self._gains.put_back()
        if (steps + self._shift) % self._every == 0 and steps >= self._first:
            self._tick(steps)
        while self._late and self._late[0][0] <= steps:
            self.targets.command(self._late.popleft()[1])

    def quiet_steps(self) -> int:
        """Steps after the present one until `step` has something to do."""
        steps = self.steps()
        if steps < 0:
            return -steps - 1
        due = self._every - (steps + self._shift) % self._every
        if self._late:
            due = min(due, self._late[0][0] - steps)
        return due - 1

    def _tick(self, steps: int) -> None:
        view = self.view
        view.steps = steps
        self._measure()
        disturbance = self.disturbance
        if disturbance is not None:
            row = disturbance.offsets[self.ticks % len(disturbance.offsets)]
            view.position[: view.moved] += row
        view.command[:] = self.commands.at(steps * self.timestep)
        if view.motion is not None:
            clip, network = self._clip, self._network
            view.motion.take((clip.frame if clip is not None else network.reference)(self.ticks))
        with np.errstate(over="ignore"):  # overflow of float32: the result is checked below
            self._observer.look()
            self._answer(self.ticks)
        self.ticks += 1
        action = self.action
        # The sum of squares is finite if all are, unless they are huge, and quicker to get.
        if isfinite(action.dot(action)) or np.isfinite(action).all():
            targets = self.targets.act(action)
            if disturbance is not None and disturbance.latency:
                self._late.append((steps + disturbance.latency, targets.copy()))
            else:
                self.targets.command(targets)
        else:
            self._report()

    def _report(self) -> None:
        bad = self.policy.joints[int(np.flatnonzero(~np.isfinite(self.action))[0])]
        seen = "" if np.isfinite(self.observation).all() else ", and the observation is not either"
        self._robot.report(
            "non-finite action",
            f"{self._who}: the network's output for {bad!r} is not finite{seen}; "
            "the last target is held",
            joint=bad,
        )

    def answers(self, observations: Float32) -> Float32:
        """The network's outputs for observations of consecutive ticks; its memory is put back."""
        network = self._network
        before = network.memory()
        network.reset()
        try:
            found = [network.run(row, tick) for tick, row in enumerate(observations)]
        finally:
            network.restore(before)
        return np.array(found, dtype=np.float32).reshape(len(observations), -1)

    def rays(self) -> FloatArray:
        """Rays of the terms in the last tick: (n, 2, 3), start and end [m]."""
        return np.concatenate([term.rays() for term in self.policy.terms])

    def end_stand(self) -> None:
        """Restore the authored gains."""
        self._gains.put_back()

    def stop(self) -> None:
        """Stop, and restore the authored gains."""
        self.end_stand()
        self._begun = False

    # Memory -------------------------------------------------------------------------------------

    def signature(self) -> object:
        """What must agree for a memory to be restored."""
        return str(self.policy.network), self.policy.joints, self._observer.signature()
