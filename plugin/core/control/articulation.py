"""Articulation: a robot in the running world, its components, commands, steps and memory."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray, as_slice, read_only
from mjrig.core.control.actor_in_world import ActorInWorld
from mjrig.core.control.control_arrays import Control
from mjrig.core.control.control_plan import ControlPlan, RobotStep, Write, basis_of, in_a_row
from mjrig.core.control.controller import ArticulationController, claim, owned_by
from mjrig.core.control.execution import Execution, PlantComponent
from mjrig.core.control.lowering import Lowered
from mjrig.core.control.native_servo import NativeServo, native_servos
from mjrig.core.control.sampler import Telemetry
from mjrig.core.control.setpoints import (
    KeyframeHold,
    Lease,
    Pinned,
    Scratch,
    Seeds,
    Source,
    Targets,
    row_of,
    takes_rows,
)
from mjrig.core.errors import BindingError, NeedsNewWorld, PropertyError
from mjrig.core.files.paths import shortened
from mjrig.core.model.binding import ActorState, BindingTable, describe_actuators
from mjrig.core.model.keyframes import captured
from mjrig.core.names import listed, unique
from mjrig.core.properties.actions import action
from mjrig.core.properties.component import ActorComponent, component_named
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.hooks import hook_methods
from mjrig.core.properties.registry import described
from mjrig.core.scene.scene_sections import Keyframe

Trajectory = Callable[[float], tuple[npt.ArrayLike | None, ...]]


class Articulation(ActorInWorld):
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

    #: What `apply_controls` calls; replaced after every change of the plan.
    control_step: Write
    robot_step: RobotStep

    def __init__(self, *args: Any, scratch: Scratch | None = None, **more: Any) -> None:
        super().__init__(*args, **more)
        self._on_plan: Callable[[], None] = lambda: None
        self._unsettled = False
        self._components: tuple[ActorComponent, ...] = ()
        first = self._where.ctrl.start
        scratch = scratch or Scratch(self._model)
        self._seeds = Seeds(self._model, self._data, self._described, first, scratch)
        self._initial = self._where.initial
        self._qpos_places = as_slice(self._where.qpos)
        self._dof_places = as_slice(self._where.dof)
        self._trajectory: Trajectory | None = None
        self._control: Control | None = None
        self._hold = KeyframeHold(self._setpoints)
        self._replan()

    # Components ---------------------------------------------------------------------------------

    @property
    def bindings(self) -> BindingTable:
        """The actuators that laws are or can be bound to, and the others, with the reason."""
        return self._plan.table

    @property
    def servos(self) -> tuple[NativeServo, ...]:
        """MuJoCo's own servos that no controller owns, in id order."""
        if self._servos is None:
            self._servos = self._find_servos()
        return self._servos

    @property
    def components(self) -> tuple[ActorComponent, ...]:
        """The components of this actor, in order."""
        return self._components

    @property
    def controllers(self) -> tuple[ArticulationController, ...]:
        """The components that are controllers, in order."""
        return tuple(c for c in self._components if isinstance(c, ArticulationController))

    def children(self) -> list[HasProperties]:
        return list(self._components)

    def part(self, name: str) -> HasProperties:
        return component_named(self, self._components, name)

    def add_component(self, component: ActorComponent, execution: Execution | None = None) -> None:
        """Bind a component and add it to the actor; all or nothing.

        Actuators it takes over are seeded from the current pose; other components keep memory.

        Args:
            component: one that is on no actor yet.
            execution: execution mode of a controller; None: python. `native` needs a model that was
                compiled for it, as `World` does.

        Raises:
            BindingError: it does not fit, or claims an actuator that has an owner.
            PropertyError: a per-actuator value does not fit the actuators.
        """
        if component._parent is not None:
            raise BindingError(
                f"{component.label} already belongs to {component._parent.label}; use a copy"
            )
        role = unique(type(component).__name__, [c._role for c in self._components])
        component.own(self, role, "components")
        before = self._owned()
        try:
            if isinstance(component, ArticulationController) and execution is not None:
                component.expect(execution)
            self._attach(component)
            if execution is not None:
                self._run_as(component, execution)
        except BaseException:
            if isinstance(component, ArticulationController):
                component.unbind()
            component.disown()
            raise
        self._components = (*self._components, component)
        self._replan()
        self._seed(changed=self._owned() ^ before)

    def run_as(self, component: ActorComponent, execution: Execution) -> None:
        """Change a component's execution mode; `native` needs a model compiled for it."""
        self._run_as(component, execution)
        self._replan()

    def _run_as(self, component: ActorComponent, execution: Execution) -> None:
        if isinstance(component, PlantComponent):
            component.run_as(execution)
        if not isinstance(component, ArticulationController):
            return
        component.run_as(execution)
        if execution.name == "native":
            timestep = float(self._model.opt.timestep)
            component.lower(Lowered(self._model, self._data, component.bindings, timestep))

    def remove_component(self, component: ActorComponent) -> None:
        """Remove a component; the actuators it owned are then driven directly.

        Raises:
            BindingError: it is not on this actor.
        """
        if component not in self._components:
            raise BindingError(f"{component!r} is not a component of {self.name!r}")
        before = self._owned()
        self._components = tuple(c for c in self._components if c is not component)
        component.detach()
        if isinstance(component, ArticulationController):
            component.unbind()
        component.disown()
        self._replan()
        self._seed(changed=self._owned() ^ before)

    def _attach(self, component: ActorComponent) -> None:
        if isinstance(component, ArticulationController):
            self._check_overlap(component)
            component._host = self
            component.bind(self._model, self._data, self._where.actuator_ids.tolist())
        component.attach(self)
        if not isinstance(component, ArticulationController):  # which binds itself again
            component.mark_attached()

    def _check_overlap(self, newcomer: ArticulationController) -> None:
        if not (others := [c for c in self.controllers if c is not newcomer]):
            return
        claimed = {b.actuator_id for b in newcomer.select(self._described, self.label)}
        claimants = [*self._components, newcomer]
        for other in others:
            for binding in (b for b in other.bindings if b.actuator_id in claimed):
                both = f"{claim(claimants, other)} and {claim(claimants, newcomer)}"
                raise BindingError(
                    f"{self.name}: actuator {binding.actuator!r} is claimed by {both}; "
                    "make the patterns disjoint"
                )

    def _child_changed(self, child: HasProperties) -> None:
        """A component's properties changed: plan again if that changes the calls.

        Raises:
            NeedsNewWorld: a structural property changed, and the component did not rebind.
        """
        if isinstance(child, ActorComponent) and (names := child.outdated_structure()):
            raise NeedsNewWorld(
                f"{child.label}.{names[0]}: cannot be changed in a running world; edit the scene "
                "and build a new World",
                names[:1],
            )
        if child in self._components and basis_of(self._components) != self._plan.basis:
            self._replan()

    def rebind(self, controller: ArticulationController) -> None:
        """Bind a controller again after a structural change; all or nothing.

        Raises:
            BindingError: the new patterns do not fit.
        """
        before = self._owned()
        self._check_overlap(controller)
        controller.bind(self._model, self._data, self._where.actuator_ids.tolist())
        python = controller.supports()["python"]
        if controller.lowered is None and not python.available:
            raise NeedsNewWorld(f"{controller.label}: {python.reason}: it needs a new world")
        self._replan()
        self._seed(changed=self._owned() ^ before)

    def _owned(self) -> set[int]:
        return {b.actuator_id for c in self.controllers for b in c.bindings}

    def describe_again(self, actuator_ids: Collection[int]) -> None:
        """Read ranges and gains of actuators that no controller owns from the model again."""
        ids, where = sorted(actuator_ids), self._where
        new = {b.actuator_id: b for b in describe_actuators(self._model, ids, where.prefix)}
        for k, before in enumerate(self._described):
            if before.actuator_id in new:
                now = new[before.actuator_id]
                self._described[k] = replace(
                    before, gear=now.gear, ctrl_range=now.ctrl_range, force_range=now.force_range
                )
        self._replan()

    # The plan -----------------------------------------------------------------------------------

    def _replan(self) -> None:
        """Build the plan; afterwards `apply_controls` only executes it."""
        self._plan = plan = ControlPlan(
            self._components,
            self._described,
            self._setpoints,
            self._guard,
            self._model,
            self._data,
            trajectory=self._trajectory_call(),
            commands=self._standing_commands(),
        )
        calls = plan.writes
        self._guard.owned(plan.following)
        if plan.watches_ctrl:
            self._guard.keep_good_ctrl()
            calls = in_a_row([plan.writes, (self._watch,)])
        self.robot_step = self._robot_step(plan.before, calls)
        self.control_step = self.robot_step.step
        self._claims = [owned_by(c) for c in self._components]
        # Made from the plan when somebody looks.
        self._read_by: Telemetry | None = None
        self._servos: tuple[NativeServo, ...] | None = None
        self._setpoints.touch()
        self._on_plan()

    @property
    def _telemetry(self) -> Telemetry:
        if self._read_by is None:
            table, controllers = self._plan.table, self.controllers
            self._read_by = Telemetry(table, self._described, controllers, self._data)
        return self._read_by

    def _find_servos(self) -> tuple[NativeServo, ...]:
        owned, natives = self._owned(), self._where.natives
        free = [b for b in self._described if b.actuator_id not in owned]
        kinds = {b.actuator: natives.kind(b.actuator) for b in free}
        return native_servos(self._model, self._data, free, natives.now, kinds)

    def when_planned(self, call: Callable[[], None]) -> None:
        """Register a function to be called whenever the calls between steps change."""
        self._on_plan = call

    @property
    def needs_position_stage(self) -> bool:
        """Whether a law or component reads what MuJoCo computes inside the step."""
        return self._plan.needs_position_stage

    @property
    def before_stages(self) -> tuple[Write, ...]:
        """Called before the first stage of a step that has two."""
        return self._plan.before_stages

    @property
    def is_idle(self) -> bool:
        """Whether no Python code has to run between physics steps."""
        return self._plan.is_idle

    @property
    def is_quiet(self) -> bool:
        """Whether a step is empty as long as neither setpoints nor ctrl change."""
        return self._plan.is_idle and not self._plan.before

    @property
    def quiet_steps(self) -> tuple[Callable[[], int], ...]:
        """Asked before a step how many more may follow in a row; empty: it is always one."""
        return self._plan.quiet_steps

    # One step -----------------------------------------------------------------------------------

    def apply_controls(self) -> None:
        """Write the ctrl of every actuator: the hold, then the controllers, then the rest."""
        self.control_step()

    def _robot_step(self, before: Sequence[Write], calls: Sequence[Write]) -> RobotStep:
        """`apply_controls` as one function, with as few name lookups as possible."""
        setpoints, take = self._setpoints, self._take_setpoints
        values = setpoints.flat.tobytes

        def step() -> None:
            for prepare in before:
                prepare()
            if values() != setpoints.last_bytes:
                take()
            for write in calls:
                write()

        if before:  # they may write setpoints, so nothing can be compared first
            return RobotStep.calling(step)
        return RobotStep(step, values, setpoints, take, calls)

    def _take_setpoints(self) -> None:
        """Setpoints changed: check them and write them to the lowered actuators."""
        self._guard.check_setpoints()
        self._setpoints.changed()  # after repairs, which would be another change in the next step
        for write in (*self._plan.on_setpoints, *self._plan.native):
            write()
        if self._unsettled:
            self._settle()
        if self._plan.native:
            self._guard.keep_ctrl()

    def _settle(self) -> None:
        """The state was replaced: fix the memory of the lowered laws."""
        lowered = [(c.lowered, c.enabled) for c in self.controllers if c.lowered is not None]
        for law, enabled in lowered:
            if enabled:
                law.settle()
        self._unsettled = not all(enabled for _, enabled in lowered)

    def _watch(self) -> None:
        """Ctrl must be finite, and lowered actuators must have their setpoints."""
        now = self._ctrl.tobytes()
        if now == self._guard.ctrl:
            return
        self._guard.check_ctrl(now)
        if self._plan.native and not self._plan.is_active:  # it was written to from outside
            for write in (*self._plan.native, *self._plan.direct):
                write()
            self._guard.keep_ctrl()

    def prime(self) -> None:
        """Write the seeded setpoints to the lowered actuators, before forces are read."""
        for write in self._plan.native:
            write()
        for controller in self.controllers:
            if controller.lowered is not None and controller.lowered.awaits_command:
                controller.lowered.prefill()

    # Seeding ------------------------------------------------------------------------------------

    @property
    def followers(self) -> frozenset[str]:
        """The actuators whose position setpoint a law follows."""
        ids = self._plan.following
        return frozenset(b.actuator for b in self._described if b.actuator_id in ids)

    def wanted_positions(self) -> dict[str, float]:
        """The coordinate or length that each actuator is told to go to, where it is told one."""
        return self._seeds.wanted(self._setpoints.values[0], self._plan.following)

    def ask_for(self, wanted: Mapping[str, float]) -> frozenset[str]:
        """Setpoints at rest that ask for these positions; returns of which actuators."""
        rows = self._setpoints.values
        asking = self._seeds.asking(wanted, self._plan.following)
        good = self._guard.setpoints.reshape(rows.shape)
        for column, value in asking.items():
            rows[:, column] = good[:, column] = (value, 0.0, 0.0)
        return frozenset(self._setpoints.names[column] for column in asking)

    def seed(self, actuators: Collection[str]) -> None:
        """Setpoints of these actuators from the present pose, as if they had just been bound."""
        self._seed({b.actuator_id for b in self._described if b.actuator in actuators})

    def _seed(self, changed: set[int] | None = None) -> None:
        """Setpoints from the pose; `changed` limits it to those actuator ids."""
        seeds = self._seeds.rows(self._data.qpos, self._initial.ctrl, self._plan.following)
        good = self._guard.setpoints.reshape(seeds.shape)
        if changed is None:
            self._setpoints.values[:] = good[:] = seeds
            return
        single = [b for b in self._described if b.output_count == 1]
        for column, binding in enumerate(single):
            if binding.actuator_id in changed:
                self._setpoints.values[:, column] = good[:, column] = seeds[:, column]

    def _seed_inputs(self, state: ActorState) -> None:
        for name, values in self._seeds.inputs(state).items():
            self._setpoints.input_values[name][:] = self._guard.inputs[name][:] = values

    def _keyframe_setpoints(self, state: ActorState) -> FloatArray:
        qpos = self._data.qpos.copy()
        qpos[self._where.qpos] = state.qpos
        return self._seeds.rows(qpos, state.ctrl, self._plan.following).reshape(-1)

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

        A joint's actuatorfrcrange limits the sum of all actuator forces at the joint: also those
        of tendons, sites and bodies, and gravity compensation with `actuatorgravcomp`. If the sum
        is cut, all are scaled by one factor, so that each has its share of the cut; else this is
        gear · actuator_force. The sum itself is `data.qfrc_actuator`.
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
