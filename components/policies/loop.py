"""PolicyLoop: the control loop of a policy: ticks, observations, targets."""

from collections import deque
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.components.laws.space import Precision
from mjrig.components.policies.commands import Commands
from mjrig.components.policies.network_loading import check_sizes, load_network
from mjrig.components.policies.observer import Observer
from mjrig.components.policies.policy_file import PolicyFile
from mjrig.components.policies.policy_parts import Phase, StartPhase
from mjrig.components.policies.stand import StandGains
from mjrig.components.policies.targets import TargetMap, actuators_of
from mjrig.components.policies.terms.motion import Clip, Motion
from mjrig.components.policies.terms.view import Float32, Indices, View
from mjrig.control.articulation import Articulation
from mjrig.control.policy import PolicyDisturbance
from mjrig.errors import BindingError, PolicyError, PropertyError
from mjrig.model.binding import ActuatorBinding
from mjrig.names import suggestion


class PolicyLoop:
    """The control loop of a policy file on a robot.

    Steps are counted from the reset by the world's time. The policy begins after the start phase;
    with d = decimation it ticks before the steps 0, d, 2d, … from there (`before`), between the
    stages of d−1, 2d−1, … (`inside`), or before d, 2d, … (`after`).

    Raises:
        PolicyError, BindingError, PropertyError: something does not fit; nothing has run.
    """

    def __init__(self, said: PolicyFile, robot: Articulation, who: str) -> None:
        self.said, self._robot, self._who = said, robot, who
        self._data = robot.data
        self.timestep = _checked_timestep(said, robot)
        self.bindings = actuators_of(robot, said.joints, who)
        self.commands = Commands(said.command, who)
        self.view = View(
            robot,
            robot.model,
            robot.data,
            (*said.joints, *said.observed),
            self.timestep,
            np.append(said.pose, _observed_pose(said)),
            np.zeros(self.commands.size),
            rounded=said.state is Precision.FLOAT32,
            motion=self._motion(),
            moved=len(said.joints),
        )
        self._clip = self._clip_of_motion()
        self._observer = Observer(said, self.view)
        self._network = load_network(said)
        self._network.feed(self._observer.inputs)
        check_sizes(self._network, self._observer.parts, len(said.joints))
        self.targets = TargetMap(said, robot, self.bindings, self.view)
        self._every = said.decimation
        self._shift = int(said.phase is Phase.INSIDE)
        self._first = int(said.phase is Phase.AFTER)
        self._start = said.start
        self._gains = StandGains(said.start or StartPhase(), robot, self.bindings)
        self.start_steps = self._steps_of_start()
        observed = [_joint_address(robot, name, who) for name in said.observed]
        self._measure = _Measure(self.view, self.bindings, observed)
        self.action: Float32 = np.zeros(len(said.joints), dtype=np.float32)
        self.ticks = 0
        self._begun = False
        #: Errors of measurements and the delay of setpoints; None: there are none.
        self.disturbance: PolicyDisturbance | None = None
        self._late: deque[tuple[int, FloatArray]] = deque()

    @property
    def observation(self) -> Float32:
        """The observation of the last tick."""
        return self._observer.vector

    @property
    def needs_position_stage(self) -> bool:
        """Whether a tick falls between the stages of a step."""
        terms = any(term.needs_position_stage for term in self.said.terms)
        return terms or self.said.phase is Phase.INSIDE

    def _steps_of_start(self) -> int:
        if self._start is None:
            return 0
        steps = self._start.duration / self.timestep
        if abs(steps - round(steps)) > 1e-6 * max(1.0, steps):
            raise BindingError(
                f"policy.start.duration: {self._start.duration:g} s is not a multiple of the "
                f"timestep, {self.timestep:g} s"
            )
        return round(steps)

    def seed(self, seed: int) -> None:
        """Choose the random numbers of noise and bias, from the next reset on."""
        self._observer.seed = seed

    # Motion -------------------------------------------------------------------------------------

    def _motion(self) -> Motion | None:
        said = self.said.motion
        if said is None or (said.file is None and not said.from_network):
            return None
        return Motion(len(self.said.joints), said.anchor, said.bodies)

    def _clip_of_motion(self) -> Clip | None:
        said = self.said.motion
        if said is None or said.file is None:
            return None
        try:
            path = self.said.find_file(said.file)
        except PropertyError as error:
            raise PolicyError(f"policy.motion.file: {error}") from None
        return Clip(path, self.said.joints, said.joints, said.bodies)

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
            self.targets.hold(self.said.pose if word == "default" else start.target)
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
            view.position += disturbance.offsets[self.ticks % len(disturbance.offsets)]
        view.command[:] = self.commands.at(steps * self.timestep)
        if view.motion is not None:
            clip, network = self._clip, self._network
            view.motion.take((clip.frame if clip is not None else network.reference)(self.ticks))
        with np.errstate(over="ignore"):  # overflow of float32: the result is checked below
            self.action[:] = self._network.run(self._observer.look(), self.ticks)
        self.ticks += 1
        if np.isfinite(self.action).all():
            targets = self.targets.act(self.action)
            if disturbance is not None and disturbance.latency:
                self._late.append((steps + disturbance.latency, targets.copy()))
            else:
                self.targets.command(targets)
        else:
            self._report()

    def _report(self) -> None:
        bad = self.said.joints[int(np.flatnonzero(~np.isfinite(self.action))[0])]
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
        return np.concatenate([term.rays() for term in self.said.terms])

    def stop(self) -> None:
        """Stop, and restore the authored gains."""
        self._gains.put_back()
        self._begun = False

    # Memory -------------------------------------------------------------------------------------

    def signature(self) -> object:
        """What must agree for a memory to be restored."""
        return str(self.said.network), self.said.joints, self._observer.signature()

    def memory(self) -> Any:
        """What `restore` needs to continue bit-exactly, as a copy."""
        return (
            self._begun,
            self.ticks,
            self.action.copy(),
            self._gains.applied,
            self._observer.memory(),
            self._network.memory(),
            self.targets.memory(),
            self.view.command.copy(),
            list(self._late),
        )

    def restore(self, memory: Any) -> None:
        """Restore what `memory` returned."""
        self._begun, self.ticks, action, standing, observer, network, targets, command, late = (
            memory
        )
        self._late = deque(late)
        self.action[:], self.view.command[:] = action, command
        if standing and not self._gains.applied:
            self._gains.apply()
        elif not standing:
            self._gains.put_back()
        self._observer.restore(observer)
        self._network.restore(network)
        self.targets.restore(targets)


class _Measure:
    """Reads joint positions and velocities in the policy's order."""

    def __init__(
        self, view: View, bindings: list[ActuatorBinding], observed: list[tuple[int, int]]
    ) -> None:
        self._view = view
        on_joint = np.array([b.on_joint for b in bindings])
        self._joints: Indices = np.append(
            np.flatnonzero(on_joint), np.arange(view.moved, len(view.joints))
        ).astype(np.intp)
        self._others: Indices = np.flatnonzero(~on_joint)
        own = [(b.qpos_address, b.dof_address) for b in bindings if b.on_joint]
        self._qpos = _indices(qpos for qpos, _ in (*own, *observed))
        self._dof = _indices(dof for _, dof in (*own, *observed))
        self._outputs = _indices(bindings[i].output_address for i in self._others)

    def __call__(self) -> None:
        view, data = self._view, self._view.data
        view.position[self._joints] = data.qpos[self._qpos]
        view.velocity[self._joints] = data.qvel[self._dof]
        if self._others.size:
            view.position[self._others] = data.actuator_length[self._outputs]
            view.velocity[self._others] = data.actuator_velocity[self._outputs]
        if view.rounded:
            view.position[:] = view.position.astype(np.float32)
            view.velocity[:] = view.velocity.astype(np.float32)


def _indices(found: Any) -> npt.NDArray[np.intp]:
    return np.array(list(found), dtype=np.intp)


def _observed_pose(said: PolicyFile) -> FloatArray:
    """Default positions of the joints that are only observed, as precise as those of the others."""
    pose = np.array(list(said.observed.values()))
    single = said.action_recipe.dtype is Precision.FLOAT32
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


def _checked_timestep(said: PolicyFile, robot: Articulation) -> float:
    """The world's timestep.

    Raises:
        BindingError: the policy was trained with another one.
    """
    here = float(robot.model.opt.timestep)
    wanted = said.timestep
    if wanted is not None and abs(wanted - here) > 1e-9 * wanted:
        raise BindingError(
            f"the policy needs a timestep of {wanted:g} s, the world has {here:g} s; "
            f"write sim: {{timestep: {wanted:g}}} in the scene"
        )
    return here
