"""Articulation: one robot in the world, its actuators, components and setpoints."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.control.control import Control
from mjrig.control.controller import ArticulationController
from mjrig.control.events import Event, EventLog
from mjrig.control.execution import Execution
from mjrig.control.finite_guard import Guard
from mjrig.control.keyframe_hold import KeyframeHold, Pinned
from mjrig.control.live_actuator import LiveActuator
from mjrig.control.lowering import Lowered
from mjrig.control.passthrough_writers import row_of, takes_rows
from mjrig.control.plan import ControlPlan, basis_of, following_pose
from mjrig.control.seeding import Scratch, Seeds
from mjrig.control.sensors import read_sensors
from mjrig.control.setpoints import Lease, Setpoints, Source, Targets
from mjrig.control.telemetry import Telemetry
from mjrig.errors import BindingError, PropertyError
from mjrig.files.paths import Gate
from mjrig.model.actor_model import ActorModel, ActorState
from mjrig.model.binding import ActuatorBinding, BindingTable, describe_actuators
from mjrig.model.keyframes import captured
from mjrig.names import Slots, listed, suggestion, unique
from mjrig.properties.actions import action
from mjrig.properties.component import ActorComponent, component_named
from mjrig.properties.properties import HasProperties
from mjrig.scene.actor import Keyframe

Trajectory = Callable[[float], tuple[npt.ArrayLike | None, ...]]


class Articulation(HasProperties):
    """The actor in a running world.

    `bindings` are the actuators a law can be bound to; `actuator_names` all single-output ones, in
    id order, and the order of the setpoint arrays. Made by `World`, never by hand.
    """

    # Nobody assigns properties here, and the hot path pays for each look at a name.
    __setattr__ = object.__setattr__  # type: ignore[assignment]

    def __init__(
        self,
        where: ActorModel,
        model: Any,
        data: Any,
        events: EventLog,
        folder: Path = Path(),
        gate: Gate | None = None,
        described: Sequence[ActuatorBinding] | None = None,
        scratch: Scratch | None = None,
    ) -> None:
        super().__init__()
        self._on_plan: Callable[[], None] = lambda: None
        self._folder, self._gate = folder, gate
        self._where, self._model, self._data, self._events = where, model, data, events
        self._described = list(
            described
            if described is not None
            else describe_actuators(model, where.actuator_ids.tolist(), where.prefix, where.aliases)
        )
        self._unsettled = False
        self._trajectory: Trajectory | None = None
        self._control: Control | None = None
        self._sensors: Mapping[str, FloatArray] | None = None
        self._components: tuple[ActorComponent, ...] = ()
        single = [b for b in self._described if b.output_count == 1]
        inputs = {b.actuator: b.ctrl_count for b in self._described if not takes_rows(b)}
        self._setpoints = Setpoints(
            Slots([b.names for b in single], self.label), inputs, self.label
        )
        self._hold = KeyframeHold(self._setpoints)
        self._ctrl = data.ctrl[where.ctrl]
        self._guard = Guard(self.label, self._described, self._setpoints, data, where.ctrl, events)
        scratch = scratch or Scratch(model)
        self._seeds = Seeds(model, data, self._described, where.ctrl.start, scratch)
        self._initial = self._where.initial
        self._replan()

    # What it is ---------------------------------------------------------------------------------

    @property
    def label(self) -> str:
        return self._where.name

    @property
    def name(self) -> str:
        """The actor's name."""
        return self._where.name

    @property
    def model(self) -> Any:
        """The world's MjModel."""
        return self._model

    @property
    def data(self) -> Any:
        """The world's MjData."""
        return self._data

    @property
    def model_map(self) -> ActorModel:
        """Addresses of this actor in the world's model."""
        return self._where

    @property
    def actuators(self) -> tuple[ActuatorBinding, ...]:
        """Every actuator, bound or not, in id order."""
        return tuple(self._described)

    @property
    def actuator_names(self) -> tuple[str, ...]:
        """Local names of all single-output actuators, in id order."""
        return self._setpoints.names

    def actuator(self, name: str) -> LiveActuator:
        """One actuator by local name, what a person called it, or its joint: what it does now.

        Raises:
            BindingError: there is none, or there are several, of that name.
        """
        found = [b for b in self._described if b.actuator == name]
        found = found or [b for b in self._described if name in b.names]
        if len(found) != 1:
            names = [n for b in self._described for n in b.names]
            hint = listed(b.actuator for b in found) if found else suggestion(name, names)
            many = "several actuators" if found else "no actuator"
            raise BindingError(f"{self.name} has {many} {name!r}; {hint}")
        return LiveActuator(self._model, self._data, found[0])

    @property
    def sensors(self) -> Mapping[str, FloatArray]:
        """Every sensor by local name: a read-only view of what it reads."""
        if self._sensors is None:
            self._sensors = MappingProxyType(read_sensors(self._model, self._data, self._where))
        return self._sensors

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Local names of all joints, in id order."""
        kind = mujoco.mjtObj.mjOBJ_JOINT
        names = (mujoco.mj_id2name(self._model, kind, i) or "" for i in self._where.joint_ids)
        return tuple(str(n).removeprefix(self._where.prefix) for n in names)

    @property
    def keyframes(self) -> tuple[str, ...]:
        """Local names of the keyframes, of the model and of the scene."""
        return tuple(self._where.keyframes)

    @property
    def bindings(self) -> BindingTable:
        """The actuators a law is or can be bound to, and those it cannot, with the reason."""
        return self._plan.table

    @property
    def components(self) -> tuple[ActorComponent, ...]:
        """What hangs on this actor, in order."""
        return self._components

    @property
    def controllers(self) -> tuple[ArticulationController, ...]:
        """The components that are controllers, in order."""
        return tuple(c for c in self._components if isinstance(c, ArticulationController))

    @property
    def setpoints(self) -> Setpoints:
        """What is commanded."""
        return self._setpoints

    def describe(self, actuator_ids: Iterable[int]) -> list[ActuatorBinding]:
        """The actuators of those ids, in id order."""
        wanted = set(actuator_ids)
        return [b for b in self._described if b.actuator_id in wanted]

    def children(self) -> list[HasProperties]:
        return list(self._components)

    def folder(self) -> Path:
        return self._folder

    def gate(self) -> Gate | None:
        return self._gate

    def part(self, name: str) -> HasProperties:
        return component_named(self, self._components, name)

    # Components ---------------------------------------------------------------------------------

    def add_component(self, component: ActorComponent, execution: Execution | None = None) -> None:
        """Bind a component and hang it on the actor; all or nothing.

        What it takes over is seeded from the current pose; the other components keep their memory.

        Args:
            component: an own one, not on any actor.
            execution: how a controller runs; None: in python. `native` needs a model that was
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
            self._attach(component)
            if isinstance(component, ArticulationController) and execution is not None:
                self._run_as(component, execution)
        except BaseException:
            if isinstance(component, ArticulationController):
                component.unbind()
            component.disown()
            raise
        self._components = (*self._components, component)
        self._replan()
        self._seed(changed=self._owned() ^ before)

    def run_as(self, controller: ArticulationController, execution: Execution) -> None:
        """Change how a controller runs; `native` needs a model that was compiled for it."""
        self._run_as(controller, execution)
        self._replan()

    def _run_as(self, controller: ArticulationController, execution: Execution) -> None:
        controller.run_as(execution)
        if execution.name == "native":
            timestep = float(self._model.opt.timestep)
            controller.lower(Lowered(self._model, self._data, controller.bindings, timestep))

    def remove_component(self, component: ActorComponent) -> None:
        """Take a component off; what it owned is driven directly from then on.

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

    def _check_overlap(self, newcomer: ArticulationController) -> None:
        claimed = {b.actuator_id for b in newcomer.select(self._described, self.label)}
        claimants = [*self._components, newcomer]
        for other in self.controllers:
            for binding in other.bindings:
                if binding.actuator_id in claimed and other is not newcomer:
                    raise BindingError(
                        f"{self.name}: actuator {binding.actuator!r} is claimed by "
                        f"{_claim(claimants, other)} and {_claim(claimants, newcomer)}; "
                        "make the patterns disjoint"
                    )

    def _child_changed(self, child: HasProperties) -> None:
        """A component's properties changed: plan again if that changes who writes what."""
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
            raise BindingError(f"{controller.label}: {python.reason}: it needs a new world")
        self._replan()
        self._seed(changed=self._owned() ^ before)

    def _owned(self) -> set[int]:
        return {b.actuator_id for c in self.controllers for b in c.bindings}

    def _replan(self) -> None:
        """Decide who writes what; afterwards `apply_controls` only executes."""
        commands: list[Callable[[], object]] = []
        if self._control is not None:
            commands.append(self._control.push)
        if self._hold.pinned is not None:
            commands.append(self._hold)
        self._plan = plan = ControlPlan(
            self._components,
            self._described,
            self._setpoints,
            self._guard,
            self._model,
            self._data,
            trajectory=None if self._trajectory is None else self._follow_now,
            commands=commands,
        )
        self._calls_before, self._calls = plan.before, plan.writes
        if plan.watches_ctrl:
            self._guard.keep_good_ctrl()
            self._calls = (*plan.writes, self._watch_ctrl)
        self._telemetry = Telemetry(plan.table, self.controllers, self._data)
        self._claims = [_owns(c) for c in self._components]
        self._setpoints.touch()
        self._on_plan()

    def when_planned(self, call: Callable[[], None]) -> None:
        """Have a call made whenever what runs between the steps changes."""
        self._on_plan = call

    @property
    def needs_position_stage(self) -> bool:
        """Whether a law or component reads what MuJoCo computes inside the step."""
        return self._plan.needs_position_stage

    @property
    def is_idle(self) -> bool:
        """Whether nothing of ours has to run between physics steps."""
        return self._plan.is_idle

    # One step -----------------------------------------------------------------------------------

    def apply_controls(self) -> None:
        """Write the ctrl of every actuator: the hold, then the controllers, then the rest."""
        for prepare in self._calls_before:
            prepare()
        if self._setpoints.changed():
            self._take_setpoints()
        for write in self._calls:
            write()

    def _take_setpoints(self) -> None:
        """Setpoints changed: check them, and hand them to what MuJoCo runs itself."""
        self._guard.check_setpoints()
        for write in self._plan.native:
            write()
        if self._unsettled:
            self._settle()
        if self._plan.native:
            self._guard.keep_ctrl()

    def _settle(self) -> None:
        """The state is another one: what MuJoCo remembers of the laws it runs is made right."""
        lowered = [(c.lowered, c.enabled) for c in self.controllers if c.lowered is not None]
        for law, enabled in lowered:
            if enabled:
                law.settle()
        self._unsettled = not all(enabled for _, enabled in lowered)

    def _watch_ctrl(self) -> None:
        """Ctrl must be finite, and what MuJoCo runs itself must have its setpoints."""
        now = self._ctrl.tobytes()
        if now == self._guard.ctrl:
            return
        self._guard.check_ctrl(now)
        plan = self._plan
        if plan.native and not plan.is_active:  # it was written to from outside
            for write in (*plan.native, *plan.direct):
                write()
            self._guard.keep_ctrl()

    def report_non_finite(self, binding: ActuatorBinding) -> None:
        """Note that an effort was not finite, and that the last finite ctrl is held."""
        self._guard.report_non_finite(binding)

    def report(self, kind: str, message: str, *, joint: str = "") -> None:
        """Note something that happened to this actor."""
        self._events.add(Event(float(self._data.time), self.name, kind, "", joint, message))

    # Commands -----------------------------------------------------------------------------------

    def set_targets(
        self, position: Targets = None, *, velocity: Targets = None, feedforward: Targets = None
    ) -> None:
        """Command actuators: mappings from joint or actuator pattern to value, or whole arrays.

        Raises:
            LeaseError: somebody holds one of them; the message names the holder.
            BindingError: a pattern matches nothing; the message names the nearest valid name.
        """
        if self._control is not None:
            self._control.push()  # what was written there came first
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
            LeaseError: somebody else holds one of them.
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
        """Who commands now."""
        return self._setpoints.source

    @action
    def hold(self, keyframe: str) -> None:
        """Pin the setpoints at a keyframe's pose until released; no state is injected.

        The hold goes through the controllers and wins over every other command.
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
        """The keyframe that is held, or empty."""
        return self._hold.pinned.keyframe if self._hold.pinned is not None else ""

    @action
    def clear(self) -> None:
        """Zero velocities and feedforward; return positions to the pose of the last reset.

        Raises:
            LeaseError: somebody holds an actuator.
        """
        self._setpoints.check_inputs_free()
        for row, values in enumerate(self._keyframe_setpoints(self._initial).reshape(3, -1)):
            self._setpoints.write_columns(row, range(len(self.actuator_names)), values)
        self._seed_inputs(self._initial)
        if self._control is not None:
            self._control.clear()

    def keyframe(self, name: str) -> ActorState:
        """A keyframe of this actor by local name, at the actor's own place.

        Raises:
            BindingError: there is none of that name.
        """
        if name not in self._where.keyframes:
            hint = suggestion(name, self._where.keyframes)
            raise BindingError(f"{self.name} has no keyframe {name!r}; {hint}")
        return self._where.keyframes[name]

    def capture(self, name: str) -> Keyframe:
        """The present state as a keyframe, to keep with the scene: `actor.add_keyframe(...)`.

        It has the joints, the velocities that are not zero, the activations, and what the actuators
        that no law drives are commanded. Free joints of an actor that does not stand at the origin
        are given in the world (`absolute`): not a bit is lost on the way.
        """
        lowered = {
            b.actuator for c in self.controllers if c.lowered is not None for b in c.bindings
        }
        return captured(
            name, self._model, self._data, self._where, self._direct_commands(), lowered
        )

    def _direct_commands(self) -> dict[str, FloatArray]:
        """What the actuators are commanded whose setpoints do not follow the pose."""
        found: dict[str, FloatArray] = {}
        following = following_pose(self.controllers)
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

    def follow(self, trajectory: Trajectory | None) -> None:
        """Let a function of time give the setpoints from now on; None: no longer.

        It is asked before every step, and at every stage of one where a lowered law runs under
        RK4. It returns position, velocity and feedforward over `actuator_names`; None leaves a row
        as it is.

        Raises:
            ValueError: it returns something else for the present time.
            LeaseError: somebody holds an actuator.
        """
        if trajectory is not None:
            self._write_trajectory(trajectory, float(self._data.time))
        self._trajectory = trajectory
        self._replan()

    def _follow_now(self) -> None:
        if self._trajectory is not None:
            self._write_trajectory(self._trajectory, self._data.time)

    def _write_trajectory(self, trajectory: Trajectory, time: float) -> None:
        rows = trajectory(time)
        if len(rows) != 3:
            raise ValueError(
                f"{self.name}: a trajectory gives position, velocity and feedforward, "
                f"got {len(rows)} values"
            )
        self._setpoints.write(*rows)

    def follow_stage(self, time: float) -> None:
        """Ask the trajectory in the middle of a step, for what MuJoCo runs itself."""
        if self._trajectory is not None:
            self._write_trajectory(self._trajectory, time)
            self._hold()
            if self._setpoints.changed():
                self._take_setpoints()

    @property
    def follows_stages(self) -> bool:
        """Whether a trajectory moves the setpoints of lowered laws."""
        return self._trajectory is not None and bool(self._plan.native)

    # Reset and seeding --------------------------------------------------------------------------

    def put(self, state: ActorState) -> None:
        """Write this actor's share of the state; nothing of any other actor."""
        where, data = self._where, self._data
        data.qpos[where.qpos] = state.qpos
        data.qvel[where.dof] = state.qvel
        data.act[where.act] = state.act
        self._ctrl[:] = 0.0 if state.ctrl is None else np.nan_to_num(state.ctrl)
        data.mocap_pos[where.mocap] = state.mocap_pos
        data.mocap_quat[where.mocap] = state.mocap_quat
        self._initial = state

    def reset(self) -> None:
        """Forget controller memory and holds; seed the setpoints from the state just put."""
        self.release_hold()
        self._setpoints.touch()
        self._unsettled = True
        self._seed()
        self._seed_inputs(self._initial)
        self._guard.keep_ctrl()
        if self._control is not None:
            self._control.reset(self._initial.qpos)
        for component in self._components:
            component.reset()

    def prime(self) -> None:
        """Hand the seeded setpoints to what MuJoCo runs itself, before anybody looks at forces."""
        for write in self._plan.native:
            write()

    def _seed(self, changed: set[int] | None = None) -> None:
        """Setpoints from the pose; `changed` limits it to those actuator ids."""
        seeds = self._seeds.rows(
            self._data.qpos, self._initial.ctrl, following_pose(self.controllers)
        )
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
        return self._seeds.rows(qpos, state.ctrl, following_pose(self.controllers)).reshape(-1)

    # Telemetry ----------------------------------------------------------------------------------

    @property
    def effort(self) -> FloatArray:
        """Effort per binding after our clamps, joint units (N·m or N)."""
        return self._telemetry.effort()

    @property
    def raw_effort(self) -> FloatArray:
        """Effort per binding as the law computed it, before any clamp, joint units."""
        return self._telemetry.raw_effort()

    @property
    def applied_effort(self) -> FloatArray:
        """Effort per binding that MuJoCo used in the last step, after all of its own limits.

        A joint's actuatorfrcrange limits the sum of its actuators; each takes its share of the cut.
        """
        return self._telemetry.applied_effort()

    @property
    def position(self) -> FloatArray:
        """Position per binding: qpos of the joint, or actuator length."""
        return self._telemetry.position()

    @property
    def velocity(self) -> FloatArray:
        """Velocity per binding."""
        return self._telemetry.velocity()

    # Snapshots ----------------------------------------------------------------------------------

    def memory(self) -> dict[str, Any]:
        """What `restore` needs to continue bit-exactly, beyond MuJoCo's own state."""
        return {
            "setpoints": self._setpoints.snapshot(),
            "hold": self._hold.memory(),
            "guard": self._guard.memory(),
            "initial": self._initial,
            "components": [c.memory() for c in self._components],
            "owned": self._claims,
            "signatures": [c.memory_signature() for c in self._components],
            "control": None if self._control is None else self._control.memory(),
        }

    def check_memory(self, memory: Mapping[str, Any]) -> None:
        """Whether `restore` can take it.

        Raises:
            PropertyError: the components are or own others than then.
        """
        if memory["owned"] != self._claims:
            raise PropertyError(
                f"{self.name}: the snapshot is of the components {listed(memory['owned'])}; "
                f"now they are {listed(self._claims)}"
            )
        for component, then in zip(self._components, memory["signatures"], strict=True):
            if component.memory_signature() != then:
                raise PropertyError(
                    f"{component.label}: the snapshot is of another structure: {then}; "
                    f"now it is {component.memory_signature()}"
                )

    def restore(self, memory: Mapping[str, Any]) -> None:
        """Take back what `memory` returned, after `check_memory`."""
        self._setpoints.restore(memory["setpoints"])
        if memory["hold"] is not self._hold.pinned:
            self._hold.restore(memory["hold"])
            self._replan()
        self._guard.restore(memory["guard"])
        self._unsettled = True
        self._setpoints.touch()
        self._initial = memory["initial"]
        for component, own in zip(self._components, memory["components"], strict=True):
            component.restore(own)
        if self._control is not None:
            self._control.restore(memory["control"])

    def __repr__(self) -> str:
        return (
            f"Articulation({self.name!r}, {len(self.actuator_names)} actuators, "
            f"{len(self._components)} components)"
        )


def _owns(component: ActorComponent) -> str:
    if not isinstance(component, ArticulationController):
        return component._role
    return f"{component._role} ({', '.join(b.actuator for b in component.bindings)})"


def _claim(claimants: list[ActorComponent], controller: ArticulationController) -> str:
    patterns = ", ".join(map(repr, controller.actuators))
    index = claimants.index(controller)
    return f"components[{index}] {type(controller).__name__} ({patterns})"
