"""Estimates of parameters, and what else a fit by one kind of evidence finds."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.control.plant import at_joint
from mjrig.names import listed
from mjrig.tuning.simulated.plant import UNITS, Drives

#: Kinds of evidence.
MOTION, EFFORTS = "motion", "efforts"


@dataclass(frozen=True)
class Estimate:
    """The estimate of one parameter of one joint.

    Attributes:
        value: the best one; without information in the data, the scene's.
        old: the scene's value.
        low, high: 95 % interval; infinite where nothing bounds it, NaN where none can be given.
        identifiable: whether the data determine the value well enough to use it.
        reason: why not, or what the value rests on.
        rests_on: parameters that must be as in the scene for it.
        evidence: `motion` or `efforts`.
        slides: whether it is of a joint that moves along its axis.
    """

    joint: str
    actuator: str
    parameter: str
    value: float
    old: float
    low: float
    high: float
    identifiable: bool = True
    reason: str = ""
    evidence: str = MOTION
    slides: bool = False
    rests_on: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, drives: Drives, place: int, parameter: str,
        value: float, old: float, low: float, high: float,
    ) -> "Estimate":  # fmt: skip
        """An estimate of a joint."""
        joint, actuator, slides = (
            drives.joints[place],
            drives.actuators[place],
            drives.slides[place],
        )
        return cls(joint, actuator, parameter, value, old, low, high, slides=slides)

    @property
    def unit(self) -> str:
        """Of its numbers."""
        return at_joint(UNITS[self.parameter], slides=self.slides)


def as_in_scene(names: Sequence[str]) -> str:
    """What a value rests on, in words."""
    return f"if {listed(names)} {'is' if len(names) == 1 else 'are'} as in the scene"


@dataclass(frozen=True)
class Curves:
    """Positions of joints in a stretch of a recording: recorded, and simulated before and after.

    Attributes:
        recording: its name.
        is_held_out: whether the fit has not seen it.
        time: (n,) [s].
        joints: names of the columns.
        units: of the columns.
        recorded, before, after: (n, joints) [rad or m].
    """

    recording: str
    is_held_out: bool
    time: FloatArray
    joints: tuple[str, ...]
    units: tuple[str, ...]
    recorded: FloatArray
    before: FloatArray
    after: FloatArray


@dataclass(frozen=True)
class Correlated:
    """Two estimates that the recording hardly tells apart, and which motion would."""

    first: str
    second: str
    correlation: float
    remedy: str

    def __str__(self) -> str:
        return (
            f"{self.first} and {self.second} are hardly told apart (correlation "
            f"{self.correlation:+.3f}): {self.remedy} would"
        )


@dataclass(frozen=True)
class Correlations:
    """All correlations: labels, and a matrix (labels, labels)."""

    labels: tuple[str, ...] = ()
    matrix: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass(frozen=True)
class Findings:
    """Estimates from one kind of evidence.

    `before` and `after`: joint → root mean square of the residuals with the scene's and with the
    fitted values, of positions [rad or m] or of efforts [N·m or N]. `rejection` is why the model
    cannot be right; empty: nothing speaks against it. `held_before` and `held_after` are of what
    the fit has not seen.
    """

    estimates: tuple[Estimate, ...] = ()
    before: dict[str, float] = field(default_factory=dict)
    after: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    converged: bool = True
    rejection: str = ""
    held_before: dict[str, float] = field(default_factory=dict)
    held_after: dict[str, float] = field(default_factory=dict)
    curves: tuple[Curves, ...] = ()
    correlations: Correlations = field(default_factory=Correlations)
    correlated: tuple[Correlated, ...] = ()
