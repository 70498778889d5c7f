"""PolicyFile: the declaration of policy.yaml and of its parts."""

import math
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

import numpy as np

from mjrig.components.laws.pipeline_arrays import Precision
from mjrig.components.policies.terms.property_kinds import Limits, Names, PerJoint, one_of
from mjrig.components.policies.terms.term import ObservationTerm
from mjrig.core.arrays import FloatArray, frozen
from mjrig.core.errors import MjrigError, PolicyError, PropertyError
from mjrig.core.files.atomic_writes import write_atomically
from mjrig.core.files.paths import Gate, read_limited
from mjrig.core.names import how_many
from mjrig.core.patterns import Slots
from mjrig.core.properties.collection_kinds import Samples, Table, a_name, a_number, anything
from mjrig.core.properties.component import Component
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import Nested, NestedList
from mjrig.core.properties.scalar_kinds import (
    Bool,
    Choice,
    FilePath,
    Float,
    Int,
    OptionalFloat,
    Text,
)
from mjrig.core.yaml_text.formatting import format_block
from mjrig.core.yaml_text.yaml_document import MAX_CHARACTERS, Document

# Policy parts -------------------------------------------------------------------------------------


class Phase(StrEnum):
    """When a tick occurs relative to the physics step."""

    BEFORE = "before"
    INSIDE = "inside"
    AFTER = "after"


class HistoryOrder(StrEnum):
    """Order of the values in a history."""

    OLDEST_FIRST = "oldest_first"
    NEWEST_FIRST = "newest_first"


class HistoryFill(StrEnum):
    """Fill of a history before the first tick."""

    FIRST = "first"
    ZEROS = "zeros"


class HistoryBy(StrEnum):
    """Layout of histories: grouped by term, or by tick."""

    TERM = "term"
    FRAME = "frame"


class ActionMode(StrEnum):
    """Reference that an action is added to."""

    ABSOLUTE = "absolute"
    DELTA = "delta"
    MEASURED = "measured"


class LastSeen(StrEnum):
    """Form of the action in the next observation."""

    RAW = "raw"
    CLIPPED = "clipped"
    SMOOTHED = "smoothed"


class TargetKind(StrEnum):
    """Quantity that an action commands."""

    POSITION = "position"
    VELOCITY = "velocity"
    EFFORT = "effort"


class StartPhase(HasProperties):
    """Targets and gains from the reset to the first tick.

    With a duration the robot stands first; without, the target is held until the first tick.
    """

    duration = Float(0.0, min=0.0, unit="s", doc="Time before the policy begins.")
    kp = PerJoint(
        min=0.0, unit="N·m/rad", doc="Stiffness during this time; none: the controller's."
    )
    kv = PerJoint(
        min=0.0, unit="N·m·s/rad", doc="Damping during this time; none: the controller's."
    )
    target = PerJoint(
        words=("default", "pose"),
        word="default",
        unit="rad",
        doc="Positions held: the default pose, the `pose` at the reset, or values.",
    )


class HistoryDefault(HasProperties):
    """History of observations, unless a term overrides it."""

    length = Int(1, min=1, max=1000, doc="Values kept, the present one included.")
    order = Choice(HistoryOrder.OLDEST_FIRST, doc="Order of the values.")
    ticks = Samples(
        [], min=0, max=999, doc="How many ticks ago each value is, in order; none: all, by `order`."
    )
    fill = Choice(HistoryFill.FIRST, doc="Fill before the first tick.")
    by = Choice(HistoryBy.TERM, doc="Histories term by term, or frame by frame.")

    def validate(self) -> None:
        if not self.ticks.size:
            return
        if self.ticks.ndim != 1 or np.any(self.ticks % 1.0) or self.ticks.size != self.length:
            raise self.property_named("ticks").error(
                self, f"must be whole numbers, as many as length ({self.length})"
            )


class ObservationRecipe(HasProperties):
    """Observation of the network: terms in order."""

    clip = Limits(doc="Clip bound for the whole vector, after the terms' scales.")
    history = Nested(HistoryDefault, doc="History of earlier values.")
    terms = NestedList(ObservationTerm, doc="Observation terms, in order.")

    @property
    def kept(self) -> HistoryDefault:
        """History of earlier values."""
        return self.history if self.history is not None else HistoryDefault()


class ActionRecipe(HasProperties):
    """Mapping from action to target: `scale · a + offset`, in the order of the joints."""

    mode = Choice(
        ActionMode.ABSOLUTE,
        doc="absolute: s·a + offset; delta: last target + s·a; measured: position + s·a.",
    )
    scale = PerJoint(constant=1.0, doc="Factor per joint.")
    offset = PerJoint(
        words=("default",), word="default", unit="rad", doc="The default pose, or values."
    )
    clip = Limits(each=True, doc="Clip bound for the action, before the scale.")
    clip_target = Limits(
        words=("ctrlrange", "joint_range"),
        each=True,
        doc="Limits of the target: bounds, or the range to use.",
    )
    smoothing = Float(
        1.0, min=0.0, max=1.0, above=True, doc="β in a ← (1 − β)·a_last + β·net; 1: none."
    )
    last = Choice(LastSeen.RAW, doc="Form of the action in LastAction.")
    targets = Table(one_of(TargetKind), doc="Joint pattern → position, velocity or effort.")
    dtype = Choice(Precision.FLOAT32, doc="Precision in which targets are computed.")


class CommandInput(HasProperties):
    """Command input of the policy from a user or script, usually velocities."""

    names = Names(doc="Names of the values.")
    default = Samples([], doc="Values without a user command or schedule; none: zeros.")
    ranges = Samples([], doc="Training range [lowest, highest] per value.")
    schedule = Samples([], doc="Rows of time [s] and values; each holds until the next.")

    @property
    def size(self) -> int:
        """Number of values."""
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
        if self.ranges.size and np.any(self.ranges[:, 0] > self.ranges[:, 1]):
            raise self._problem("ranges", "must have the lowest value first")
        if not self.schedule.size:
            return
        if self.schedule.ndim != 2 or self.schedule.shape[1] != size + 1:
            raise self._problem("schedule", f"must be rows of a time and {how_many(size, 'value')}")
        if np.any(np.diff(self.schedule[:, 0]) <= 0.0):
            raise self._problem("schedule", "must have ascending times")

    def _problem(self, name: str, problem: str) -> PropertyError:
        return self.property_named(name).error(self, f"{problem}, got {self.authored(name)!r}")


class MotionReference(HasProperties):
    """Reference motion of the motion terms."""

    file = FilePath(suffixes=(".npz",), doc="Clip: fps, joint_pos, joint_vel, body_pos_w, …")
    from_network = Bool(False, doc="The network outputs the motion besides the action.")
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
    """Robot parameters in training; compared, never applied. None: unknown."""

    kp = PerJoint(min=0.0, unit="N·m/rad", doc="Stiffness during training.")
    kv = PerJoint(min=0.0, unit="N·m·s/rad", doc="Damping during training.")
    torque_limit = PerJoint(min=0.0, unit="N·m", doc="Largest effort.")
    armature = PerJoint(min=0.0, unit="kg·m²", doc="Rotor inertia at the joint.")
    damping = PerJoint(min=0.0, unit="N·m·s/rad", doc="Passive damping.")
    frictionloss = PerJoint(min=0.0, unit="N·m", doc="Dry friction.")
    recovered = Names(doc="Names of values that were deduced, not read.")


def given(part: HasProperties | None, name: str) -> Any:
    """The values per joint of a part, or None where none are given."""
    if part is None or part.authored(name) is None:
        return None
    values = part.__dict__[name]
    return None if values.size and math.isnan(values.flat[0]) else values


# Policy file --------------------------------------------------------------------------------------


class PolicyFile(Component):
    """A network with its observation recipe, rate, joint order and action scale.

    Values per joint are a number, a list in the order of `joints`, or a mapping of name patterns.
    """

    network = FilePath(
        suffixes=(".onnx", ".pt", ".yaml"),
        doc="The network, relative to this file; .yaml: the description of a LEAPP bundle.",
    )
    joints = Names(doc="Joints (or actuators) it moves, in its own order.")
    aliases = Table(a_name, doc="Joint names in the source → names here; for information.")
    timestep = OptionalFloat(
        None, min=0.0, above=True, unit="s", doc="Physics timestep it was trained with; none: any."
    )
    decimation = Int(1, min=1, max=100_000, unit="steps", doc="Physics steps per tick.")
    phase = Choice(Phase.BEFORE, doc="When a tick occurs relative to the physics step.")
    state = Choice(Precision.FLOAT64, doc="float32: measurements are rounded first.")
    default = PerJoint(unit="rad", doc="Default joint positions.")
    observed = Table(
        a_number, doc="Joints it observes but does not move → default position [rad or m]."
    )
    start = Nested(StartPhase, doc="Targets and gains before the first tick.")
    observation = Nested(ObservationRecipe, doc="Observation of the network.")
    action = Nested(ActionRecipe, doc="Mapping from the network's output to targets.")
    command = Nested(CommandInput, doc="Command input, such as velocities.")
    recurrent = Table(
        a_name,
        doc="Recurrent state: network input → output of the previous tick; found if unambiguous.",
    )
    input = Text("", doc="Network input of the observation; empty: the first that is free.")
    output = Text("", doc="Network output of the action; empty: the first that is free.")
    time_step = Text("", doc="Network input that receives the tick count; empty: none.")
    motion = Nested(MotionReference, doc="Reference motion of the motion terms.")
    trained = Nested(TrainedWith, doc="Robot parameters in training.")
    source = Table(anything, doc="Provenance: stack, files with sha256, notes.")

    def prepare(self) -> None:
        self._path: Path | None = None
        self._admits: Gate | None = None
        self._trusted: tuple[Path, ...] = ()

    @property
    def label(self) -> str:
        return "policy"

    def folder(self) -> Path:
        return self._path.parent if self._path is not None else Path()

    def gate(self) -> Gate | None:
        return self._admits

    def trusted_folders(self) -> tuple[Path, ...]:
        return self._trusted

    @property
    def path(self) -> Path | None:
        """The file it was loaded from or saved to last."""
        return self._path

    def to_data(self) -> dict[str, object]:
        return HasProperties.to_data(self)  # a file needs no type

    # Files --------------------------------------------------------------------------------------

    @classmethod
    def load(
        cls, path: str | Path, gate: Gate | None = None, trusted: tuple[Path, ...] = ()
    ) -> Self:
        """Read a policy.yaml; the modules of `trusted` folders may be run.

        Raises:
            PolicyError: it cannot be read, or a value is invalid:
                `file:line:column: path: …`.
        """
        path = Path(path)
        try:
            text = read_limited(path, 4 * MAX_CHARACTERS).decode("utf-8")
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise PolicyError(f"{path}: cannot be read: {why}") from error
        return cls.parse(text, path, gate, trusted)

    @classmethod
    def parse(
        cls, text: str, path: Path, gate: Gate | None = None, trusted: tuple[Path, ...] = ()
    ) -> Self:
        """Parse a text; file names in it are relative to the folder of `path`.

        Raises:
            PolicyError: a value is invalid.
        """
        try:
            document = Document(text, str(path))
        except MjrigError as error:
            raise PolicyError(str(error)) from error
        if not isinstance(document.data, Mapping):
            raise PolicyError(f"{path}:1:1: must be a mapping, got {document.data!r}")
        made = cls.blank()
        made._path, made._admits, made._trusted = path, gate, trusted
        try:
            made.assign(document.data)
            made.complete()
        except PropertyError as error:
            located = document.error(error.keys, str(error), at=error.at, about_key=error.about_key)
            raise PolicyError(str(located)) from error
        return made

    def save(self, path: str | Path) -> None:
        """Write it as a policy.yaml; `load` gives it back.

        Raises:
            PropertyError: a required value is missing or invalid.
        """
        self.complete()
        write_atomically(Path(path), format_block(self.to_data(), 0) + "\n")
        self._path = Path(path)

    def complete(self) -> None:
        """Check required values, and expand values per joint over `joints`.

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
        """Mapping from the network's output to targets."""
        return self.action if self.action is not None else _spread_like(ActionRecipe(), self)

    @property
    def pose(self) -> FloatArray:
        """The default pose, as precise as the targets: float32 stacks keep it so."""
        if self.action_recipe.dtype is Precision.FLOAT32:
            return frozen(self.default.astype(np.float32))
        return self.default

    @property
    def terms(self) -> tuple[ObservationTerm, ...]:
        """The observation terms, in order."""
        return self.observation.terms if self.observation is not None else ()

    @property
    def target_kinds(self) -> tuple[TargetKind, ...]:
        """The command kind of each joint."""
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
            if self.gate() is not None and self.network.suffix.lower() == ".pt":
                raise PropertyError(
                    "TorchScript is a program, and a sandbox runs none; export the network as ONNX"
                )
            return self.find_file(self.network)
        except PropertyError as error:
            raise self.property_named("network").error(self, str(error)) from None


def _spread_like(part: ActionRecipe, owner: PolicyFile) -> ActionRecipe:
    part.spread_over(owner._slots)
    return part
