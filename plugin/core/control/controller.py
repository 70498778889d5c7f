"""ArticulationController: the base class of controllers, which turn setpoints into ctrl."""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.control.efforts import EffortLog, SeenEfforts
from mjrig.core.control.execution import Execution, Support
from mjrig.core.control.lowering import Lowered, NativeForm
from mjrig.core.control.setpoints import Setpoints, Source, UntrackedSetpoints
from mjrig.core.errors import BindingError
from mjrig.core.model.binding import ActuatorBinding, BindingTable, describe_actuators
from mjrig.core.names import is_literal
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.patterns import Slots
from mjrig.core.properties.component import ActorComponent
from mjrig.core.properties.has_properties import put_back
from mjrig.core.properties.hooks import check_filled, hook_methods, required
from mjrig.core.properties.per_actuator import authored, resolved
from mjrig.core.properties.scalar_kinds import Bool, Choice, Patterns

# Control host -------------------------------------------------------------------------------------


class Rebindable(Protocol):
    """What a host has to know of a controller to bind it again."""

    _host: Any

    def bind(self, model: Any, data: Any, actuator_ids: Iterable[int]) -> None: ...


class ControlHost(Protocol):
    """What a controller needs from its host: an articulation, or a bare model."""

    @property
    def label(self) -> str: ...
    @property
    def setpoints(self) -> Setpoints: ...
    def describe(self, actuator_ids: Iterable[int]) -> list[ActuatorBinding]: ...
    def rebind(self, controller: Any) -> None: ...
    def report_non_finite(self, binding: ActuatorBinding) -> None: ...


class Unbound:
    """The host of a controller that is not bound yet."""

    def __init__(self, label: str) -> None:
        self.label = label

    @property
    def setpoints(self) -> Setpoints:
        """There are none.

        Raises:
            BindingError: always.
        """
        raise BindingError(f"{self.label} is not bound: put it on an actor, or bind it")

    def describe(self, actuator_ids: Iterable[int]) -> list[ActuatorBinding]:
        """There are none."""
        return []

    def rebind(self, controller: Rebindable) -> None:
        """Nothing to bind again."""

    def report_non_finite(self, binding: ActuatorBinding) -> None:
        """Ignored: there is no event log."""


class BareModel:
    """A host for a controller bound to an MjModel without an articulation."""

    def __init__(self, model: Any, data: Any, actuator_ids: Iterable[int]) -> None:
        self.label = "model"
        self._model, self._data = model, data
        self._found = describe_actuators(model, actuator_ids)
        single = [b for b in self._found if b.output_count == 1]
        slots = Slots([b.names for b in single], "model")
        self.setpoints: Setpoints = UntrackedSetpoints(slots, owner="model")
        for i, binding in enumerate(single):
            self.setpoints.position[i] = (
                data.qpos[binding.qpos_address]
                if binding.on_joint
                else data.actuator_length[binding.output_address]
            )

    def describe(self, actuator_ids: Iterable[int]) -> list[ActuatorBinding]:
        """The actuators of those ids."""
        wanted = set(actuator_ids)
        return [b for b in self._found if b.actuator_id in wanted]

    def rebind(self, controller: Rebindable) -> None:
        """Bind again after a structural change."""
        controller._host = self  # not a new one, which would have its own setpoints
        try:
            controller.bind(self._model, self._data, [b.actuator_id for b in self._found])
        finally:
            controller._host = None

    def report_non_finite(self, binding: ActuatorBinding) -> None:
        """Ignored: a bare model has no event log."""


# Controller ---------------------------------------------------------------------------------------


EVERYTHING = (".*",)


class Transmissions(StrEnum):
    """Which transmissions a law may run on."""

    JOINT = "joint"
    ALL = "all"


class ArticulationController(ActorComponent):
    """Owns some actuators of an articulation and writes their ctrl before every physics step.

    A subclass implements `compute_and_apply`; `on_bind` is the place to prepare arrays. Bound,
    `bindings` are the actuators it owns and `columns` their indices in the setpoint arrays.
    """

    enabled = Bool(True, doc="Run the control law; off: setpoints go directly to the actuators.")
    actuators = Patterns(
        EVERYTHING,
        structural=True,
        refers=("actuator", "joint"),
        doc="Actuators it owns, as patterns of actuator or joint names, matched in full.",
    )
    allow_non_motor = Bool(
        False,
        structural=True,
        category="Binding",
        doc="Also own actuators that are not motors, if they are named literally.",
    )
    transmissions = Choice(
        Transmissions.JOINT,
        structural=True,
        category="Binding",
        doc="all: also run on tendons, sites and slider-cranks, on actuator length and velocity.",
    )

    #: Whether its setpoints are positions, seeded from the pose, rather than raw commands.
    follows_pose: ClassVar[bool] = True

    _host: ControlHost | None
    _lowered: Lowered | None
    _bound_to: ControlHost
    _bound_as: tuple[object, ...]
    _table: BindingTable
    _columns: npt.NDArray[np.intp]

    def prepare(self) -> None:
        self._host = None
        self._lowered = None
        self._execution = Execution("python", "the default")
        self._bound_to = Unbound(type(self).__name__)
        self._bound_as = ()
        self._table = BindingTable()
        self._columns = np.empty(0, dtype=np.intp)

    # Binding ------------------------------------------------------------------------------------

    @pattern_budget()
    def select(self, candidates: Sequence[ActuatorBinding], owner: str) -> BindingTable:
        """Split candidates into what this controller owns and what it matches but skips.

        Raises:
            BindingError: a pattern matches nothing, or a literal name cannot be bound.
        """
        owned: dict[int, ActuatorBinding] = {}
        skipped: dict[int, ActuatorBinding] = {}
        for number, pattern in enumerate(self.actuators):
            at = () if isinstance(self._authored.get("actuators"), str) else (number,)
            is_name = is_literal(pattern)
            for i in self._matches(candidates, owner, pattern, at):
                binding = candidates[i]
                literal = is_name or pattern in binding.names
                if self._may_own(binding, literal):
                    owned[i] = binding
                elif literal:
                    raise BindingError(
                        f"{self.label}: {binding.actuator!r} {binding.skip_reason}; "
                        f"{_remedy(binding)}",
                        ("actuators",),
                        at=at,
                    )
                else:
                    skipped[i] = binding
        return BindingTable(owned.values(), [b for i, b in skipped.items() if i not in owned])

    def _matches(
        self, candidates: Sequence[ActuatorBinding], owner: str, pattern: str, at: tuple[int, ...]
    ) -> Sequence[int]:
        if self.actuators == EVERYTHING:  # the default may match nothing
            return range(len(candidates))
        try:
            return Slots([b.names for b in candidates], owner).match(pattern)
        except BindingError as error:
            text = f"{self.label}.actuators: {error}"
            raise BindingError(text, ("actuators",), at=at) from None

    def _may_own(self, binding: ActuatorBinding, literal: bool) -> bool:
        if binding.is_bindable:
            return True
        if binding.ctrl_count != 1 or binding.output_count != 1 or not binding.has_effect:
            return False
        if self.allow_non_motor and literal and binding.on_joint:
            return True
        elsewhere = binding.transmission in ("tendon", "site", "slider-crank")
        motor = binding.kind == "motor" or (self.allow_non_motor and literal)
        return self.transmissions is Transmissions.ALL and elsewhere and motor

    def bind(self, model: Any, data: Any, actuator_ids: Iterable[int]) -> None:
        """Own what the patterns match among these actuators; all or nothing.

        Raises:
            BindingError: see `select`.
            PropertyError: a per-actuator value does not fit the actuators.
        """
        ids = list(actuator_ids)
        host = self._host or BareModel(model, data, ids)
        table = self.select(host.describe(ids), host.label)
        before = dict(self.__dict__)
        try:
            slots, was_bound = table.slots(host.label), bool(self._bound_as)
            self._bound_as = self._structure()
            # Values that a draft has resolved for the same actuators stay as they are.
            if was_bound or self._slots != slots:
                self.spread_over(slots)
            index = {name: i for i, name in enumerate(host.setpoints.names)}
            self._table = table
            self._columns = np.array([index[b.actuator] for b in table], dtype=np.intp)
            self._bound_to = host
            for method in hook_methods(type(self), "on_bind"):
                method(self, model, data)
        except BaseException:
            put_back([(self, before)])
            raise

    def on_change(self, names: tuple[str, ...]) -> None:
        if self._must_rebind():
            (self._host or self._bound_to).rebind(self)

    def _must_rebind(self) -> bool:
        return bool(self._bound_as) and self.is_structurally_changed()

    def is_structurally_changed(self) -> bool:
        """Whether a property that selects its actuators changed since it was bound."""
        return self._structure() != self._bound_as

    def on_bind(self, model: Any, data: Any) -> None:
        """Hook: `bindings` are known; fetch views and make arrays."""

    def unbind(self) -> None:
        """Release its actuators."""
        if self._lowered is not None:
            self._lowered.drive_directly()
        for method in hook_methods(type(self), "prepare"):
            method(self)
        self.spread_over(None)

    @property
    def setpoints(self) -> Setpoints:
        """The store this controller reads; `columns` are its own indices in it."""
        return self._bound_to.setpoints

    @property
    def columns(self) -> npt.NDArray[np.intp]:
        """Indices of the owned actuators in the setpoint arrays."""
        return self._columns

    @property
    def bindings(self) -> BindingTable:
        """The actuators it owns, in id order; `.skipped` has those it matched but cannot drive."""
        return self._table

    @property
    def num_bindings(self) -> int:
        """Number of actuators it owns."""
        return len(self._table)

    @property
    def is_bound(self) -> bool:
        """Whether it owns anything."""
        return len(self._table) > 0

    # Run ----------------------------------------------------------------------------------------

    def stepper(self, model: Any, data: Any) -> Callable[[], object]:
        """The function called before every physics step; a subclass may return a leaner one."""

        def step() -> None:
            result = self.compute_and_apply(model, data, self.setpoints.source)
            if result is not None:
                check_filled(self, "compute_and_apply", result, None, "data.ctrl")

        return step

    def step_calls(self, model: Any, data: Any) -> Sequence[Callable[[], object]]:
        """The functions called before every physics step, in order.

        The articulation keeps this very sequence: a controller may change its own list later.
        """
        return (self.stepper(model, data),)

    def setpoint_calls(self) -> Sequence[Callable[[], object]]:
        """Hook: called before a step whose setpoints differ from the last step's."""
        return ()

    def watcher(self) -> Callable[[float], object] | None:
        """Hook: called between steps to inspect the last one; None: nothing."""
        return None

    @property
    def guards_ctrl(self) -> bool:
        """Whether it never writes a ctrl that is not finite."""
        return False

    def report_non_finite(self, binding: ActuatorBinding) -> None:
        """Report to the host that an effort was not finite and the last finite ctrl is held."""
        self._bound_to.report_non_finite(binding)

    @required("stepper", "step_calls")
    def compute_and_apply(self, model: Any, data: Any, source: Source) -> None:
        """Write `data.ctrl` of the owned actuators; called before every physics step."""
        raise NotImplementedError

    @property
    def between_stages(self) -> bool:
        return any(not b.on_joint for b in self.bindings) or super().between_stages

    # Other ways to run --------------------------------------------------------------------------

    @property
    def execution(self) -> Execution:
        """Its execution mode, and why that was chosen."""
        return self._execution

    def supports(self) -> dict[str, Support]:
        """The execution modes that can run it as bound now, with reasons."""
        text = f"{type(self).__name__} is written in Python"
        no = Support(False, text)
        return {"python": Support(True, "the reference"), "compiled": no, "native": no}

    def expect(self, execution: Execution) -> None:
        """Prepare for being bound to a model that was compiled for this mode; `run_as` follows."""
        if execution.name == "native":
            self._execution = execution

    def run_as(self, execution: Execution) -> None:
        """Hook: switch to this execution mode; `native` is followed by `lower`."""
        self._execution = execution

    def delay_room(self) -> int:
        """Hook: the longest delay it may be given later [steps]."""
        return 0

    def bind_draft(self, actuators: Sequence[ActuatorBinding], owner: str, timestep: float) -> bool:
        """Hook: bind before there is a model, as far as `supports` and `native_form` need it.

        False: it cannot, and runs natively only after the model was compiled once without it.
        """
        return False

    def native_form(self) -> NativeForm:
        """Hook: the law as MuJoCo can run it."""
        raise NotImplementedError

    def lower(self, lowered: Lowered) -> None:
        """Let MuJoCo run the law; setpoints go to the inputs of `lowered`."""
        self._lowered = lowered
        lowered.load(self.native_form())

    @property
    def lowered(self) -> Lowered | None:
        """The actuators that run the law natively, or None."""
        return self._lowered

    def native_writers(self) -> list[Callable[[], object]]:
        """Hook: calls that copy the setpoints to the inputs of the lowered actuators."""
        return []

    @property
    def native_effort(self) -> FloatArray | None:
        """Hook: effort of a lowered law after its clamps in the last step, joint units."""
        return None

    def clamp_limits(self) -> tuple[FloatArray, FloatArray]:
        """Hook: lowest and highest effort the clamps allow besides torque_limit, actuator space."""
        size = self.num_bindings
        return np.full(size, -np.inf), np.full(size, np.inf)

    def gains(self) -> dict[str, FloatArray]:
        """The resolved per-actuator properties by name, for tables."""
        return resolved(self)

    def authored_gains(self) -> dict[str, FloatArray]:
        """The same as authored: without what a policy has in place while the robot stands."""
        return authored(self)

    def sender_of(self, gain: str) -> str:
        """Hook: who sends a gain that is in force from outside; empty: it is the authored one."""
        return ""

    def effort_log(self) -> EffortLog | None:
        """Hook: how its efforts get into a recording; None: from ctrl."""
        cls, base = type(self), ArticulationController
        silent = cls.raw_effort is base.raw_effort and cls.native_effort is base.native_effort
        return None if silent else SeenEfforts(self, self.columns)

    @property
    def raw_effort(self) -> FloatArray | None:
        """Effort before clamps per binding, joint units; None: the same as the applied effort."""
        return None


def _remedy(binding: ActuatorBinding) -> str:
    if not binding.has_effect:
        return "give it a gear and a gain, or leave it out"
    if binding.transmission in ("tendon", "site", "slider-crank") and binding.kind == "motor":
        return "set transmissions: all to run the law on its length, or leave it out"
    if binding.on_joint and binding.ctrl_count == 1:
        return "drive it with PassthroughController or use a motor, or set allow_non_motor: true"
    return "leave it out: it is driven directly"


def claim(claimants: Sequence[ActorComponent], controller: ArticulationController) -> str:
    """A controller among the components of an actor, with the patterns it asks for."""
    patterns = ", ".join(map(repr, controller.actuators))
    index = claimants.index(controller)
    return f"components[{index}] {type(controller).__name__} ({patterns})"


def owned_by(component: ActorComponent) -> str:
    """A component, with the actuators it owns."""
    if not isinstance(component, ArticulationController):
        return component._role
    return f"{component._role} ({', '.join(b.actuator for b in component.bindings)})"
