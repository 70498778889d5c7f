"""ReplayCase: a recording, the world it is replayed in and the error, as hypotheses need them."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from mjrig.core.findings import Finding
from mjrig.core.sim.world import World
from mjrig.data.recording.recording import ActorRecording, Recording
from mjrig.lab.replay.comparison import Comparison, compare
from mjrig.lab.replay.diagnosis.control_law import with_laws
from mjrig.lab.replay.diagnosis.hypothesis import MIN_SAMPLES, Alternative, Aspect, Case
from mjrig.lab.replay.diagnosis.predictions import Segments
from mjrig.lab.replay.matching import match
from mjrig.lab.replay.plant_edit import CannotEdit, PlantEdit
from mjrig.lab.replay.players import TargetsPlayer
from mjrig.lab.rollouts.tracks import record

#: How long after the first divergence the error is measured: later it is amplified chaos [s].
AFTER = 1.0
#: An error below this can only be rounding [rad or m] …
ROUND_OFF = 1e-11
#: … and if it needs longer than this to grow to `GROWN`, nothing else was added to it [s].
#: Walking humanoids multiply an error by a thousand in about two seconds.
SLOWLY = 0.3
GROWN = 1e-5
#: An order or a sign is suspected only for errors above this [rad or m].
GROSS = 1e-2


class ReplayCase(Case):
    """Recorded setpoints in a world, the error that they had there, and that with a change."""

    aspects = frozenset(
        {Aspect.CONTROLLER, Aspect.PLANT, Aspect.SETPOINTS, Aspect.BODY, Aspect.STATE}
    )

    def __init__(
        self,
        recording: Recording,
        world: World,
        robot: str,
        comparison: Comparison,
        tolerance: float,
        *,
        resample: bool = False,
    ) -> None:
        self.stated = {a.name: a.plant for a in recording.actors.values()}
        self.recording = with_laws(recording)
        self.world, self.robot, self.comparison = world, robot, comparison
        self.resample, self._tolerance = resample, tolerance
        self.is_measured = recording.is_measured
        self.matches = match(self.recording, world, robot)
        beginnings = (self.first_above(error) for error in (GROSS, tolerance))
        end = next((t for t in beginnings if t is not None), recording.duration)
        self._until = min(recording.duration, end + AFTER)
        self.before = comparison.rms_until(self._until)

    def missing(self, aspect: Aspect) -> str | None:
        """Why an aspect is not judged; empty: it is; None: nothing about it is in question."""
        if aspect is Aspect.CONTROLLER:
            grown, time = self.first_above(GROWN), self.comparison.time
            begins_tiny = grown is None or grown > time[min(MIN_SAMPLES, len(time) - 1)]
            return "" if begins_tiny and not self.comparison.bit_exact else None
        if aspect is Aspect.BODY and self.segments is None:
            return None
        return None if self.is_round_off and aspect is not Aspect.PLANT else ""

    def first_above(self, size: float) -> float | None:
        """When the error first exceeds a size [s]; None: never."""
        rows = np.flatnonzero(~(self.comparison.error <= size))
        return float(self.comparison.time[rows[0]]) if len(rows) else None

    @cached_property
    def is_round_off(self) -> bool:
        """Whether the error starts tiny and only grows as fast as a robot amplifies it."""
        if not self.comparison.max_abs_position_error:
            return False  # it ended early, or only velocities differ
        tiny, grown = self.first_above(ROUND_OFF), self.first_above(GROWN)
        if tiny is None:
            return True
        time = self.comparison.time
        at_once = len(time) > 1 and tiny <= time[1]
        return not at_once and (grown is None or grown - tiny > SLOWLY)

    @property
    def large_errors(self) -> list[ActorRecording]:
        """The robots, if the error is large enough for another order or sign."""
        is_large = self.comparison.max_abs_position_error > GROSS
        return [pair.recorded for pair in self.matches] if is_large else []

    @cached_property
    def segments(self) -> Segments | None:
        """Short predictions; None: there are no states to start them from."""
        segments = Segments(self.recording, self.world, self.robot)
        return segments if segments.usable else None

    # Runs ---------------------------------------------------------------------------------------

    def error(self, recording: Recording | None = None, world: World | None = None) -> float:
        """RMS position error in the window, with everything as it is now."""
        recording, here = recording or self.recording, world or self.world
        resample = self.resample or world is not None
        with TargetsPlayer(recording, here, robot=self.robot, resample=resample) as player:
            player.start()
            steps = max(1, round(self._until / here.timestep))
            track = record(here, min(steps, player.steps))
            ratio, matches = player.ratio, player.matches
        result = compare(recording, matches, track, tolerance=self._tolerance, ratio=ratio)
        return np.inf if track.diverged else result.rms_until(self._until)

    def reading(self, finding: Finding, recording: Recording) -> Alternative:
        """Another reading of the recording, to be tried."""
        return Alternative(finding, run=partial(self.error, recording))

    def share(self, error: float) -> float:
        """Aspect of the error that is removed."""
        return 1.0 - error / self.before if self.before > 0.0 and np.isfinite(error) else 0.0

    def tried(self, alternative: Alternative) -> Finding:
        """The finding with the share of the error that one run with an alternative removes."""
        return replace(alternative.finding, share=self.share(self._error_with(alternative)))

    def _error_with(self, alternative: Alternative) -> float:
        if alternative.change is not None:
            robot, change = alternative.change
            with PlantEdit(self.world, robot) as edit:
                try:
                    change(edit)
                except CannotEdit:
                    if alternative.run is None:
                        raise
                else:
                    return self.error()
        assert alternative.run is not None
        return alternative.run()

    def tried_together(self, alternatives: Sequence[Alternative]) -> float:
        """The share that all changes of the running world remove together."""
        edits = []
        try:
            for robot, change in (c.change for c in alternatives if c.change is not None):
                edits.append(PlantEdit(self.world, robot))
                with suppress(CannotEdit):
                    change(edits[-1])
            return self.share(self.error())
        finally:
            for edit in reversed(edits):
                edit.undo()
