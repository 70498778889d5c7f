"""FoundPolicy: what a vendor's files say about a policy, in one form whatever stack they are of.

Lists are in policy order. What a file does not say is absent or said to be assumed, never guessed
silently.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Values = Sequence[float]


class ValueOrder(StrEnum):
    """How the policy's joints are known."""

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
    """One observation term: what policy.yaml says of it, and how many numbers one sample has."""

    data: Mapping[str, Any]
    size: int
    history: int = 1

    @property
    def length(self) -> int:
        """How many numbers of the observation it is."""
        return self.size * self.history


@dataclass(frozen=True)
class Start:
    """The stand before the policy: the default pose, held with gains of its own."""

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


@dataclass(frozen=True, kw_only=True)
class FoundPolicy:
    """What the files say.

    Attributes:
        stack: name of the stack.
        robot: the robot the files are for, as far as they name it.
        count: how many joints the policy drives.
        order: how they are known.
        names: their names in the source, if it has any.
        motors: with `Order.MOTORS`, their places among the motors.
        timestep: of the physics [s]; None: the files do not say.
        tick: from one action to the next [s].
        phase, state, default, start, terms, action, command: as in policy.yaml.
        kp, kv: gains; None: those of the model's own actuators.
        kinds: per joint `position`, `velocity` or `effort`.
        clip: of the whole observation.
        history: how samples of the past are put together.
        begin: the pose a run starts in; `keyframe` names it where it is one.
        base: position (3) and quaternion (4, wxyz) the floating base starts in.
        single: the control law runs in float32.
        size: of the observation, as the files say; None: they do not.
        trained: what it was trained with, in policy order: keys of `plant.PER_JOINT`.
        recovered: which of them were deduced.
        network: keys of policy.yaml about the network: input, output, recurrent, time_step, motion.
        limits: efforts the code of the stack cuts at, beside what the model does.
        held: motors it does not drive.
        notes: what was read or taken over, for people.
        assumed: what no file says.
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
    limits: Values | None = None
    held: Sequence[Held] = ()
    notes: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()

    @property
    def observation_size(self) -> int:
        """How many numbers the terms make."""
        return sum(term.length for term in self.terms)


def compact(values: Values) -> float | list[float]:
    """One number where all are alike."""
    numbers = [float(v) for v in values]
    return numbers[0] if numbers and len(set(numbers)) == 1 else numbers
