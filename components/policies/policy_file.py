"""PolicyFile: what a policy.yaml says, declared once."""

import math
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

import numpy as np

from mjrig.component import Component
from mjrig.components.policies.kinds import Limits, Names, PerJoint, one_of
from mjrig.components.policies.term import ObservationTerm
from mjrig.errors import MjrigError, PolicyError, PropertyError
from mjrig.files import Gate, read_limited, write_atomically
from mjrig.loose_kinds import Table, a_name, anything
from mjrig.names import Slots, how_many
from mjrig.properties import HasProperties
from mjrig.property_kinds import (
    Bool,
    Choice,
    FilePath,
    Float,
    FloatArray,
    Int,
    Nested,
    NestedList,
    OptionalFloat,
    Samples,
    Text,
)
from mjrig.yaml_document import MAX_CHARACTERS, Document
from mjrig.yaml_edit import format_block


class Phase(StrEnum):
    """Where in the loop of physics steps a tick falls."""

    BEFORE = "before"
    INSIDE = "inside"
    AFTER = "after"


class Precision(StrEnum):
    """Of numbers."""

    FLOAT32 = "float32"
    FLOAT64 = "float64"


class HistoryOrder(StrEnum):
    """Which value of a history comes first."""

    OLDEST_FIRST = "oldest_first"
    NEWEST_FIRST = "newest_first"


class HistoryFill(StrEnum):
    """What stands for values before the first tick."""

    FIRST = "first"
    ZEROS = "zeros"


class HistoryBy(StrEnum):
    """Whether the values of one term stand together, or those of one tick."""

    TERM = "term"
    FRAME = "frame"


class ActionMode(StrEnum):
    """What an action is added to."""

    ABSOLUTE = "absolute"
    DELTA = "delta"
    MEASURED = "measured"


class LastSeen(StrEnum):
    """Which form of the action the next observation sees."""

    RAW = "raw"
    CLIPPED = "clipped"
    SMOOTHED = "smoothed"


class TargetKind(StrEnum):
    """What an action commands."""

    POSITION = "position"
    VELOCITY = "velocity"
    EFFORT = "effort"


class StartPhase(HasProperties):
    """What is commanded from the reset to the first tick.

    With a duration the robot stands first; without, the target holds until the first tick.
    """

    duration = Float(0.0, min=0.0, unit="s", doc="Time before the policy begins.")
    kp = PerJoint(min=0.0, unit="N·m/rad", doc="Stiffness meanwhile; none: as the controller's.")
    kv = PerJoint(min=0.0, unit="N·m·s/rad", doc="Damping meanwhile; none: as the controller's.")
    target = PerJoint(
        words=("default", "pose"),
        word="default",
        unit="rad",
        doc="Positions held: the default pose, the `pose` at the reset, or values.",
    )


class HistoryDefault(HasProperties):
    """How the values of earlier ticks are kept, unless a term says otherwise."""

    length = Int(1, min=1, max=1000, doc="Values kept, the present one included.")
    order = Choice(HistoryOrder.OLDEST_FIRST, doc="Which value comes first.")
    fill = Choice(HistoryFill.FIRST, doc="What stands for values before the first tick.")
    by = Choice(HistoryBy.TERM, doc="Histories term by term, or frame by frame.")


class ObservationRecipe(HasProperties):
    """What the network sees: terms in order."""

    clip = Limits(doc="Bound of the whole vector, after the terms' scales.")
    history = Nested(HistoryDefault, doc="How earlier values are kept.")
    terms = NestedList(ObservationTerm, doc="What it is made of, in order.")

    @property
    def kept(self) -> HistoryDefault:
        """How earlier values are kept."""
        return self.history if self.history is not None else HistoryDefault()


class ActionRecipe(HasProperties):
    """How an action becomes a target: `scale · a + offset`, in the order of the joints."""

    mode = Choice(
        ActionMode.ABSOLUTE,
        doc="absolute: s·a + offset; delta: last target + s·a; measured: position + s·a.",
    )
    scale = PerJoint(constant=1.0, doc="Factor per joint.")
    offset = PerJoint(
        words=("default",), word="default", unit="rad", doc="The default pose, or values."
    )
    clip = Limits(each=True, doc="Of the action, before the scale.")
    clip_target = Limits(
        words=("ctrlrange", "joint_range"), each=True, doc="Of the target; or whose range it is."
    )
    smoothing = Float(
        1.0, min=0.0, max=1.0, above=True, doc="β in a ← (1 − β)·a_last + β·net; 1: none."
    )
    last = Choice(LastSeen.RAW, doc="What LastAction sees.")
    targets = Table(one_of(TargetKind), doc="Joint pattern → position, velocity or effort.")
    dtype = Choice(Precision.FLOAT32, doc="Targets are computed so.")


class CommandInput(HasProperties):
    """What a person or a script tells the policy: speeds, usually."""

    names = Names(doc="What the values are.")
    default = Samples([], doc="Values while nobody says anything; none: zeros.")
    ranges = Samples([], doc="[lowest, highest] per value: what it was trained for.")
    schedule = Samples([], doc="Rows of time [s] and values; each holds until the next.")

    @property
    def size(self) -> int:
        """How many values it takes."""
        if self.names:
            return len(self.names)
        if self.default.size:
            return int(self.default.size)
        return int(self.schedule.shape[1]) - 1 if self.schedule.ndim == 2 else 0

    def validate(self) -> None:
        size = self.size
        if self.default.ndim != 1 or self.default.size not in (0, size):
            raise self._problem("default", f"must have {how_many(size, 'value')}")
        if self.ranges.size and (self.ranges.shape != (size, 2)):
            raise self._problem("ranges", f"must have {how_many(size, 'pair')} [lowest, highest]")
        if not self.schedule.size:
            return
        if self.schedule.ndim != 2 or self.schedule.shape[1] != size + 1:
            raise self._problem("schedule", f"must be rows of a time and {how_many(size, 'value')}")
        if np.any(np.diff(self.schedule[:, 0]) <= 0.0):
            raise self._problem("schedule", "must have ascending times")

    def _problem(self, name: str, problem: str) -> PropertyError:
        return self.property_named(name).error(self, f"{problem}, got {self.authored(name)!r}")


class MotionReference(HasProperties):
    """The motion that motion terms refer to."""

    file = FilePath(suffixes=(".npz",), doc="Clip: fps, joint_pos, joint_vel, body_pos_w, …")
    from_network = Bool(False, doc="The network gives the motion beside the action.")
    anchor = Text("", doc="Body that is compared with the motion.")
    bodies = Names(doc="The bodies of the motion, in its order.")
    joints = Names(doc="The joints of the motion, in its order; none: the policy's.")

    def validate(self) -> None:
        if self.from_network and self.file is not None:
            raise PropertyError(f"{self.label}: give a file or from_network, not both", ("file",))
        if self.bodies and self.anchor and self.anchor not in self.bodies:
            raise self.property_named("anchor").error(
                self, f"{self.anchor!r} is not one of the bodies"
            )


class TrainedWith(HasProperties):
    """What the robot was like in training; compared, never applied. None: not known."""

    kp = PerJoint(min=0.0, unit="N·m/rad", doc="Stiffness.")
    kv = PerJoint(min=0.0, unit="N·m·s/rad", doc="Damping.")
    torque_limit = PerJoint(min=0.0, unit="N·m", doc="Largest effort.")
    armature = PerJoint(min=0.0, unit="kg·m²", doc="Rotor inertia at the joint.")
    damping = PerJoint(min=0.0, unit="N·m·s/rad", doc="Passive damping.")
    frictionloss = PerJoint(min=0.0, unit="N·m", doc="Dry friction.")
    recovered = Names(doc="Which of these were deduced, not read.")


class PolicyFile(Component):
    """A network with its observation recipe, rate, joint order and action scale.

    Values per joint are a number, a list in the order of `joints`, or a mapping of name patterns.
    """

    network = FilePath(suffixes=(".onnx", ".pt"), doc="The network, relative to this file.")
    joints = Names(doc="Joints (or actuators) it moves, in its own order.")
    aliases = Table(a_name, doc="Names the source uses → ours; information.")
    timestep = OptionalFloat(
        None, min=0.0, above=True, unit="s", doc="Physics timestep it was made for; none: any."
    )
    decimation = Int(1, min=1, max=100_000, unit="steps", doc="Physics steps per tick.")
    phase = Choice(Phase.BEFORE, doc="Where in the loop of physics steps a tick falls.")
    state = Choice(Precision.FLOAT64, doc="float32: measurements are rounded first.")
    default = PerJoint(unit="rad", doc="Default joint positions.")
    start = Nested(StartPhase, doc="What is commanded before the first tick.")
    observation = Nested(ObservationRecipe, doc="What the network sees.")
    action = Nested(ActionRecipe, doc="How its output becomes targets.")
    command = Nested(CommandInput, doc="What it is told.")
    recurrent = Table(a_name, doc="Network input → output of the tick before; found if clear.")
    input = Text("", doc="Network input of the observation; empty: the first that is free.")
    output = Text("", doc="Network output of the action; empty: the first that is free.")
    time_step = Text("", doc="Network input that is fed the number of the tick; empty: none.")
    motion = Nested(MotionReference, doc="The motion that motion terms refer to.")
    trained = Nested(TrainedWith, doc="What the robot was like in training.")
    source = Table(anything, doc="Where it comes from: stack, files with sha256, notes.")

    def prepare(self) -> None:
        self._path: Path | None = None
        self._admits: Gate | None = None

    @property
    def label(self) -> str:
        return "policy"

    def folder(self) -> Path:
        return self._path.parent if self._path is not None else Path()

    def gate(self) -> Gate | None:
        return self._admits

    @property
    def path(self) -> Path | None:
        """The file it was loaded from or saved to last."""
        return self._path

    def to_data(self) -> dict[str, object]:
        return HasProperties.to_data(self)  # a file needs no type

    # Files --------------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: str | Path, gate: Gate | None = None) -> Self:
        """Read a policy.yaml.

        Raises:
            PolicyError: it cannot be read, or something in it does not fit:
                `file:line:column: path: …`.
        """
        path = Path(path)
        try:
            text = read_limited(path, 4 * MAX_CHARACTERS).decode("utf-8")
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise PolicyError(f"{path}: cannot be read: {why}") from error
        return cls.parse(text, path, gate)

    @classmethod
    def parse(cls, text: str, path: Path, gate: Gate | None = None) -> Self:
        """What a text says; file names in it are relative to the folder of `path`.

        Raises:
            PolicyError: something in it does not fit.
        """
        try:
            document = Document(text, str(path))
        except MjrigError as error:
            raise PolicyError(str(error)) from error
        if not isinstance(document.data, Mapping):
            raise PolicyError(f"{path}:1:1: must be a mapping, got {document.data!r}")
        made = cls.blank()
        made._path, made._admits = path, gate
        try:
            made.assign(document.data)
            made.complete()
        except PropertyError as error:
            said = document.error(error.keys, str(error), at=error.at, about_key=error.about_key)
            raise PolicyError(str(said)) from error
        return made

    def save(self, path: str | Path) -> None:
        """Write it as a policy.yaml; `load` gives it back.

        Raises:
            PropertyError: something that must be there is missing, or does not fit.
        """
        self.complete()
        write_atomically(Path(path), format_block(self.to_data(), 0) + "\n")
        self._path = Path(path)

    def complete(self) -> None:
        """Check what must be there, and spread the values per joint over `joints`.

        Raises:
            PropertyError: something is missing, or a list or pattern does not fit the joints.
        """
        if self.network is None:
            raise PropertyError("policy: needs a network: policy.onnx")
        if not self.joints:
            raise PropertyError("policy: needs joints: the names in the network's order")
        if self.observation is None or not self.observation.terms:
            raise PropertyError("policy: needs observation.terms: what the network sees, in order")
        self.spread_over(Slots([(name,) for name in self.joints], "", "joint"))
        kinds = self.action_recipe.targets
        if kinds:
            action = self.action_recipe
            try:
                Slots([(n,) for n in self.joints], "", "joint").spread(kinds)
            except MjrigError as error:
                problem = action.property_named("targets").error(action, str(error))
                raise problem.below("action") from None

    # What others read ---------------------------------------------------------------------------

    @property
    def action_recipe(self) -> ActionRecipe:
        """How the output becomes targets."""
        return self.action if self.action is not None else _spread_like(ActionRecipe(), self)

    @property
    def pose(self) -> FloatArray:
        """The default pose, as precise as the targets: float32 stacks keep it so."""
        if self.action_recipe.dtype is Precision.FLOAT32:
            return self.default.astype(np.float32).astype(np.float64)
        return self.default

    @property
    def terms(self) -> tuple[ObservationTerm, ...]:
        """What the network sees, in order."""
        return self.observation.terms if self.observation is not None else ()

    @property
    def target_kinds(self) -> tuple[TargetKind, ...]:
        """What each joint is commanded."""
        slots = Slots([(name,) for name in self.joints], "", "joint")
        chosen = slots.spread(self.action_recipe.targets)
        return tuple(
            chosen[i][1] if i in chosen else TargetKind.POSITION for i in range(len(slots))
        )

    def network_file(self) -> Path:
        """The file of the network.

        Raises:
            PropertyError: there is none, or it may not be read.
        """
        assert self.network is not None
        try:
            return self.find_file(self.network)
        except PropertyError as error:
            raise self.property_named("network").error(self, str(error)) from None


def given(part: HasProperties | None, name: str) -> Any:
    """The values per joint of a part, or None where nothing was written."""
    if part is None or part.authored(name) is None:
        return None
    values = part.__dict__[name]
    return None if values.size and math.isnan(values.flat[0]) else values


def _spread_like(part: ActionRecipe, owner: PolicyFile) -> ActionRecipe:
    part.spread_over(owner._slots)
    return part
