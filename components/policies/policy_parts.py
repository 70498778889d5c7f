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

    def _own_validate(self) -> None:
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
    """Reference motion of the motion terms."""

    file = FilePath(suffixes=(".npz",), doc="Clip: fps, joint_pos, joint_vel, body_pos_w, …")
    from_network = Bool(False, doc="The network outputs the motion besides the action.")
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
