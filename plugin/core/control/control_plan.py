"""ControlPlan: the calls before every physics step, decided once."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.execution import PlantComponent
from mjrig.core.control.finite_guard import Guard
from mjrig.core.control.lowering import Lowered
from mjrig.core.control.setpoints import LastBytes, Setpoints, direct_writers
from mjrig.core.model.binding import ActuatorBinding, BindingTable
from mjrig.core.properties.component import ActorComponent

Write = Callable[[], object]


class RobotStep(NamedTuple):
    """A step as a function, and its content for a loop that saves the call.

    The content: `act` if `values()` differ from `last.last_bytes`, then all `calls`.
    """

    step: Write
    values: Callable[[], bytes]
    last: LastBytes | Setpoints
    act: Write
    calls: Sequence[Write]

    @classmethod
    def calling(cls, step: Write) -> Self:
        """A step that compares nothing: `bytes()` is always the empty last value."""
        return cls(step, bytes, LastBytes(), step, (step,))


class ControlPlan:
    """The calls that a step of one articulation consists of; rebuilt after every change.

    Args:
        components: components of the actor, in order.
        actuators: all of its actuators.
        trajectory: the call that moves the setpoints along a trajectory, or None.
        commands: calls that write setpoints of commands that hold until they are changed.
    """

    def __init__(
        self,
        components: Sequence[ActorComponent],
        actuators: Sequence[ActuatorBinding],
        setpoints: Setpoints,
        guard: Guard,
        model: Any,
        data: Any,
        trajectory: Write | None = None,
        commands: Sequence[Write] = (),
    ) -> None:
        controllers = [c for c in components if isinstance(c, ArticulationController)]
        others = [c for c in components if not isinstance(c, ArticulationController)]
        working = [c for c in controllers if c.enabled and c.is_bound]
        active = [c for c in working if c.lowered is None]
        self.basis = basis_of(components)
        #: Ids of the actuators whose setpoints are positions of a law.
        self.following = _following_pose(controllers)
        self.table = _table(self.following, actuators)
        #: Calls that write setpoints to the lowered actuators.
        self.native: tuple[Write, ...] = tuple(
            write for c in working if c.lowered is not None for write in c.native_writers()
        )
        driven = {b.actuator_id for c in working for b in c.bindings}
        rest = [b for b in actuators if b.actuator_id not in driven]
        self.direct: tuple[Write, ...] = tuple(direct_writers(setpoints, rest, data.ctrl))
        steps = [c.step_calls(model, data) for c in active]
        #: Whether a law runs here, so that ctrl is written in every step.
        self.is_active = bool(active)
        #: Called before a step whose setpoints differ from the last step's.
        self.on_setpoints: tuple[Write, ...] = tuple(w for c in active for w in c.setpoint_calls())
        # A law writes one input; an actuator that was lowered before has others.
        active_ids = [b.actuator_id for c in active for b in c.bindings]
        has_unwritten_inputs = bool((model.actuator_ctrlnum[active_ids] > 1).any())
        guards_ctrl = bool(active) and all(c.guards_ctrl for c in active)
        #: Whether ctrl must be checked: finite, and not overwritten from outside.
        self.watches_ctrl = not guards_ctrl or has_unwritten_inputs
        hooks = _hooks(components, working, data)
        if trajectory is not None:
            hooks.append(trajectory)
        #: Called in every step, before the setpoints are checked.
        self.before: tuple[Write, ...] = (*hooks, *commands)
        inputs: tuple[Write, ...] = (guard.check_inputs,) if guard.inputs else ()
        # Lowered actuators are written when setpoints or ctrl changed; a law here always does so.
        beside = self.native if active else ()
        #: Called in every step, after the setpoints were checked.
        self.writes = in_a_row([inputs, *steps, beside, self.direct])
        #: Whether a law or component reads what MuJoCo computes inside the step.
        self.needs_position_stage = any(c.between_stages for c in (*active, *others))
        #: Called before the first stage of a step that has two.
        self.before_stages: tuple[Write, ...] = tuple(
            c.take_forces for c in others if isinstance(c, PlantComponent)
        )
        #: Asked before a step how many more may follow in a row; empty: it is always one.
        self.quiet_steps: tuple[Callable[[], int], ...] = ()
        hooked = [c for c in components if _has_hook(c)]
        alone = not active and len(hooks) == len(hooked) and not commands
        if alone and all(type(c).quiet_steps is not ActorComponent.quiet_steps for c in hooked):
            self.quiet_steps = tuple(c.quiet_steps for c in hooked)
        #: Whether no Python code has to run between physics steps.
        self.is_idle = not active and not hooks
        for controller in controllers:
            if controller.lowered is not None:
                _switch(controller.lowered, controller if controller.enabled else None)


def in_a_row(parts: Sequence[Sequence[Write]]) -> Sequence[Write]:
    """All calls in order; a list may change later and is read when called."""
    filled = [part for part in parts if part]
    if len(filled) == 1:
        return filled[0]
    calls: list[Write] = []
    for part in filled:
        calls += [partial(_each, part)] if isinstance(part, list) else part
    return tuple(calls)


def _each(calls: Sequence[Write]) -> None:
    for call in calls:
        call()


def basis_of(components: Sequence[ActorComponent]) -> list[tuple[object, ...]]:
    """What a plan depends on: if it differs, a new plan is needed."""
    found: list[tuple[object, ...]] = []
    for component in components:
        if isinstance(component, ArticulationController):
            is_watching = component.watcher() is not None
            lowered = component.lowered is not None
            found.append((component.enabled, component.num_bindings, lowered, is_watching))
            found.append((component.execution,))
        else:
            found.append((component.between_stages,))
            if isinstance(component, PlantComponent):
                found.append((component.execution,))
    return found


def _following_pose(controllers: Sequence[ArticulationController]) -> set[int]:
    return {b.actuator_id for c in controllers if c.follows_pose for b in c.bindings}


def _table(owned: set[int], actuators: Sequence[ActuatorBinding]) -> BindingTable:
    return BindingTable(
        [b for b in actuators if b.is_bindable or b.actuator_id in owned],
        [b for b in actuators if not b.is_bindable and b.actuator_id not in owned],
    )


def _has_hook(component: ActorComponent) -> bool:
    return type(component).before_controls is not ActorComponent.before_controls


def _hooks(
    components: Sequence[ActorComponent], working: Sequence[ArticulationController], data: Any
) -> list[Write]:
    """What the components do before the controllers, as calls without arguments."""
    hooks: list[Callable[[float], object]] = [c.before_controls for c in components if _has_hook(c)]
    hooks += [watch for c in working if (watch := c.watcher()) is not None]
    return [partial(_call, hook, data) for hook in hooks]


def _call(hook: Callable[[float], object], data: Any) -> None:
    hook(data.time)


def _switch(lowered: Lowered, controller: ArticulationController | None) -> None:
    """Lowered actuators run the law, or pass their feedforward input on."""
    if controller is not None:
        lowered.load(controller.native_form())
    else:
        lowered.drive_directly()
