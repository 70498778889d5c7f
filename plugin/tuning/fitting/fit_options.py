"""How a fit is done: evidence, windows, what is assumed beforehand, what is held out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mjrig.errors import FitError
from mjrig.names import suggestion
from mjrig.recording.recording import Recording
from mjrig.tuning.fitting.evidence import AUTO, EVIDENCE
from mjrig.tuning.simulated.fit_data import RecordedTrack
from mjrig.tuning.simulated.held_out import SHORTEST

#: The share of a recording that is held out, and the largest that can be.
VALIDATE, MOST_HELD_OUT = 0.25, 0.8


@dataclass(frozen=True)
class FitOptions:
    """How a fit is done.

    Attributes:
        evidence: `motion`; `efforts`, for kp, kv, delay and torque_limit; `auto`: efforts for these
            where they are recorded and the base is free to touch the ground, motion for the rest.
        together: include dynamic coupling between joints in the derivatives; False: joint by
            joint, which is faster, and as good for weakly coupled joints.
        window: length of the windows [s]; inf: whole recordings; None: whole recordings of fixed
            robots, 0.04 s of free ones.
        prior: standard deviation around the scene's values that is assumed beforehand, as a share
            of them; None: 0.5 for bodies, nothing for joints.
        validate: what the fit does not see and is judged by: a share of each recording, or
            recordings; None: nothing. By default a quarter of recordings of 2 s and more.
    """

    evidence: str = AUTO
    together: bool = True
    window: float | None = None
    prior: float | None = None
    validate: float | Sequence[Recording | str | Path] | None = VALIDATE

    def check(self) -> None:
        """Refuse what is out of range.

        Raises:
            FitError: the message names the option and what would be right.
        """
        if self.evidence not in EVIDENCE:
            hint = suggestion(self.evidence, EVIDENCE)
            raise FitError(f"unknown evidence {self.evidence!r}; {hint}")
        share = self.validate
        if isinstance(share, float | int) and not 0.0 < share <= MOST_HELD_OUT:
            raise FitError(
                "validate: the share that is held out must be above 0 and at most "
                f"{MOST_HELD_OUT:g}, got {share:g}; none: nothing is held out"
            )
        if self.prior is not None and not 0.0 < self.prior < np.inf:
            raise FitError(f"prior: must be above 0, got {self.prior:g}")

    @property
    def others(self) -> Sequence[Recording | str | Path]:
        """Recordings that are held out as a whole."""
        given = self.validate
        return () if given is None or isinstance(given, float | int) else given

    def share(self, tracks: Sequence[RecordedTrack], timestep: float) -> tuple[float | None, str]:
        """The share of each recording that is held out, and what is said if there is none."""
        share = self.validate
        if share is None or not isinstance(share, float | int):
            return None, ""
        shortest = min(float(t.step[-1] - t.step[0]) * timestep for t in tracks)
        if share == VALIDATE and shortest < SHORTEST:
            return None, ""
        return float(share), "nothing could be held out: the error is that of what was fitted to"
