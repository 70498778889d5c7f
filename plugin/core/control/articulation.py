"""Articulation: one robot in the world, its actuators, components, setpoints and free base."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray, as_slice, read_only
from mjrig.core.control.control_arrays import Control
from mjrig.core.control.control_plan import Write
from mjrig.core.control.controlled_actor import ControlledActor
from mjrig.core.control.setpoints import Lease, Setpoints, Source, Targets, row_of, takes_rows
from mjrig.core.errors import PropertyError
from mjrig.core.files.paths import shortened
from mjrig.core.model.binding import ActorState
from mjrig.core.model.keyframes import captured
from mjrig.core.names import listed
from mjrig.core.properties.actions import action
from mjrig.core.properties.component import ActorComponent
from mjrig.core.properties.hooks import hook_methods
from mjrig.core.properties.user_code import described
from mjrig.core.scene.scene_sections import Keyframe

# Keyframe hold ------------------------------------------------------------------------------------
# KeyframeHold: setpoints pinned at a keyframe's pose until they are released.


class Pinned(NamedTuple):
    """What is pinned: all setpoints (3·n,), input vectors by name, and the keyframe's name."""

    flat: FloatArray
    inputs: dict[str, FloatArray]
    keyframe: str


class KeyframeHold:
    """Writes the same setpoints before every step, so that they override every other command."""

    def __init__(self, setpoints: Setpoints) -> None:
        self._setpoints = setpoints
        self.pinned: Pinned | None = None

    def __call__(self) -> None:
        pinned = self.pinned
        if pinned is not None:
            self._setpoints.flat[:] = pinned.flat
            for name, values in pinned.inputs.items():
                self._setpoints.input_values[name][:] = values

    def memory(self) -> Any:
        """What `restore` takes back; nothing of it is ever written into."""
        return None if self.pinned is None else tuple(self.pinned)

    def restore(self, memory: Any) -> None:
        """Pin what was pinned when `memory` was called."""
        self.pinned = None if memory is None else Pinned(*memory)


# Articulation -------------------------------------------------------------------------------------
# Articulation: one robot in the world, its actuators, components and setpoints.


Trajectory = Callable[[float], tuple[npt.ArrayLike | None, ...]]


class Articulation(ControlledActor):
    """The actor in a running world.

    `bindings` are the actuators a law can be bound to; `actuator_names` all single-output ones, in
    id order, and the order of the setpoint arrays. Made by `World`, never by hand.
    """

    _instead_of: ClassVar[Mapping[str, str]] = {
        "position": "command it by set_targets(…); the state is in data.qpos",
        "velocity": "command it by set_targets(velocity=…); the state is in data.qvel",
        "effort": "command it by set_targets(feedforward=…)",
        "control": "write into its arrays, as in control.target_q[:] = …",
        "setpoints": "write into its arrays, as in setpoints.position[:] = …",
        "controllers": "call add_component(…) and remove_component(…)",
        "components": "call add_component(…) and remove_component(…)",
        "held": "call hold(keyframe) and release_hold()",
    }

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._qpos_places = as_slice(self._where.qpos)
        self._dof_places = as_slice(self._where.dof)
        self._trajectory: Trajectory | None = None
        self._control: Control | None = None
        self._hold = KeyframeHold(self._setpoints)
        self._replan()

    # Commands -----------------------------------------------------------------------------------

    def set_targets(
        self, position: Targets = None, *, velocity: Targets = None, feedforward: Targets = None
    ) -> None:
        """Command actuators: mappings from joint or actuator pattern to value, or whole arrays.

        Raises:
            LeaseError: one of them is held; the message names the holder.
            BindingError: a pattern matches nothing; the message names the nearest valid name.
        """
        if self._control is not None:
            self._control.push()  # what was written there comes first
        self._setpoints.write(position, velocity, feedforward)

    def take(
        self,
        source: Source = Source.SCRIPT,
        *,
        actuators: str = ".*",
        holder: str | None = None,
    ) -> Lease:
        """Take the exclusive right to command the actuators a pattern matches.

        Raises:
            LeaseError: another holder has one of them.
        """
        return self._setpoints.take(source, actuators=actuators, holder=holder)

    @property
    def control(self) -> Control:
        """The inputs by coordinate and degree of freedom, with forces and muscle activations."""
        if self._control is None:
            self._control = Control(
                self._model,
                self._data,
                self._where,
                self._described,
                self._setpoints,
            )
            self._control.reset(self._initial.qpos)
            self._replan()
        return self._control

    @property
    def source(self) -> Source:
        """The current source of commands."""
        return self._setpoints.source

    @action
    def hold(self, keyframe: str) -> None:
        """Pin the setpoints at a keyframe's pose until released; no state is injected.

        The hold goes through the controllers and overrides every other command.
        """
        state = self.keyframe(keyframe)
        inputs = self._seeds.inputs(state)
        self._hold.pinned = Pinned(self._keyframe_setpoints(state), inputs, keyframe)
        self._replan()

    @action
    def release_hold(self) -> None:
        """End a hold; the setpoints stay where they were pinned."""
        if self._hold.pinned is not None:
            self._hold.pinned = None
            self._replan()

    @property
    def held(self) -> str:
        """The keyframe being held, or empty."""
        return self._hold.pinned.keyframe if self._hold.pinned is not None else ""

    @action
    def clear(self) -> None:
        """Zero velocities and feedforward; return positions to the pose of the last reset.

        Raises:
            LeaseError: an actuator is held by a lease.
        """
        self._setpoints.check_inputs_free()
        for row, values in enumerate(self._keyframe_setpoints(self._initial).reshape(3, -1)):
            self._setpoints.write_columns(row, range(len(self.actuator_names)), values)
        self._seed_inputs(self._initial)
        if self._control is not None:
            self._control.clear()

    def capture(self, name: str) -> Keyframe:
        """The present state as a keyframe, to keep with the scene: `actor.add_keyframe(...)`.

        It has the joints, the velocities that are not zero, the activations, and what the actuators
        that no law drives are commanded. Free joints of an actor that is not at the origin
        are given in the world frame (`absolute`), so that every bit is kept.
        """
        lowered = {
            b.actuator for c in self.controllers if c.lowered is not None for b in c.bindings
        }
        return captured(
            name, self._model, self._data, self._where, self._direct_commands(), lowered
        )

    def _direct_commands(self) -> dict[str, FloatArray]:
        """Commands of the actuators whose setpoints are not seeded from the pose."""
        found: dict[str, FloatArray] = {}
        following = self._plan.following
        columns = {name: i for i, name in enumerate(self.actuator_names)}
        for binding in self._described:
            if binding.actuator_id in following:
                continue
            if takes_rows(binding):
                rows = [row_of(binding, k) for k in range(binding.ctrl_count)]
                found[binding.actuator] = self._setpoints.values[rows, columns[binding.actuator]]
            else:
                found[binding.actuator] = self._setpoints.input_values[binding.actuator].copy()
        return found

    def _standing_commands(self) -> Sequence[Write]:
        commands: list[Write] = []
        if self._control is not None:
            commands.append(self._control.push)
        if self._hold.pinned is not None:
            commands.append(self._hold)
        return commands

    # Trajectories -------------------------------------------------------------------------------

    def follow(self, trajectory: Trajectory | None) -> None:
        """Take the setpoints from a function of time; None: stop doing so.

        It is called before every step, and at every stage of one where a lowered law runs under
        RK4. It returns position, velocity and feedforward over `actuator_names`; None leaves a row
        as it is.

        Raises:
            ValueError: it is no function, or returns something else for the present time.
            LeaseError: an actuator is held by a lease.
        """
        if trajectory is not None and not callable(trajectory):
            raise PropertyError(
                f"{self.name}: follow takes a function of time that returns position, velocity and "
                f"feedforward, got {shortened(repr(trajectory))}"
            )
        if trajectory is not None:
            self._write_trajectory(trajectory, float(self._data.time))
        self._trajectory = trajectory
        self._replan()

    def _trajectory_call(self) -> Write | None:
        trajectory, data = self._trajectory, self._data
        if trajectory is None:
            return None
        return lambda: self._write_trajectory(trajectory, data.time)

    def _write_trajectory(self, trajectory: Trajectory, time: float) -> None:
        rows = trajectory(time)
        if len(rows) != 3:
            raise ValueError(
                f"{self.name}: a trajectory gives position, velocity and feedforward, "
                f"got {len(rows)} values"
            )
        self._setpoints.write(*rows)

    def follow_stage(self, time: float) -> None:
        """Evaluate the trajectory within a step, for laws that MuJoCo runs."""
        if self._trajectory is not None:
            self._write_trajectory(self._trajectory, time)
            self._hold()
            if not self._setpoints.is_current:
                self._take_setpoints()

    @property
    def follows_stages(self) -> bool:
        """Whether a trajectory moves the setpoints of lowered laws."""
        return self._trajectory is not None and bool(self._plan.native)

    # Reset --------------------------------------------------------------------------------------

    def put(self, state: ActorState) -> None:
        """Write this actor's share of the state, no other actor's."""
        where, data = self._where, self._data
        data.qpos[self._qpos_places] = state.qpos
        data.qvel[self._dof_places] = state.qvel
        if len(where.act):
            data.act[where.act] = state.act
        self._ctrl[:] = 0.0 if state.ctrl is None else np.nan_to_num(state.ctrl)
        if len(where.mocap):
            data.mocap_pos[where.mocap] = state.mocap_pos
            data.mocap_quat[where.mocap] = state.mocap_quat
        self._initial = state

    def reset(self) -> None:
        """Clear controller memory and holds; seed the setpoints from the state just written."""
        self.release_hold()
        self._setpoints.touch()
        self._unsettled = True
        self._seed()
        self._seed_inputs(self._initial)
        self._guard.keep_ctrl()
        if self._control is not None:
            self._control.reset(self._initial.qpos)
        for component in self._components:
            for method in hook_methods(type(component), "reset"):
                method(component)

    # Telemetry ----------------------------------------------------------------------------------

    @property
    def effort(self) -> FloatArray:
        """Effort per binding after the controller's clamps, joint units (N·m or N); read-only."""
        return read_only(self._telemetry.effort())

    @property
    def raw_effort(self) -> FloatArray:
        """Effort per binding as the law computed it, before any clamp, joint units; read-only."""
        return read_only(self._telemetry.raw_effort())

    @property
    def applied_effort(self) -> FloatArray:
        """Effort per binding that MuJoCo used in the last step, after all its limits; read-only.

        A joint's actuatorfrcrange limits the sum of its actuators; each takes its share of the cut.
        """
        return read_only(self._telemetry.applied_effort())

    @property
    def position(self) -> FloatArray:
        """Position per binding: qpos of the joint, or actuator length; a read-only copy.

        Write `data.qpos` at `bindings[i].qpos_address` to change the state.
        """
        return read_only(self._telemetry.position())

    @property
    def velocity(self) -> FloatArray:
        """Velocity per binding; a read-only copy."""
        return read_only(self._telemetry.velocity())

    # Snapshots ----------------------------------------------------------------------------------

    def memory(self, unknown: dict[str, str] | None = None) -> dict[str, Any]:
        """What `restore` needs to continue bit-exactly, beyond MuJoCo's own state.

        Args:
            unknown: filled with the components whose memory cannot be read, label → reason.

        Raises:
            PropertyError: the `memory` of a component failed, and there is no `unknown`.
        """
        memories = [_memory_of(c, unknown) for c in self._components]
        return {
            "setpoints": self._setpoints.snapshot(),
            "hold": self._hold.memory(),
            "guard": self._guard.memory(),
            "initial": vars(self._initial).copy(),
            "components": [memory for memory, _ in memories],
            "owned": self._claims,
            "signatures": [signature for _, signature in memories],
            "control": None if self._control is None else self._control.memory(),
        }

    def check_memory(self, memory: Mapping[str, Any]) -> None:
        """Whether `restore` can take it.

        Raises:
            PropertyError: the components, or the actuators they own, differ from then.
        """
        if memory["owned"] != self._claims:
            raise PropertyError(
                f"{self.name}: the snapshot is of the components {listed(memory['owned'])}; "
                f"now they are {listed(self._claims)}"
            )
        for component, then in zip(self._components, memory["signatures"], strict=True):
            if component.full_signature() != then:
                raise PropertyError(
                    f"{component.label}: the snapshot is of another structure: {then}; "
                    f"now it is {component.full_signature()}"
                )

    def restore(self, memory: Mapping[str, Any]) -> None:
        """Restore what `memory` returned, after `check_memory`."""
        self._setpoints.restore(memory["setpoints"])
        was_held = self._hold.pinned is not None
        self._hold.restore(memory["hold"])
        if was_held != (self._hold.pinned is not None):
            self._replan()
        self._guard.restore(memory["guard"])
        self._unsettled = True
        self._setpoints.touch()
        self._initial = ActorState(**memory["initial"])
        for component, own in zip(self._components, memory["components"], strict=True):
            component.take_back(own)
        if self._control is not None:
            self._control.restore(memory["control"])

    def __repr__(self) -> str:
        return (
            f"Articulation({self.name!r}, {len(self.actuator_names)} actuators, "
            f"{len(self._components)} components)"
        )


def _memory_of(component: ActorComponent, unknown: dict[str, str] | None) -> tuple[Any, object]:
    """Memory and signature of a component; None of one that failed."""
    try:
        return component.full_memory(), component.full_signature()
    except Exception as error:  # of a class of another package
        if unknown is None:
            text = f"{component.label}: its memory cannot be read: {described(error)}"
            raise PropertyError(text) from error
        unknown[component.label] = described(error)
        return None, None


# Base ---------------------------------------------------------------------------------------------
# The free base of a robot, and other free bodies of its model: their addresses in qpos.


def base_address(robot: Articulation) -> int | None:
    """qpos address of the free base, or None for a fixed-base robot.

    The base is a free body that the robot's actuators move: a free cube on its table, or in its
    hand, is not one. Of a model without actuators it is the first body, if that is free.
    """
    model, prefix = robot.model, robot.model_map.prefix
    named = [i for i in range(1, model.nbody) if model.body(i).name.startswith(prefix)]
    driven = _driven_roots(robot)
    for body in named[:1] if driven is None else [i for i in named if i in driven]:
        address = _free_address(model, body)
        if address is not None:
            return address
    return None


def _free_address(model: mujoco.MjModel, body: int) -> int | None:
    """qpos address of a free body; None: it is none."""
    joint = int(model.body_jntadr[body])
    is_free = joint >= 0 and model.jnt_type[joint] == int(mujoco.mjtJoint.mjJNT_FREE)
    return int(model.jnt_qposadr[joint]) if is_free else None


def free_addresses(robot: Articulation) -> dict[str, int]:
    """qpos addresses of the free bodies of its model by name; its base is called `base`."""
    model, prefix, base = robot.model, robot.model_map.prefix, base_address(robot)
    found: dict[str, int] = {} if base is None else {"base": base}
    for body in range(1, model.nbody):
        name, address = model.body(body).name, _free_address(model, body)
        if name.startswith(prefix) and address is not None and address != base:
            found[name.removeprefix(prefix)] = address
    return found


def _driven_roots(robot: Articulation) -> set[int] | None:
    """The bodies at the roots of what actuators move; None: there are no actuators."""
    model, data = robot.model, robot.data
    if not robot.actuators:
        return None
    moments = np.zeros((model.nout, model.nv))
    mujoco.mju_sparse2dense(
        moments, data.actuator_moment, data.moment_rownnz, data.moment_rowadr, data.moment_colind
    )
    rows = moments[[b.output_address for b in robot.actuators]]
    bodies = model.dof_bodyid[np.flatnonzero(rows.any(axis=0))]
    return set(model.body_rootid[bodies].tolist())


def base_position(robot: Articulation) -> FloatArray | None:
    """Position of the free base, or None for a fixed-base robot."""
    address = base_address(robot)
    return None if address is None else np.array(robot.data.qpos[address : address + 3])
