"""Setpoints: position, velocity and feedforward per actuator, with leases and first values."""

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import IntEnum
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Self

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.attributes import CheckedAttributes
from mjrig.core.errors import BindingError, LeaseError
from mjrig.core.model.binding import ActorState, ActuatorBinding
from mjrig.core.names import listed
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.patterns import Slots, compile_pattern

# Setpoints ---------------------------------------------------------------------------------------


POSITION, VELOCITY, FEEDFORWARD = 0, 1, 2
Targets = Mapping[str, float] | npt.ArrayLike | None


class Source(IntEnum):
    """Source of commands: recorded and shown; it has no effect on control."""

    NETWORK = 0
    UI = 1
    SCRIPT = 2
    REPLAY = 3
    POLICY = 4


class Lease(CheckedAttributes):
    """The right to write the setpoints of some actuators, until released.

    Also a context manager. `indices` are positions in the articulation's `actuator_names`, `inputs`
    the names of multi-input actuators it covers.
    """

    holder: Final[str]
    source: Final[Source]
    indices: Final[tuple[int, ...]]
    inputs: Final[tuple[str, ...]]

    def __init__(
        self,
        setpoints: "Setpoints",
        holder: str,
        source: Source,
        indices: list[int],
        inputs: Sequence[str] = (),
    ) -> None:
        self.holder = holder
        self.source = source
        self.indices = tuple(indices)
        self.inputs = tuple(inputs)
        self._setpoints = setpoints

    @property
    def is_held(self) -> bool:
        """False once released."""
        return self in self._setpoints.leases

    def set_targets(
        self, position: Targets = None, *, velocity: Targets = None, feedforward: Targets = None
    ) -> None:
        """As `Articulation.set_targets`, for the holder of this lease.

        Raises:
            LeaseError: it was released, or does not cover a name.
            BindingError: a pattern matches nothing.
        """
        if not self.is_held:
            raise LeaseError(f"the lease of {self.holder!r} was released; take a new one")
        self._setpoints.write(position, velocity, feedforward, lease=self)

    def set_input(self, name: str, values: npt.ArrayLike) -> None:
        """Write the input vector of a multi-input actuator the lease covers.

        Raises:
            LeaseError: it was released, or does not cover the actuator.
            ValueError: another number of values.
        """
        if not self.is_held or name not in self.inputs:
            raise LeaseError(f"{name!r} is not covered by the lease of {self.holder!r}")
        vector = self._setpoints.input_values[name]
        array = np.asarray(values, dtype=np.float64)
        if array.shape != vector.shape:
            raise ValueError(f"{name!r} takes {len(vector)} values, got shape {array.shape}")
        vector[:] = array

    def release(self) -> None:
        """Release the setpoints; releasing twice is fine."""
        self._setpoints.release(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __repr__(self) -> str:
        return f"Lease({self.holder!r}, {self.source.name}, {len(self.indices)} actuators)"


class LastBytes:
    """The bytes of some values when a step last used them; empty: not yet."""

    __slots__ = ("last_bytes",)

    def __init__(self) -> None:
        self.last_bytes = b""


class SetpointBank:
    """Memory of all setpoints of a world in one array, so that they are compared at once.

    Args:
        size: how many values can be reserved.
    """

    __slots__ = ("_used", "values")

    def __init__(self, size: int) -> None:
        self.values: FloatArray = np.zeros(size)
        self._used = 0

    def reserve(self, size: int) -> slice:
        """Reserve the next `size` values."""
        extent = slice(self._used, self._used + size)
        self._used = extent.stop
        return extent


class Setpoints(CheckedAttributes):
    """The setpoint store of an articulation.

    `position`, `velocity` and `feedforward` are arrays over `names`: all single-output actuators
    in id order; write into them, or assign one. `inputs[name]` is the input vector of a multi-input
    actuator that is not `pid`-like (an orientation actuator). While a lease is held these are
    read-only, and its holder writes through the lease; otherwise any write is allowed and counts as
    SCRIPT.

    `values` (3, n) is the same memory for the controllers, always writeable. `version` grows
    whenever `changed` finds a new value, however it was written.
    """

    names: Final[tuple[str, ...]]
    owner: Final[str]
    values: Final[FloatArray]
    flat: Final[FloatArray]
    input_values: Final[dict[str, FloatArray]]
    leases: Final[list[Lease]]
    version: int
    bank: Final[SetpointBank]
    extent: Final[slice]
    memory: Final[FloatArray]
    #: The bytes of the values in the last `changed`.
    last_bytes: bytes
    #: Actors that are checked together have to look again when this one changes.
    group: LastBytes

    def __init__(
        self,
        slots: Slots,
        inputs: Mapping[str, int] | None = None,
        owner: str = "",
        bank: SetpointBank | None = None,
    ) -> None:
        sizes = inputs or {}
        count, total = 3 * len(slots), 3 * len(slots) + sum(sizes.values())
        self.names = slots.names
        self.owner = owner
        #: Memory of the values, shared with the other actors of the world.
        self.bank = bank or SetpointBank(total)
        self.extent = self.bank.reserve(total)
        #: The setpoints, followed by the input vectors.
        self.memory = self.bank.values[self.extent]
        self.flat = self.memory[:count]
        self.values = self.flat.reshape(3, len(slots))
        ends = np.cumsum([count, *sizes.values()]).tolist()
        self.input_values = {
            name: self.memory[first:last]
            for name, first, last in zip(sizes, ends[:-1], ends[1:], strict=True)
        }
        self.leases = []
        self.version = 0
        self.last_bytes = b""
        self.group = LastBytes()
        self._slots = slots
        self._public = [self.values[k, :] for k in range(3)]
        self._public_inputs = {n: a[:] for n, a in self.input_values.items()}

    @property
    def position(self) -> FloatArray:
        """Position targets, shape (n,)."""
        return self._public[POSITION]

    @position.setter
    def position(self, targets: Mapping[str, float] | npt.ArrayLike) -> None:
        self.write(position=targets)

    @property
    def velocity(self) -> FloatArray:
        """Velocity targets, shape (n,)."""
        return self._public[VELOCITY]

    @velocity.setter
    def velocity(self, targets: Mapping[str, float] | npt.ArrayLike) -> None:
        self.write(velocity=targets)

    @property
    def feedforward(self) -> FloatArray:
        """Feedforward efforts, shape (n,)."""
        return self._public[FEEDFORWARD]

    @feedforward.setter
    def feedforward(self, targets: Mapping[str, float] | npt.ArrayLike) -> None:
        self.write(feedforward=targets)

    @property
    def inputs(self) -> Mapping[str, FloatArray]:
        """Input vectors of multi-input actuators by name."""
        return MappingProxyType(self._public_inputs)

    def changed(self) -> bool:
        """Whether any value differs from the last call; comparing bytes is the cheapest way."""
        now = self.flat.tobytes()
        if now == self.last_bytes:
            return False
        # It may run in every step: the check of a plain assignment would cost a call.
        object.__setattr__(self, "last_bytes", now)
        object.__setattr__(self, "version", self.version + 1)
        self.group.last_bytes = b""
        return True

    def touch(self) -> None:
        """Make the next `changed` true, so that everything derived is computed again."""
        self.last_bytes = self.group.last_bytes = b""

    @property
    def is_current(self) -> bool:
        """Whether the values are those of the last `changed`."""
        return self.flat.tobytes() == self.last_bytes

    def match(self, pattern: str) -> list[int]:
        """Columns of the actuators a pattern matches, by actuator or joint name.

        Raises:
            BindingError: nothing matches.
        """
        try:
            return self._slots.match(pattern)
        except BindingError as error:
            raise BindingError(f"{self.owner}: {error}") from None

    # Writing ------------------------------------------------------------------------------------

    def write(
        self,
        position: Targets = None,
        velocity: Targets = None,
        feedforward: Targets = None,
        *,
        lease: Lease | None = None,
    ) -> None:
        """Write setpoints, all or nothing.

        Raises:
            LeaseError: another holder has one of the actuators.
            BindingError: a pattern matches nothing, or two disagree.
            ValueError: an array of another length.
        """
        rows = {POSITION: position, VELOCITY: velocity, FEEDFORWARD: feedforward}
        staged = [(row, *self.spread(v)) for row, v in rows.items() if v is not None]
        for _, indices, _ in staged:
            self._check_right(indices, lease)
        for row, indices, values in staged:
            self.values[row, indices] = values

    def write_columns(
        self, row: int, columns: Sequence[int] | npt.NDArray[np.intp], values: FloatArray
    ) -> None:
        """Write one row of some actuators.

        Raises:
            LeaseError: one of them is held.
        """
        if len(columns):
            self._check_right([int(c) for c in columns], None)
            self.values[row, columns] = values

    def spread(self, targets: Mapping[str, float] | npt.ArrayLike) -> tuple[list[int], FloatArray]:
        """Columns and values of targets by pattern, or of a whole array.

        Raises:
            BindingError: a pattern matches nothing, two disagree, or a value is no number.
            ValueError: an array of another length.
        """
        if not isinstance(targets, Mapping):
            try:
                array = np.asarray(targets, dtype=np.float64)
            except (TypeError, ValueError):
                text = f"{self.owner}: targets must be numbers, got {targets!r}"
                raise ValueError(text) from None
            if array.shape not in ((len(self.names),), ()):
                raise ValueError(
                    f"{self.owner}: targets must have {len(self.names)} values, "
                    f"got shape {array.shape}; order: {listed(self.names)}"
                )
            return list(range(len(self.names))), np.broadcast_to(array, (len(self.names),))
        try:
            chosen = self._slots.spread(targets)
            values = np.array([float(v) for _, v in chosen.values()])
        except BindingError as error:
            raise BindingError(f"{self.owner}: {error}", error.keys) from None
        except (TypeError, ValueError):
            raise BindingError(f"{self.owner}: targets must be numbers, got {targets!r}") from None
        return list(chosen), values

    def _check_right(self, indices: Sequence[int], lease: Lease | None) -> None:
        for other in self.leases:
            if other is lease:
                continue
            for i in indices:
                if i in other.indices:
                    raise LeaseError(
                        f"{self.owner}: {self.names[i]!r} is held by {other.holder!r} "
                        f"({other.source.name}); release that lease first"
                    )
        outside = [i for i in indices if lease is not None and i not in lease.indices]
        if lease is not None and outside:
            raise LeaseError(
                f"{self.owner}: {self.names[outside[0]]!r} is not covered by the lease "
                f"of {lease.holder!r}"
            )

    # Leases -------------------------------------------------------------------------------------

    @pattern_budget()
    def take(self, source: Source, *, actuators: str = ".*", holder: str | None = None) -> Lease:
        """Take the exclusive right to write some actuators.

        Raises:
            LeaseError: one of them is held; the message names the holder.
            BindingError: the pattern matches nothing.
        """
        inputs = [n for n in self.input_values if compile_pattern(actuators).fullmatch(n)]
        try:
            indices = self._slots.match(actuators)
        except BindingError:
            if not inputs:
                raise
            indices = []
        lease = Lease(self, holder or source.name.lower(), source, indices, inputs)
        for other in self.leases:
            for name in set(inputs) & set(other.inputs):
                raise LeaseError(
                    f"{self.owner}: {name!r} is held by {other.holder!r} ({other.source.name}); "
                    "release that lease first"
                )
        self._check_right(lease.indices, lease)
        self.leases.append(lease)
        self._update_writeable()
        return lease

    def check_inputs_free(self) -> None:
        """Refuse to write input vectors that are held.

        Raises:
            LeaseError: one is held.
        """
        for lease in self.leases:
            if lease.inputs:
                raise LeaseError(
                    f"{self.owner}: {lease.inputs[0]!r} is held by {lease.holder!r} "
                    f"({lease.source.name}); release that lease first"
                )

    def release(self, lease: Lease) -> None:
        """Release a lease."""
        if lease in self.leases:
            self.leases.remove(lease)
            self._update_writeable()

    def source_of(self, index: int) -> Source:
        """The source of commands of one actuator."""
        return next((s.source for s in self.leases if index in s.indices), Source.SCRIPT)

    @property
    def source(self) -> Source:
        """The source of the first lease, or SCRIPT."""
        return self.leases[0].source if self.leases else Source.SCRIPT

    def _update_writeable(self) -> None:
        for array in self._public:
            array.setflags(write=not any(lease.indices for lease in self.leases))
        held = {name for lease in self.leases for name in lease.inputs}
        for name, array in self._public_inputs.items():
            array.setflags(write=name not in held)

    # State --------------------------------------------------------------------------------------

    def snapshot(self) -> tuple[FloatArray, dict[str, FloatArray]]:
        """A copy of all values."""
        return self.values.copy(), {n: a.copy() for n, a in self.input_values.items()}

    def restore(self, state: tuple[FloatArray, dict[str, FloatArray]]) -> None:
        """Restore what `snapshot` returned."""
        values, inputs = state
        self.values[:] = values
        for name, array in inputs.items():
            self.input_values[name][:] = array


class UntrackedSetpoints(Setpoints):
    """Setpoints without change tracking: they always count as changed."""

    @property
    def version(self) -> int:
        self._version = getattr(self, "_version", 0) + 1
        return self._version

    @version.setter
    def version(self, value: int) -> None:
        self._version = value


# Passthrough writers -----------------------------------------------------------------------------
# Passthrough writers: setpoints directly to ctrl, for the actuators no law owns.


_ROW = {"pos": POSITION, "vel": VELOCITY, "ff": FEEDFORWARD}


def takes_rows(binding: ActuatorBinding) -> bool:
    """Whether an actuator is commanded by position, velocity and feedforward.

    A single-input actuator takes its position setpoint, whatever its unit; one with several inputs
    takes them by input name; any other takes its vector of `setpoints.inputs`.
    """
    return binding.output_count == 1 and (
        binding.ctrl_count <= 1 or all(name in _ROW for name in binding.inputs)
    )


def row_of(binding: ActuatorBinding, k: int) -> int:
    """Which setpoint row commands input `k` of an actuator that takes rows."""
    return _ROW.get(binding.inputs[k], POSITION) if binding.ctrl_count > 1 else POSITION


def direct_writers(
    setpoints: Setpoints, bindings: Sequence[ActuatorBinding], ctrl: Any
) -> list[Callable[[], object]]:
    """Calls that copy the setpoints of these actuators to ctrl, unscaled."""
    size = len(setpoints.names)
    column = {name: i for i, name in enumerate(setpoints.names)}
    sources: list[int] = []
    targets: list[int] = []
    writers: list[Callable[[], object]] = []
    for binding in bindings:
        address, count = binding.ctrl_address, binding.ctrl_count
        if not takes_rows(binding):
            vector = setpoints.input_values[binding.actuator]
            writers.append(partial(np.copyto, ctrl[address : address + count], vector))
            continue
        rows = [row_of(binding, k) for k in range(count)]
        sources += [row * size + column[binding.actuator] for row in rows]
        targets += range(address, address + count)
    if sources:
        buffer = np.empty(len(sources))
        where = np.array(targets, dtype=np.intp)
        writers.append(partial(setpoints.flat.take, np.array(sources), None, buffer, "clip"))
        writers.append(partial(ctrl.__setitem__, where, buffer))
    return writers


# Initial setpoints -------------------------------------------------------------------------------
# Initial setpoints: those that keep a robot at its present pose.


_IDENTITY = {"qw": 1.0}


def _is_position(binding: ActuatorBinding) -> bool:
    """Whether its setpoint is a position also without a law."""
    return binding.kind == "position" or "pos" in binding.inputs


class Scratch:
    """An MjData to work out poses in, made when it is first needed; one serves a whole world."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._data: Any = None

    @property
    def data(self) -> Any:
        """The data; what is in it is of no state in particular."""
        if self._data is None:
            self._data = mujoco.MjData(self._model)
        return self._data


class Seeds:
    """Computes setpoints from poses and keyframes, for the actuators of one articulation.

    Args:
        model, data: the world's.
        actuators: all actuators of the articulation, in id order.
        first: where its share of ctrl begins.
        scratch: where actuator lengths are worked out.
    """

    def __init__(
        self,
        model: Any,
        data: Any,
        actuators: Sequence[ActuatorBinding],
        first: int,
        scratch: Scratch,
    ) -> None:
        self._model, self._data, self._first = model, data, first
        self._scratch = scratch
        self._single = [b for b in actuators if b.output_count == 1]
        self._with_inputs = [b for b in actuators if not takes_rows(b)]
        #: The owned ids the columns below are of.
        self._owned: set[int] | None = None

    def rows(self, qpos: FloatArray, ctrl: FloatArray | None, owned: Collection[int]) -> FloatArray:
        """(3, n) position, velocity and feedforward of the single-output actuators.

        Those of `owned` ids stay where they are; direct ones take ctrl, else what holds their
        length if they are position-type, else 0.
        """
        if owned != self._owned:
            self._sort(set(owned))
        seeds = np.zeros((3, len(self._single)))
        seeds[0, self._joints] = qpos[self._addresses]
        following = list(self._elsewhere)
        for column, binding in self._direct:
            given = self._given(ctrl, binding)
            if given is not None:
                for k, value in enumerate(given):
                    seeds[row_of(binding, k), column] = value
            elif _is_position(binding):
                following.append((column, binding))
        if following:
            lengths = self._lengths(qpos)
            for column, binding in following:
                seeds[0, column] = self._holding(binding, float(lengths[binding.output_address]))
        return seeds

    def _holding(self, binding: ActuatorBinding, length: float) -> float:
        """The setpoint that holds a length; a position actuator's may have other units."""
        gain, slope, offset = self._servo(binding)
        plain = gain == slope and offset == 0.0
        if plain or not gain or binding.actuator_id in (self._owned or ()):
            return length
        return (slope * length - offset) / gain

    def wanted(self, setpoints: FloatArray, owned: Collection[int]) -> dict[str, float]:
        """The coordinates or lengths that position setpoints ask for, by actuator."""
        found = {}
        for column, binding in enumerate(self._single):
            gain, slope, offset = self._servo(binding)
            if binding.actuator_id in owned:
                found[binding.actuator] = float(setpoints[column])
            elif _is_position(binding) and slope * binding.gear:
                length = (gain * float(setpoints[column]) + offset) / slope
                found[binding.actuator] = length / binding.gear
        return found

    def asking(self, wanted: Mapping[str, float], owned: Collection[int]) -> dict[int, float]:
        """The setpoints that ask for these coordinates or lengths, by column."""
        found = {}
        for column, binding in enumerate(self._single):
            gain, slope, offset = self._servo(binding)
            asked = wanted.get(binding.actuator)
            if asked is not None and binding.actuator_id in owned:
                found[column] = asked
            elif asked is not None and _is_position(binding) and gain:
                found[column] = (slope * asked * binding.gear - offset) / gain
        return found

    def _servo(self, binding: ActuatorBinding) -> tuple[float, float, float]:
        """(gain, slope, offset) of a servo: force = gain·setpoint - slope·length + offset."""
        i = binding.actuator_id
        if binding.kind != "position":
            return 1.0, 1.0, 0.0
        bias = self._model.actuator_biasprm[i]
        return float(self._model.actuator_gainprm[i, 0]), -float(bias[1]), float(bias[0])

    def _sort(self, owned: set[int]) -> None:
        """Which columns take a coordinate, which an actuator length, which neither for sure."""
        columns = list(enumerate(self._single))
        mine = [(c, b) for c, b in columns if b.actuator_id in owned]
        joints = [(c, b.qpos_address) for c, b in mine if b.on_joint]
        self._joints, self._addresses = np.array(joints, dtype=np.intp).reshape(-1, 2).T
        self._elsewhere = [(c, b) for c, b in mine if not b.on_joint]
        self._direct = [(c, b) for c, b in columns if b.actuator_id not in owned]
        self._owned = owned

    def inputs(self, state: ActorState) -> dict[str, FloatArray]:
        """Input vectors from a state's ctrl, else zero, or the identity for quaternions."""
        seeds = {}
        for binding in self._with_inputs:
            values = self._given(state.ctrl, binding)
            if values is None:
                values = np.array([_IDENTITY.get(name, 0.0) for name in binding.inputs])
            if binding.inputs[:1] == ("qw",) and not values.any():
                values[0] = 1.0  # a keyframe without ctrl compiles to zeros: no valid quaternion
            seeds[binding.actuator] = values
        return seeds

    def _given(self, ctrl: FloatArray | None, binding: ActuatorBinding) -> FloatArray | None:
        """A copy of an actuator's ctrl, where a state gives it."""
        if ctrl is None:
            return None
        first = binding.ctrl_address - self._first
        values = ctrl[first : first + binding.ctrl_count]
        return None if np.isnan(values).any() else values.copy()

    def _lengths(self, qpos: FloatArray) -> FloatArray:
        """Actuator lengths at a pose; those in the data are of the state before the last step."""
        model, scratch = self._model, self._scratch.data
        scratch.qpos[:] = qpos
        scratch.mocap_pos[:], scratch.mocap_quat[:] = self._data.mocap_pos, self._data.mocap_quat
        for compute in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_tendon):
            compute(model, scratch)
        mujoco.mj_transmission(model, scratch)
        lengths: FloatArray = scratch.actuator_length
        return lengths


# Keyframe hold ------------------------------------------------------------------------------------


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
