"""The parts of a policy file: start, observation, action, command, motion, training."""

import math
from enum import StrEnum
from typing import Any

import numpy as np

from mjrig.components.laws.space import Precision
from mjrig.components.policies.terms.kinds import Limits, Names, PerJoint, one_of
from mjrig.components.policies.terms.term import ObservationTerm
from mjrig.errors import PropertyError
from mjrig.names import how_many
from mjrig.properties.array_kinds import Samples
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.mapping_kinds import Table
from mjrig.properties.nested_kinds import Nested, NestedList
from mjrig.properties.scalar_kinds import Bool, Choice, FilePath, Float, Int, Text


class Phase(StrEnum):
    """Where in the loop of physics steps a tick falls."""

    BEFORE = "before"
    INSIDE = "inside"
    AFTER = "after"


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

    def _own_validate(self) -> None:
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
    """The motion that motion terms refer to."""

    file = FilePath(suffixes=(".npz",), doc="Clip: fps, joint_pos, joint_vel, body_pos_w, …")
    from_network = Bool(False, doc="The network gives the motion beside the action.")
    anchor = Text("", doc="Body that is compared with the motion.")
    bodies = Names(doc="The bodies of the motion, in its order.")
    joints = Names(doc="The joints of the motion, in its order; none: the policy's.")

    def _own_validate(self) -> None:
        if self.from_network and self.file is not None:
            raise PropertyError(f"{self.label}: give a file or from_network, not both", ("file",))
        if self.bodies and self.anchor and self.anchor not in self.bodies:
            raise self.property_named("anchor").error(
                self, f"{self.anchor!r} is not one of the bodies"
            )


class TrainedWith(HasProperties):
    """What the robot was like in training; compared, never applied. None: not known."""

    kp = PerJoint(min=0.0, unit="N·m/rad", doc="Stiffness during training.")
    kv = PerJoint(min=0.0, unit="N·m·s/rad", doc="Damping during training.")
    torque_limit = PerJoint(min=0.0, unit="N·m", doc="Largest effort.")
    armature = PerJoint(min=0.0, unit="kg·m²", doc="Rotor inertia at the joint.")
    damping = PerJoint(min=0.0, unit="N·m·s/rad", doc="Passive damping.")
    frictionloss = PerJoint(min=0.0, unit="N·m", doc="Dry friction.")
    recovered = Names(doc="Which of these were deduced, not read.")


def given(part: HasProperties | None, name: str) -> Any:
    """The values per joint of a part, or None where nothing was written."""
    if part is None or part.authored(name) is None:
        return None
    values = part.__dict__[name]
    return None if values.size and math.isnan(values.flat[0]) else values
