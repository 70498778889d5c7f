"""Diagnosis of a recording, in stages: no simulation, short predictions, whole runs."""

from dataclasses import dataclass, field
from pathlib import Path

from mjrig.control.policy import PolicyComponent
from mjrig.recording.recording import Recording
from mjrig.sim.world import World
from mjrig.sim2sim.compare.comparison import Comparison, compare
from mjrig.sim2sim.compare.finding import ReplayFinding
from mjrig.sim2sim.compare.result import UNCLEAR
from mjrig.sim2sim.compare.track import record
from mjrig.sim2sim.diagnose.diagnosis import Diagnosis
from mjrig.sim2sim.play.players import TargetsPlayer
from mjrig.sim2sim.recorded_policy.policy_checks import check_policy

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

    findings: list[ReplayFinding] = field(default_factory=list)
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
    if any(f.confident for f in found):
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
