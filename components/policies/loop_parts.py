"""LoopParts: what the loop of a policy is made of, for one world or for those of a batch."""

from typing import Any, Final

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.components.laws.space import Precision
from mjrig.components.policies.commands import Commands
from mjrig.components.policies.observer import Observer
from mjrig.components.policies.policy_file import PolicyFile
from mjrig.components.policies.policy_parts import Phase
from mjrig.components.policies.targets import TargetMap, actuators_of
from mjrig.components.policies.terms.motion import Clip, Motion
from mjrig.components.policies.terms.view import Float32, Indices, View
from mjrig.control.articulation import Articulation
from mjrig.errors import BindingError, PolicyError, PropertyError
from mjrig.model.binding import ActuatorBinding
from mjrig.names import suggestion


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

    said: Final[PolicyFile]
    timestep: Final[float]
    bindings: Final[list[ActuatorBinding]]
    view: Final[View]
    targets: Final[TargetMap]
    start_steps: Final[int]
    action: Final[Float32]

    def __init__(
        self,
        said: PolicyFile,
        robot: Articulation,
        who: str,
        data: Any,
        setpoints: FloatArray,
        worlds: int = 0,
    ) -> None:
        self.said, self._robot, self._who = said, robot, who
        self.timestep = _checked_timestep(said, robot)
        self.bindings = actuators_of(robot, said.joints, who)
        size = Commands(said.command, who).size
        self.view = View(
            robot,
            robot.model,
            data,
            (*said.joints, *said.observed),
            self.timestep,
            np.append(said.pose, _observed_pose(said)),
            np.zeros((worlds, size) if worlds else size),
            rounded=said.state is Precision.FLOAT32,
            motion=self._motion(worlds),
            moved=len(said.joints),
            steps=np.zeros(worlds, np.int64) if worlds else 0,
            worlds=worlds,
        )
        self._clip = self._clip_of_motion()
        self._observer = Observer(said, self.view)
        self.targets = TargetMap(said, robot, self.bindings, self.view, setpoints)
        self._every = said.decimation
        self._shift = int(said.phase is Phase.INSIDE)
        self._first = int(said.phase is Phase.AFTER)
        self.start_steps = self._steps_of_start()
        observed = [_joint_address(robot, name, who) for name in said.observed]
        self._measure = _Measure(self.view, self.bindings, observed)
        self.action = self.view.zeros(len(said.joints)).astype(np.float32)

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
        start = self.said.start
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
        said = self.said.motion
        if said is None or (said.file is None and not said.from_network):
            return None
        return Motion(len(self.said.joints), said.anchor, said.bodies, worlds)

    def _clip_of_motion(self) -> Clip | None:
        said = self.said.motion
        if said is None or said.file is None:
            return None
        try:
            path = self.said.find_file(said.file)
        except PropertyError as error:
            raise PolicyError(f"policy.motion.file: {error}") from None
        return Clip(path, self.said.joints, said.joints, said.bodies)


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
