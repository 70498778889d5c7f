"""Diagnosis of a recording, in stages: no simulation, short predictions, whole runs.

Whole runs undo one difference to the recording at a time and measure the effect.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import mujoco
import numpy as np

from mjrig.core.control.policy import PolicyComponent
from mjrig.core.errors import MjrigError
from mjrig.core.findings import Finding
from mjrig.core.sim.plant_parameters import plant_of
from mjrig.core.sim.world import World
from mjrig.data.recording.recording import Recording
from mjrig.lab.findings.rendering import removes
from mjrig.lab.replay.comparison import Comparison, compare
from mjrig.lab.replay.diagnosis.body_checks import NAMED, SUSPECTED, SUSPICION, BodyChecks
from mjrig.lab.replay.diagnosis.control_law import exceeded, with_laws
from mjrig.lab.replay.diagnosis.joint_order import (
    order_findings,
    shifted,
    with_quaternions,
)
from mjrig.lab.replay.diagnosis.plant_differences import (
    PlantDifference,
    apply,
    differences,
    plant_fix,
)
from mjrig.lab.replay.diagnosis.policy_checks import check_policy
from mjrig.lab.replay.diagnosis.precision_checks import PRECISION, other_precisions
from mjrig.lab.replay.diagnosis.short_predictions import OneStep, Segments, size
from mjrig.lab.replay.diagnosis.term_checks import QUATERNIONS, quaternion_finding
from mjrig.lab.replay.finding import repair, replay_finding
from mjrig.lab.replay.matching import Match, match
from mjrig.lab.replay.plant_edit import CannotEdit, PlantEdit
from mjrig.lab.replay.players import TargetsPlayer
from mjrig.lab.replay.result import UNCLEAR
from mjrig.lab.replay.start_state import is_same_model
from mjrig.lab.rollouts.tracks import record
from mjrig.lab.rollouts.world_copy import twin

# Quietly ------------------------------------------------------------------------------------------
# Trying values that may diverge, without warnings of them.


def _nothing(*_: object) -> bool:
    return False


@contextmanager
def quietly() -> Iterator[None]:
    """No warnings of MuJoCo or mjrig: a value that diverges is only a bad guess."""
    before, logger = mujoco.get_mju_user_warning(), logging.getLogger("mjrig")
    mujoco.set_mju_user_warning(lambda text: None)
    logger.addFilter(_nothing)
    try:
        yield
    finally:
        logger.removeFilter(_nothing)
        mujoco.set_mju_user_warning(before)


# Diagnosis ----------------------------------------------------------------------------------------
# Diagnosis of a replay: undo one difference to the recording at a time, and measure.


#: How long after the first divergence the error is measured: later it is amplified chaos [s].
AFTER = 1.0
#: An error below this can only be rounding [rad or m] …
ROUND_OFF = 1e-11
#: … and if it needs longer than this to grow to `GROWN`, nothing else was added to it [s].
#: Walking humanoids multiply an error by a thousand in about two seconds.
SLOWLY = 0.3
GROWN = 1e-5
#: An order, a sign or a shift is suspected only for errors above this [rad or m].
GROSS = 1e-2
#: What explains more than this share of the error is a cause.
CAUSE = 0.5
#: With this share explained, no further causes are sought.
ENOUGH = 0.95
#: Shifts of setpoints that are tried: steps within a tick at most, and whole ticks.
NEAR, TICKS = 10, 3
#: Of a difference that is rounding, this share may stay with the right precision; it is tiny for
#: at least so many samples.
ROUNDED, TINY = 1e-6, 3
#: Body properties that are confirmed by running.
CONFIRMED = 2


class Diagnosis:
    """Finds the causes; `run` returns the findings, the most important first, and notes."""

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
        self._limits = {
            a.name: frozenset(a.plant.joints.get("torque_limit", {}))
            for a in recording.actors.values()
        }
        recording = with_laws(recording)
        self._recording, self._world, self._robot = recording, world, robot
        self._comparison, self._resample, self._tolerance = comparison, resample, tolerance
        self._matches = match(recording, world, robot)
        end = next(
            (t for e in (GROSS, tolerance) if (t := _first_above(comparison, e)) is not None),
            recording.duration,
        )
        self._until = min(recording.duration, end + AFTER)
        self._error = comparison.rms_until(self._until)
        self._notes: list[str] = []

    def run(self) -> tuple[list[Finding], list[str]]:
        """Findings and notes."""
        with quietly():
            found = list(self._precision()) or self._found()
        if self._is_round_off() and not any(f.kind == PRECISION for f in found):
            above = _first_above(self._comparison, ROUND_OFF)
            since = "" if above is None else f" until {above:.2f} s, then it grows smoothly"
            self._notes.append(
                f"the difference comes from rounding: below {ROUND_OFF:g}{since}; no finding"
            )
        self._saturation()
        return found, self._notes

    def _found(self) -> list[Finding]:
        """What is listed, then the setpoints, then the body: until something explains it."""
        found = list(self._plants())
        together = self._all_together() if len(found) > 1 else 0.0
        for look in (self._commands, self._body):
            if not self._is_round_off() and max(_best(found), together) < ENOUGH:
                found += look()
        if not self._is_round_off() and max(_best(found), together) < CAUSE:
            found = [*self._state_edits(), *found]
            self._other_model()
        return sorted(found, key=lambda f: -1.0 if f.share is None else f.share, reverse=True)

    def _is_round_off(self) -> bool:
        """Whether the error starts tiny and only grows as fast as a robot amplifies it."""
        if not self._comparison.max_abs_position_error:
            return False  # it ended early, or only velocities differ
        tiny, grown = (_first_above(self._comparison, e) for e in (ROUND_OFF, GROWN))
        if tiny is None:
            return True
        time = self._comparison.time
        at_once = len(time) > 1 and tiny <= time[1]
        return not at_once and (grown is None or grown - tiny > SLOWLY)

    # Re-simulation ------------------------------------------------------------------------------

    def error(self, recording: Recording | None = None, world: World | None = None) -> float:
        """RMS position error in the window, with everything as it is now."""
        recording = recording or self._recording
        resample = self._resample or world is not None
        with TargetsPlayer(
            recording, world or self._world, robot=self._robot, resample=resample
        ) as player:
            player.start()
            steps = max(1, round(self._until / (world or self._world).timestep))
            track = record(world or self._world, min(steps, player.steps))
            ratio, matches = player.ratio, player.matches
        found = compare(recording, matches, track, tolerance=self._tolerance, ratio=ratio)
        return np.inf if track.diverged else found.rms_until(self._until)

    def _share(self, error: float) -> float:
        """Part of the error that is removed."""
        if self._error <= 0.0 or not np.isfinite(error):
            return 0.0
        return 1.0 - error / self._error

    # Plants -------------------------------------------------------------------------------------

    def _differences(self) -> Iterator[tuple[Match, PlantDifference]]:
        for pair in self._matches:
            names = {a.name: b.name for a, b in pair.joints}
            here = plant_of(self._world, pair.robot)
            for difference in differences(pair.recorded.plant, here, names):
                yield pair, difference
            yield from self._exceeded(pair, here.joints.get("torque_limit", {}))
            late = {j: v for j, v in here.joints.get("delay", {}).items() if v > 0.0}
            is_unsaid = "delay" not in pair.recorded.plant.joints
            if late and is_unsaid and not self._recording.is_measured:
                # A simulation that does not mention a delay most likely had none; robots have one.
                yield pair, PlantDifference("delay", dict.fromkeys(late, 0.0), late, tuple(late))

    def _exceeded(
        self, pair: Match, limits: Mapping[str, float]
    ) -> Iterator[tuple[Match, PlantDifference]]:
        """Efforts in the recording, where it states no limit, that those here do not allow."""
        names = {a.name: b.name for a, b in pair.joints}
        stated = pair.recorded.plant.joints.get("torque_limit", {})
        mine = {j: limits[n] for j, n in names.items() if n in limits and j not in stated}
        above = {names[j]: effort for j, effort in exceeded(pair.recorded, mine).items()}
        for name in above:
            yield pair, PlantDifference("torque_limit", above, limits, (name,))

    def _is_unstated(self, pair: Match, difference: PlantDifference) -> bool:
        """Whether the recorded value is the largest recorded effort, as no limit is stated."""
        if difference.what != "torque_limit":
            return False
        stated = {b.name for a, b in pair.joints if a.name in self._limits[pair.recorded.name]}
        return not stated.issuperset(difference.joints)

    def _plants(self) -> Iterator[Finding]:
        seen: set[str] = set()
        for pair, difference in self._differences():
            if not difference.joints and difference.what in seen:
                continue  # of the whole world: once is enough
            seen.add(difference.what)
            yield self._finding(pair, difference)
        yield from self._groups()

    def _finding(self, pair: Match, plant: PlantDifference) -> Finding:
        share, reason = self._undone(pair, plant)
        form = "undone" if not reason else "not tried"
        return replay_finding(
            plant.what,
            plant.where,
            plant.recorded_value(),
            plant.here_value(),
            form if not self._is_unstated(pair, plant) else f"{form}, largest effort",
            share,
            plant_fix(self._world, pair.robot, plant),
            reason=reason,
        )

    def _groups(self) -> Iterator[Finding]:
        """The same property of several joints, which may have an effect only together."""
        groups: dict[tuple[str, str, bool], list[tuple[Match, PlantDifference]]] = {}
        for pair, difference in self._differences():
            if len(difference.joints) == 1:
                key = pair.robot.name, difference.what, self._is_unstated(pair, difference)
                groups.setdefault(key, []).append((pair, difference))
        for members in groups.values():
            if len(members) > 1:
                pair, one = members[0]
                joints = tuple(d.joints[0] for _, d in members)
                yield self._finding(pair, PlantDifference(one.what, one.recorded, one.here, joints))

    def _undone(self, pair: Match, difference: PlantDifference) -> tuple[float | None, str]:
        try:
            error = self._error_without(pair, difference)
        except MjrigError as reason:
            return None, str(reason)
        return self._share(error), ""

    def _error_without(self, pair: Match, difference: PlantDifference) -> float:
        if difference.what == "timestep" or "RK4" in (difference.recorded, difference.here):
            world = twin(self._world, {difference.what: difference.recorded})
            return self.error(world=world)
        with PlantEdit(self._world, pair.robot) as edit:
            try:
                apply(edit, difference)
            except CannotEdit:
                if difference.what != "delay":
                    raise
            else:
                return self.error()
        # A native law has its delay compiled in; the same law in Python has not.
        world = twin(self._world)
        with PlantEdit(world, world[pair.robot.name]) as edit:
            apply(edit, difference)
            return self.error(world=world)

    def _all_together(self) -> float:
        """The share of the error that all differences explain together."""
        edits = []
        try:
            for pair, difference in self._differences():
                edit = PlantEdit(self._world, pair.robot)
                edits.append(edit)
                try:
                    apply(edit, difference)
                except CannotEdit:
                    continue
            share = self._share(self.error())
            self._notes.append(f"undoing all differences together {removes(share)}")
            return share
        finally:
            for edit in reversed(edits):
                edit.undo()

    def _precision(self) -> Iterator[Finding]:
        """A controller that computes in another precision: then the difference begins tiny."""
        grown, time = _first_above(self._comparison, GROWN), self._comparison.time
        begins_tiny = grown is None or grown > time[min(TINY, len(time) - 1)]
        if self._comparison.bit_exact or not begins_tiny:
            return
        try:
            copied = self.error(world=twin(self._world))
        except MjrigError:
            return  # its files are gone, or it was put together in Python
        if abs(copied - self._error) > ROUNDED * self._error:
            return  # a copy does not repeat it: what differs is not in the scene
        for pair in self._matches:
            for label, here, other, world in other_precisions(self._world, pair.robot.name):
                share = self._share(self.error(world=world))
                if share > 1.0 - ROUNDED:
                    edit = repair("scene", f"{label}.{PRECISION}", other)
                    yield replay_finding(PRECISION, label, other, here, "precision", share, (edit,))

    # How the recording was read -----------------------------------------------------------------

    def _commands(self) -> list[Finding]:
        """Errors in how the recording was read: the best explanation, if it is good enough."""
        tried = list(self._try_phase())
        if self._comparison.max_abs_position_error > GROSS:
            tried += self._try_quaternions()
            for pair in self._matches:
                tried += order_findings(
                    self._recording, pair.recorded, lambda r: self._share(self.error(r))
                )
        good = [f for f in tried if (f.share or 0.0) > CAUSE]
        return sorted(good, key=lambda f: f.share or 0.0, reverse=True)[:1]

    def _try_phase(self) -> Iterator[Finding]:
        """Setpoints some steps earlier or later: those that short predictions like best."""
        for steps in self._shifts():
            share = self._share(self.error(shifted(self._recording, steps)))
            when = "later" if steps > 0 else "earlier"
            count = "one step" if abs(steps) == 1 else f"{abs(steps)} steps"
            values = {"shift": count.replace(" ", " physics "), "when": when}
            yield replay_finding("tick phase", "", "as recorded", f"{count} {when}",
                             "tick phase shifted", share, **values)  # fmt: skip

    def _shifts(self) -> list[int]:
        """Shifts worth a run [steps]."""
        segments = self._segments
        if segments is None:
            return [-1, 1]
        commands = segments.pair.recorded.commands
        assert commands is not None
        moved = np.flatnonzero(np.abs(np.diff(commands.position, axis=0)).max(axis=1) > 0.0)
        gaps = np.diff(commands.step[moved + 1]) if len(moved) > 2 else np.ones(1)
        tick = max(1, round(float(np.median(gaps))))
        near = range(1, min(tick, NEAR) + 1)
        steps = sorted({*near, *(n * tick for n in range(1, TICKS + 1))})
        tried = {
            d: size(segments.miss(shifted(self._recording, d))) for n in steps for d in (-n, n)
        }
        best = min(tried, key=lambda d: tried[d])
        return sorted({-1, 1, best})

    def _try_quaternions(self) -> Iterator[Finding]:
        """The four numbers of a base quaternion in another order."""
        if not any(j.kind == "free" for m in self._matches for j in m.recorded.joints):
            return
        for name, order in QUATERNIONS.items():
            share = self._share(self.error(with_quaternions(self._recording, order)))
            yield quaternion_finding(name, "quaternion run", share)

    # The body -----------------------------------------------------------------------------------

    def _body(self) -> list[Finding]:
        """Properties that the recording does not list, fitted and confirmed by running."""
        segments = self._segments
        if segments is None:
            return []
        checks = BodyChecks(segments, self._world)
        found = []
        for i, (finding, change) in enumerate(checks.run()):
            share = finding.share or 0.0
            confirmed = 0.0
            if i < CONFIRMED:
                with PlantEdit(self._world, segments.pair.robot) as edit:
                    change(edit)
                    confirmed = self._share(self.error())
            if self._recording.is_measured and confirmed <= NAMED:
                continue  # short predictions from noisy states are missed for that reason too
            share = max(share, confirmed)
            found.append(replace(finding, share=share if share > SUSPICION else SUSPECTED * share))
        return found

    @cached_property
    def _segments(self) -> Segments | None:
        """Short predictions; None: there are no states to start them from."""
        found = Segments(self._recording, self._world, self._robot)
        return found if found.usable else None

    # The rest -----------------------------------------------------------------------------------

    def _state_edits(self) -> list[Finding]:
        """Jumps that no physics step makes: the source wrote into its state."""
        found = OneStep(self._recording, self._world, self._robot, resample=self._resample).run()
        if found is None:
            return []
        self._notes += found.notes
        return found.findings

    def _other_model(self) -> None:
        known = any("model_hash" in m.recorded.plant.overall for m in self._matches)
        if known and not is_same_model(self._world, self._recording):
            self._notes.append(
                "the compiled model differs from the recording's: masses, geometry or "
                "something else that the recording does not list may differ"
            )

    def _saturation(self) -> None:
        for name, joint in self._comparison.joints.items():
            before = joint.saturation_recorded
            if before is not None and joint.saturation > before + 0.05:
                self._notes.append(
                    f"{name} is at its effort limit {joint.saturation:.0%} of the time, "
                    f"{before:.0%} in the recording"
                )


def _best(found: Sequence[Finding]) -> float:
    return max((f.share or 0.0 for f in found), default=0.0)


def _first_above(comparison: Comparison, size: float) -> float | None:
    """When the error first exceeds a size [s]; None: never."""
    rows = np.flatnonzero(~(comparison.error <= size))
    return float(comparison.time[rows[0]]) if len(rows) else None


# Recorded diagnosis -------------------------------------------------------------------------------


#: Why a policy is not judged in a recording that began in the middle of a run.
_NO_MEMORY = "the policy: its memory at the start of the recording is unknown"


@dataclass(frozen=True)
class RecordedDiagnosis:
    """What explains a recording that differs.

    Attributes:
        findings: the most important first.
        notes: what was seen, and what could not be judged.
        agrees: every part of the policy and the physics were compared, and none differs.
    """

    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    agrees: bool = False


def diagnose_recording(
    recording: Recording,
    world: World,
    robot: str,
    tolerance: float,
    *,
    policy: PolicyComponent | Path | str | None = None,
    comparison: Comparison | None = None,
    resample: bool = False,
) -> RecordedDiagnosis:
    """Compare part by part, then run.

    What needs no simulation comes first: if it names a cause for certain, nothing is run.

    Args:
        recording: of a run elsewhere.
        world: where it was replayed.
        robot: the robot; empty: by name and joints.
        tolerance: largest position error that still counts as a match [rad or m].
        policy: the policy in the loop; None: the only one of the robot, if it has one.
        comparison: of the recorded setpoints replayed here; None: they are replayed first.
        resample: allow another timestep than the recording's.
    """
    if recording.memories or not recording.began_mid_run:
        found, unclear = check_policy(recording, world, robot, policy)
    else:
        has_policy = any(actor.policy is not None for actor in recording.actors.values())
        found, unclear = [], [_NO_MEMORY] if has_policy else []
    notes = [f"{UNCLEAR}{text}" for text in unclear]
    if any(f.is_cause for f in found):
        return RecordedDiagnosis(found, notes)
    if comparison is None:
        comparison = _replayed(recording, world, robot, tolerance)
        if comparison.bit_exact:
            notes.append("recorded setpoints are re-simulated to the bit: the physics is the same")
            return RecordedDiagnosis(found, notes, agrees=not found and not unclear)
    if recording.is_measured and comparison.max_abs_position_error <= tolerance:
        notes.append("the error of a measured motion is within the tolerance: no cause is sought")
        return RecordedDiagnosis(found, notes)
    more, said = Diagnosis(recording, world, robot, comparison, tolerance, resample=resample).run()
    ranked = sorted([*found, *more], key=lambda f: -1.0 if f.share is None else f.share)
    return RecordedDiagnosis(ranked[::-1], [*notes, *said])


def _replayed(recording: Recording, world: World, robot: str, tolerance: float) -> Comparison:
    with TargetsPlayer(recording, world, robot=robot) as player:
        player.start()
        track = record(world, player.steps)
        return compare(recording, player.matches, track, tolerance=tolerance, ratio=player.ratio)
