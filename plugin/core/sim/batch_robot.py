"""BatchRobot: one robot in every world of a batch, its setpoints and gains per world."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NoReturn

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray, copy_into
from mjrig.core.attributes import CheckedAttributes
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.lowering import within_own_range
from mjrig.core.control.policy import Worlds, chosen_worlds
from mjrig.core.control.setpoints import FEEDFORWARD, POSITION, VELOCITY, row_of, takes_rows
from mjrig.core.errors import AttributeNameError, ExecutionError, PropertyError
from mjrig.core.model.binding import BindingTable
from mjrig.core.properties.per_actuator import DEFAULT
from mjrig.core.properties.synonyms import near_names


class BatchController(CheckedAttributes):
    """A lowered controller in every world of a batch.

    `gains` are arrays (worlds, bindings) in joint units; `set_gains` changes them.
    """

    name: Final[str]
    bindings: Final[BindingTable]

    def __setattr__(self, name: str, value: object) -> None:
        if name in getattr(self, "_gains", ()):
            raise AttributeNameError(
                f"{self._controller.label}.{name} has a value per world; call set_gains({name}=…)"
            )
        super().__setattr__(name, value)

    def __init__(self, batch: Any, count: int, controller: ArticulationController) -> None:
        lowered = controller.lowered
        assert lowered is not None
        self._batch, self._controller, self._lowered = batch, controller, lowered
        self.name = controller._role
        self.bindings = controller.bindings
        form = controller.native_form()
        names = [
            "kp",
            "kv",
            "torque_limit",
            *(["ki", "integral_max"] if form.ki is not None else []),
        ]
        own = controller.gains()
        self._gains = {n: np.tile(own[n], (count, 1)) for n in names}
        #: Gains that hold instead in some worlds: values (NaN: none) and those worlds.
        self._instead: dict[str, tuple[FloatArray, npt.NDArray[np.bool_]]] = {}
        self._form = form

    @property
    def gains(self) -> Mapping[str, FloatArray]:
        """Resolved gains by name, (worlds, bindings), read-only."""
        views = {}
        for name, values in self._gains.items():
            views[name] = values.view()
            views[name].setflags(write=False)
        return MappingProxyType(views)

    def set_gains(
        self, *, worlds: Worlds = None, **values: npt.ArrayLike | Mapping[str, npt.ArrayLike]
    ) -> None:
        """Set gains of some worlds: numbers for all, by pattern, or (worlds, bindings).

        Arrays broadcast to (worlds, bindings). A mapping has for name patterns a number, or one per
        world; `default` is for the actuators that none of them matches. Without it those keep what
        they have.

        Raises:
            PropertyError: a name is unknown, a shape does not fit, or a value is out of range;
                nothing was changed.
            BindingError: a pattern matches nothing, or two disagree.
        """
        where = chosen_worlds(worlds, len(self._gains["kp"]))
        changed = {name: array.copy() for name, array in self._gains.items()}
        for name, value in values.items():
            if name not in changed:
                near = near_names(name, changed, label="has")
                raise PropertyError(f"{self._controller.label} has no gain {name!r}; {near}")
            before = changed[name][where]
            array = self._spread(name, value, before)
            try:
                changed[name][where] = array
            except ValueError as error:
                raise PropertyError(f"{self._controller.label}.{name}: {error}") from None
            infinite = name in ("torque_limit", "integral_max")
            low, high = array.min(initial=0.0), array.max(initial=0.0)
            if np.isnan(array).any() or low < 0.0 or (high == np.inf and not infinite):
                raise PropertyError(
                    f"{self._controller.label}.{name}: must be >= 0 and "
                    f"{'a number' if infinite else 'finite'}, got {value!r}"
                )
        self._gains = changed
        if self._controller.enabled:
            self.load()

    def _spread(self, name: str, value: Any, before: FloatArray) -> FloatArray:
        """Numbers of a gain in some worlds; those that a mapping leaves out stay as they are."""
        label = f"{self._controller.label}.{name}"
        by_pattern = isinstance(value, Mapping)
        try:
            if not by_pattern:
                return np.asarray(value, dtype=np.float64)
            numbers = {str(p): np.asarray(v, dtype=np.float64) for p, v in value.items()}
        except (TypeError, ValueError):
            raise PropertyError(
                f"{label}: must be numbers, or numbers by pattern, got {value!r}"
            ) from None
        slots, found = self.bindings.slots(label), before.copy()
        rest = numbers.pop(DEFAULT, None)
        # Two patterns that give an actuator the same numbers do not disagree.
        chosen = slots.spread({p: tuple(np.atleast_1d(v).tolist()) for p, v in numbers.items()})
        for column in range(found.shape[1]):
            given = np.asarray(chosen[column][1]) if column in chosen else rest
            if given is None:
                continue
            if given.size not in (1, len(found)):
                raise PropertyError(
                    f"{label}: must have one number, or {len(found)}, one per world, "
                    f"got {given.size}"
                )
            found[:, column] = given
        return found

    def override(
        self, name: str, values: Mapping[int, float], worlds: npt.NDArray[np.bool_]
    ) -> None:
        """Use other gains of some actuators, by id, in some worlds; `gains` stay what they are."""
        own = [values.get(b.actuator_id, np.nan) for b in self.bindings]
        if name in self._gains and not np.isnan(own).all():
            self._instead[name] = np.array(own), worlds.copy()
            if self._controller.enabled:
                self.load()

    def _in_force(self) -> dict[str, FloatArray]:
        found = dict(self._gains)
        for name, (values, worlds) in self._instead.items():
            replaced = worlds[:, None] & ~np.isnan(values)
            found[name] = np.where(replaced, values, found[name])
        return found

    def load(self) -> None:
        """Write the gains into the worlds' models."""
        g = np.array([b.factor for b in self.bindings])
        ids, gains = self._lowered.ids, self._in_force()
        square = g * g
        if self._form.dc is not None:
            prm = self._batch.expand("actuator_gainprm")
            prm[:, ids, 4], prm[:, ids, 6] = gains["kp"] / square, gains["kv"] / square
        else:
            prm = self._batch.expand("actuator_biasprm")
            prm[:, ids, 1], prm[:, ids, 2] = -(gains["kp"] / square), -(gains["kv"] / square)
        self._load_limits(gains["torque_limit"] / np.abs(g))
        if "ki" in gains:
            self._batch.expand("actuator_gainprm")[:, ids, 0] = gains["ki"] / square
            bound = gains["integral_max"] * np.abs(g)
            limited = np.isfinite(bound)
            self._batch.expand("actuator_actlimited")[:, ids] = limited
            edges = self._batch.expand("actuator_actrange")
            edges[:, ids, 1] = np.where(limited, bound, 0.0)
            edges[:, ids, 0] = -edges[:, ids, 1]

    def _load_limits(self, limit: FloatArray) -> None:
        # The clamps of the template hold in every world; torque_limit is per world.
        others = self._controller.clamp_limits()
        low, high = within_own_range(
            np.maximum(-limit, others[0]), np.minimum(limit, others[1]), self.bindings
        )
        limited = np.isfinite(low) | np.isfinite(high)
        ids = self._lowered.ids
        self._batch.expand("actuator_forcelimited")[:, ids] = limited
        edges = self._batch.expand("actuator_forcerange")
        edges[:, ids, 0] = np.where(limited, low, 0.0)
        edges[:, ids, 1] = np.where(limited, high, 0.0)


class BatchRobot(CheckedAttributes):
    """One actor in every world of a batch.

    `position`, `velocity` and `feedforward` are setpoints of shape (worlds, actuators), over
    `actuator_names`; write into them, or assign values that fit.
    """

    name: Final[str]
    actuator_names: Final[tuple[str, ...]]
    bindings: Final[BindingTable]
    controllers: Final[tuple[BatchController, ...]]

    def __init__(self, batch: Any, count: int, robot: Articulation) -> None:
        self._robot = robot
        self.name = robot.name
        self.actuator_names = robot.actuator_names
        self.bindings = robot.bindings
        self._setpoints = np.tile(robot.setpoints.values[:, None, :], (1, count, 1))
        self._position, self._velocity, self._feedforward = self._setpoints
        self.controllers = tuple(
            BatchController(batch, count, c) for c in robot.controllers if c.lowered is not None
        )
        self._seen = b""
        self._writes = self._plan()

    @property
    def setpoints(self) -> FloatArray:
        """Position, velocity and feedforward, (3, worlds, actuators)."""
        return self._setpoints

    @setpoints.setter
    def setpoints(self, values: npt.ArrayLike) -> None:
        copy_into(self._setpoints, values, f"{self.name}.setpoints")

    @property
    def position(self) -> FloatArray:
        """Position targets, (worlds, actuators)."""
        return self._position

    @position.setter
    def position(self, values: npt.ArrayLike) -> None:
        copy_into(self._position, values, f"{self.name}.position")

    @property
    def velocity(self) -> FloatArray:
        """Velocity targets, (worlds, actuators)."""
        return self._velocity

    @velocity.setter
    def velocity(self, values: npt.ArrayLike) -> None:
        copy_into(self._velocity, values, f"{self.name}.velocity")

    @property
    def feedforward(self) -> FloatArray:
        """Feedforward efforts, (worlds, actuators)."""
        return self._feedforward

    @feedforward.setter
    def feedforward(self, values: npt.ArrayLike) -> None:
        copy_into(self._feedforward, values, f"{self.name}.feedforward")

    def _plan(
        self,
    ) -> list[tuple[npt.NDArray[np.intp], int, npt.NDArray[np.intp], FloatArray, bool]]:
        """(ctrl addresses, row, columns, factor, divide) of every block to write."""
        column = {name: i for i, name in enumerate(self.actuator_names)}
        plan = []
        lowered: set[int] = set()
        for controller in self._robot.controllers:
            if controller.lowered is None or not controller.enabled:
                continue  # driven directly: a lowered motor's ctrl is its feedforward input
            lowered |= {b.actuator_id for b in controller.bindings}
            factor = np.array([b.factor for b in controller.bindings])
            columns = np.array([column[b.actuator] for b in controller.bindings], dtype=np.intp)
            for row in (POSITION, VELOCITY, FEEDFORWARD):
                addresses = controller.lowered.inputs[:, row]
                plan.append((addresses, row, columns, factor, row == FEEDFORWARD))
        for binding in self._robot.actuators:
            if binding.actuator_id in lowered or not takes_rows(binding):
                continue
            for k in range(binding.ctrl_count):
                row = row_of(binding, k)
                at = np.array([binding.ctrl_address + k], dtype=np.intp)
                where = np.array([column[binding.actuator]], dtype=np.intp)
                plan.append((at, row, where, np.ones(1), False))
        return plan

    def set_targets(
        self,
        position: Mapping[str, npt.ArrayLike] | None = None,
        *,
        velocity: Mapping[str, npt.ArrayLike] | None = None,
        feedforward: Mapping[str, npt.ArrayLike] | None = None,
        worlds: Worlds = None,
    ) -> None:
        """Command actuators by name pattern: a value for all worlds, or one per world.

        Raises:
            BindingError: a pattern matches nothing.
        """
        where = chosen_worlds(worlds, self.setpoints.shape[1])
        staged: list[tuple[int, int, npt.ArrayLike]] = []
        for row, targets in enumerate((position, velocity, feedforward)):
            for pattern, value in (targets or {}).items():
                staged += [(row, c, value) for c in self._robot.setpoints.match(pattern)]
        for row, column, value in staged:
            self.setpoints[row, where, column] = value

    def follow(self, trajectory: object) -> NoReturn:
        """Not supported.

        Raises:
            ExecutionError: always: its worlds run on threads that cannot call Python.
        """
        raise ExecutionError(
            f"{self.name}: a batch cannot follow a function of time: its worlds run on threads "
            "that cannot call Python; write the setpoints between steps"
        )

    def override_gains(
        self, name: str, values: Mapping[int, float], worlds: npt.NDArray[np.bool_]
    ) -> None:
        """Use other gains of some actuators, by id, in some worlds, and in no others."""
        for controller in self.controllers:
            controller.override(name, values, worlds)

    def write(self, ctrl: FloatArray) -> None:
        """Copy the setpoints to ctrl where they changed.

        Raises:
            ValueError: a setpoint is not finite.
        """
        now = self._setpoints.tobytes()
        if now == self._seen:
            return
        if not np.isfinite(self._setpoints).all():
            row, world, column = np.argwhere(~np.isfinite(self._setpoints))[0]
            what = ("position", "velocity", "feedforward")[row]
            raise ValueError(
                f"{self.name}: the {what} setpoint of {self.actuator_names[column]!r} in world "
                f"{world} is {self._setpoints[row, world, column]}"
            )
        self._seen = now
        for addresses, row, columns, factor, divide in self._writes:
            values = self._setpoints[row][:, columns]
            ctrl[:, addresses] = values / factor if divide else values * factor

    def write_over_time(self, ctrl: FloatArray, setpoints: FloatArray) -> None:
        """Copy setpoints (3, worlds, steps, actuators) to ctrl (worlds, steps, inputs)."""
        for addresses, row, columns, factor, divide in self._writes:
            values = setpoints[row][..., columns]
            ctrl[..., addresses] = values / factor if divide else values * factor

    def forget(self) -> None:
        """Write everything again at the next step."""
        self._seen = b""
