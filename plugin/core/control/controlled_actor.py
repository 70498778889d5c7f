"""ControlledActor: components on an actor, the step in which they write its ctrl, telemetry."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.actor_in_world import ActorInWorld
from mjrig.core.control.control_plan import ControlPlan, RobotStep, Write, basis_of, in_a_row
from mjrig.core.control.controller import ArticulationController, claim, owned_by
from mjrig.core.control.execution import Execution
from mjrig.core.control.lowering import Lowered
from mjrig.core.control.native_servo import NativeServo, native_servos
from mjrig.core.control.plant_component import PlantComponent
from mjrig.core.control.sampler import BindingReader
from mjrig.core.control.setpoints import Scratch, Seeds
from mjrig.core.errors import BindingError, NeedsNewWorld
from mjrig.core.model.binding import ActorState, ActuatorBinding, BindingTable, describe_actuators
from mjrig.core.names import unique
from mjrig.core.properties.component import ActorComponent, component_named
from mjrig.core.properties.has_properties import HasProperties

# Telemetry ----------------------------------------------------------------------------------------
# Telemetry of an articulation's bindings in the last step: efforts, positions, velocities.


class Telemetry:
    """Reads one value per binding, joint units (N·m or N, rad or m)."""

    def __init__(
        self,
        table: BindingTable,
        actuators: Sequence[ActuatorBinding],
        controllers: Sequence[ArticulationController],
        data: Any,
    ) -> None:
        self._controllers, self._data = controllers, data
        self._factor = np.array([b.factor for b in table])
        self._ctrl = np.array([b.ctrl_address for b in table], dtype=np.intp)
        self._reader = BindingReader(table, actuators)
        self._place = {b.actuator_id: i for i, b in enumerate(table)}

    def effort(self) -> FloatArray:
        """Effort after the controller's clamps."""
        effort: FloatArray = self._factor * self._data.ctrl[self._ctrl]
        self._overlay(effort, lambda controller: controller.native_effort)
        return effort

    def raw_effort(self) -> FloatArray:
        """Effort as the law computed it, before any clamp."""
        raw = self.effort()
        self._overlay(raw, lambda controller: controller.raw_effort)
        return raw

    def _overlay(
        self, efforts: FloatArray, read: Callable[[ArticulationController], FloatArray | None]
    ) -> None:
        """Write what enabled controllers report at the indices of their actuators."""
        for controller in self._controllers:
            values = read(controller) if controller.enabled else None
            if values is not None:
                efforts[[self._place[b.actuator_id] for b in controller.bindings]] = values

    def applied_effort(self) -> FloatArray:
        """Effort that MuJoCo used, after all of its own limits.

        A joint's actuatorfrcrange limits the sum of its actuators; each takes its share of the cut.
        """
        return self._reader.applied_effort(self._data.actuator_force)

    def position(self) -> FloatArray:
        """qpos of the joint, or actuator length."""
        return self._reader.position(self._data.qpos, self._data.actuator_length)

    def velocity(self) -> FloatArray:
        """qvel of the joint, or actuator velocity."""
        return self._reader.velocity(self._data.qvel, self._data.actuator_velocity)


# Controlled actor ---------------------------------------------------------------------------------
# ControlledActor: components on an actor, and the step in which they write its ctrl.


class ControlledActor(ActorInWorld):
    """An actor with components; `apply_controls` runs before every physics step."""

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
                f"{component.label} already belongs to {component._parent.label}; pass a copy()"
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

    def _trajectory_call(self) -> Write | None:
        """The call that moves the setpoints along a trajectory, or None."""
        return None

    def _standing_commands(self) -> Sequence[Write]:
        """Calls that write setpoints of commands that hold until they are changed."""
        return ()

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
