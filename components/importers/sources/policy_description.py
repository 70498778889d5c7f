"""FoundPolicy: a policy as described by a vendor's files, in one form for all stacks.

Lists are in policy order. What a file does not state is absent or marked as assumed, never guessed
silently.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import Wording

Values = Sequence[float]


class ValueOrder(StrEnum):
    """How the policy's joints are identified."""

    NAMES = "names"
    #: The i-th is the i-th actuated joint of the model.
    INDEX = "index"
    #: The i-th is a place in the list of motors: the model's actuators.
    MOTORS = "motors"


class Begin(StrEnum):
    """The pose a run starts in."""

    RESET = "reset"
    DEFAULT = "default"
    KEYFRAME = "keyframe"


@dataclass(frozen=True)
class Term:
    """One observation term: its entry in policy.yaml, and the number of values per sample."""

    data: Mapping[str, Any]
    size: int
    history: int = 1

    @property
    def length(self) -> int:
        """Number of values in the observation."""
        return self.size * self.history


@dataclass(frozen=True)
class Start:
    """The stand before the policy: the default pose, held with separate gains."""

    duration: float
    kp: Values
    kv: Values


@dataclass(frozen=True)
class Held:
    """A motor the policy does not drive, held at a position."""

    motor: int
    kp: float
    kv: float
    position: float


@dataclass(frozen=True)
class Doubt:
    """A finding of a stack's reader: its code, what it is, and what can be done.

    With `mild` it is a note, else a warning.
    """

    code: str
    text: str
    fix: str | Wording = ""
    mild: bool = False


@dataclass(frozen=True, kw_only=True)
class FoundPolicy:
    """A policy as described by the files.

    Attributes:
        stack: name of the stack.
        robot: the robot the files are for, as far as they name it.
        count: number of joints the policy drives.
        order: how they are identified.
        names: their names in the source, if it has any.
        motors: with `Order.MOTORS`, their places among the motors.
        timestep: physics timestep [s]; None: not in the files.
        tick: from one action to the next [s].
        phase, state, default, start, terms, action, command: as in policy.yaml.
        kp, kv: gains; None: those of the model's own actuators.
        kinds: per joint `position`, `velocity` or `effort`.
        clip: clip bound of the whole observation.
        history: layout of earlier samples.
        begin: the initial pose; `keyframe` names it where it is one.
        base: position (3) and quaternion (4, wxyz) the floating base starts in.
        single: the control law runs in float32.
        size: size of the observation in the files; None: not stated.
        trained: training parameters, in policy order: keys of `plant.PER_JOINT`.
        recovered: which of them were deduced.
        network: keys of policy.yaml about the network: input, output, recurrent, time_step, motion.
        motion: arrays of the reference motion, to be written beside policy.yaml.
        limits: effort limits in the code of the stack, besides those of the model.
        held: motors it does not drive.
        observed: joints that it sees but does not move, as the model calls them → default position.
        actor, sim, controllers: what the scene says of the actor (actuators, dynamics), of the
            simulation, and its controllers, where the files describe the plant; None: a PD law.
        gap: why the observation is incomplete; the policy is then not put on the robot.
        doubts: what could not be taken over or must be looked at.
        notes: what was read or adopted, as text for the user.
        assumed: what no file states.
    """

    stack: str
    robot: str = ""
    count: int
    order: ValueOrder
    names: tuple[str, ...] = ()
    motors: tuple[int, ...] = ()
    timestep: float | None
    tick: float
    phase: str = "before"
    state: str = "float64"
    kp: Values | None = None
    kv: Values | None = None
    default: Values
    start: Start | None = None
    terms: Sequence[Term] = ()
    clip: Any = None
    history: Mapping[str, Any] = field(default_factory=dict)
    action: Mapping[str, Any] = field(default_factory=dict)
    kinds: Sequence[str] = ()
    command: Mapping[str, Any] = field(default_factory=dict)
    begin: Begin = Begin.DEFAULT
    keyframe: str = ""
    base: tuple[Values, Values] | None = None
    single: bool = False
    size: int | None = None
    trained: Mapping[str, Values] = field(default_factory=dict)
    recovered: tuple[str, ...] = ()
    network: Mapping[str, Any] = field(default_factory=dict)
    motion: Mapping[str, FloatArray] = field(default_factory=dict)
    limits: Values | None = None
    held: Sequence[Held] = ()
    observed: Mapping[str, float] = field(default_factory=dict)
    actor: Mapping[str, Any] = field(default_factory=dict)
    sim: Mapping[str, Any] = field(default_factory=dict)
    controllers: Sequence[Mapping[str, Any]] | None = None
    gap: str = ""
    doubts: Sequence[Doubt] = ()
    notes: tuple[str, ...] = ()
    assumed: tuple[str | Wording, ...] = ()

    @property
    def observation_size(self) -> int:
        """Number of values of all terms."""
        return sum(term.length for term in self.terms)


def compact(values: Values) -> float | list[float]:
    """One number where all are equal."""
    numbers = [float(v) for v in values]
    return numbers[0] if numbers and len(set(numbers)) == 1 else numbers
