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
    #: The i-th is an index into the list of motors: the model's actuators.
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
        names: the joints the policy drives, if the source names them.
        motors: else their indices among the motors; without both they are the model's, in order.
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
    def count(self) -> int:
        """Number of joints the policy drives."""
        return len(self.names or self.motors or self.default)

    @property
    def order(self) -> ValueOrder:
        """How they are identified: by name where the source has names."""
        if self.names:
            return ValueOrder.NAMES
        return ValueOrder.MOTORS if self.motors else ValueOrder.INDEX

    @property
    def observation_size(self) -> int:
        """Number of values of all terms."""
        return sum(term.length for term in self.terms)


# Observation terms and commands -----------------------------------------------------------------

#: Values of a term that do not depend on the robot; `n` is one per joint.
_SIZES = {
    "BaseAngularVelocity": "3",
    "BaseLinearVelocity": "3",
    "BaseOrientation": "4",
    "ProjectedGravity": "3",
    "JointPositions": "n",
    "JointVelocities": "n",
    "JointTargetErrors": "n",
    "LastAction": "n",
    "MotionJoints": "2n",
    "MotionPhase": "1",
    "MotionAnchorPosition": "3",
    "MotionAnchorOrientation": "6",
}


def term_size(data: Mapping[str, Any], count: int, commands: int = 3) -> int | None:
    """Number of values of an entry of policy.yaml; None: it depends on the model."""
    kind = data["type"]
    if kind == "CommandTerm":
        return commands
    if kind == "GaitPhase":
        phases = len(data.get("offsets", [0.0]))
        return phases if data.get("form") == "phase" else 2 * phases
    if "joints" in data:
        return len(data["joints"])
    text = _SIZES.get(kind)
    if text is None:
        return None
    return {"n": count, "2n": 2 * count}.get(text) or int(text)


def term(kind: str, size: int, scale: float | Values | None = None, **more: Any) -> Term:
    """A term of `size` values; a scale of one is dropped, and so is every None."""
    data: dict[str, Any] = {"type": kind}
    if scale is not None:
        small = scale if isinstance(scale, float | int) else compact(scale)
        if small != 1.0:
            data["scale"] = small
    history = more.pop("history", 1)
    data.update({key: value for key, value in more.items() if value is not None})
    if history > 1:
        data["history"] = history
    return Term(data, size, history)


class TermMaker:
    """Makes the terms of a policy that drives `count` joints; their sizes follow from the type.

    Args:
        commands: number of values of its command.
        history: samples of every term, unless the term has another number.
    """

    def __init__(self, count: int, commands: int = 3, history: int = 1) -> None:
        self._count, self._commands, self._history = count, commands, history

    def __call__(self, kind: str, scale: float | Values | None = None, **more: Any) -> Term:
        size = term_size({"type": kind, **more}, self._count, self._commands)
        assert size is not None, kind
        return term(kind, size, scale, **{"history": self._history, **more})


def velocity_command(**more: Any) -> dict[str, Any]:
    """`command` of a policy that follows velocities; values that are None are dropped."""
    given = {key: value for key, value in more.items() if value is not None}
    return {"names": ["vx", "vy", "wz"], **given}


def compact(values: Values) -> float | list[float]:
    """One number where all are equal."""
    numbers = [float(v) for v in values]
    return numbers[0] if numbers and len(set(numbers)) == 1 else numbers
