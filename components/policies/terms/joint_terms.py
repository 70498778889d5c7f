"""Joint terms: positions, velocities, target errors, last action."""

from abc import ABC
from typing import ClassVar

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.policies.terms.kinds import Names
from mjrig.components.policies.terms.term import ObservationTerm, missing
from mjrig.components.policies.terms.view import Indices, View
from mjrig.errors import BindingError
from mjrig.names import Slots
from mjrig.pattern_budget import pattern_budget
from mjrig.properties.scalar_kinds import Bool, Patterns


class _JointTerm(ObservationTerm, ABC):
    """Base class of joint terms: a selection of joints in order."""

    over_worlds: ClassVar[bool] = True
    #: Whether it reads what is measured: then joints that are only observed are among its own.
    measures: ClassVar[bool] = True

    joints = Names(doc="Joints, in this order; none: all that the policy moves.")

    def connect(self, view: View) -> int:
        self._view = view
        known = view.joints if self.measures else view.joints[: view.moved]
        names = self.joints or view.joints[: view.moved]
        for name in names:
            if name not in known:
                raise missing(self, "joint of the policy", name, known)
        self._columns = np.array([view.joints.index(n) for n in names], dtype=np.intp)
        self._own: Indices | slice = self._columns
        first = int(self._columns[0])
        if np.array_equal(self._columns, np.arange(first, first + len(names))):
            self._own = slice(first, first + len(names))  # a view instead of a copy
        return len(names)

    @pattern_budget()
    def matching(self, patterns: tuple[str, ...], what: str) -> Indices:
        """Indices in this term of the joints that match patterns.

        Raises:
            BindingError: one matches nothing.
        """
        slots = Slots([(self._view.joints[i],) for i in self._columns], "", "joint")
        try:
            found = [i for pattern in patterns for i in slots.match(pattern)]
        except BindingError as error:
            raise BindingError(f"{self.label}.{what}: {error}") from None
        return np.array(sorted(set(found)), dtype=np.intp)


class JointPositions(_JointTerm):
    """Joint positions [rad or m], absolute or relative to the default pose."""

    relative = Bool(True, doc="Subtract the default pose.")
    zero = Patterns((), doc="Joints whose entries are always zero: wheels.")

    def connect(self, view: View) -> int:
        size = super().connect(view)
        self._zero = self.matching(self.zero, "zero")
        self._default = view.default[self._columns] if self.relative else np.zeros(size)
        return size

    def measure(self, out: FloatArray) -> None:
        np.subtract(self._view.position[..., self._own], self._default, out=out)
        if self._zero.size:
            out[..., self._zero] = 0.0


class JointVelocities(_JointTerm):
    """Joint velocities [rad/s or m/s]."""

    zero = Patterns((), doc="Joints whose entries are always zero.")

    def connect(self, view: View) -> int:
        size = super().connect(view)
        self._zero = self.matching(self.zero, "zero")
        return size

    def measure(self, out: FloatArray) -> None:
        out[...] = self._view.velocity[..., self._own]
        if self._zero.size:
            out[..., self._zero] = 0.0


class JointTargetErrors(_JointTerm):
    """Joint position errors q − q* [rad or m]."""

    measures: ClassVar[bool] = False

    def measure(self, out: FloatArray) -> None:
        position, target = self._view.position, self._view.target
        np.subtract(position[..., self._own], target[..., self._own], out=out)


class LastAction(_JointTerm):
    """The action of the previous tick, zeros at first, in the form given by `action.last`."""

    measures: ClassVar[bool] = False

    def measure(self, out: FloatArray) -> None:
        out[...] = self._view.last[..., self._own]
