"""Mode targets: re-simulate the recorded setpoints with the controllers of this world."""

from collections.abc import Mapping, Sequence

import numpy as np

from mjrig.names import listed
from mjrig.recording.recording import Recording
from mjrig.sim.world import World
from mjrig.sim2sim.compare.comparison import Comparison, JointError, compare
from mjrig.sim2sim.compare.matching import Match
from mjrig.sim2sim.compare.result import DIFFERS, MATCHES, UNKNOWN, WITHIN, Replay
from mjrig.sim2sim.compare.source import scene_name
from mjrig.sim2sim.compare.track import Track, base_of, record
from mjrig.sim2sim.diagnose.recorded_diagnosis import diagnose_recording
from mjrig.sim2sim.play.players import TargetsPlayer

EVIDENCE = (
    "re-simulation of recorded setpoints: shows whether the physics is the same, not whether a "
    "policy transfers"
)


def replay_targets(
    recording: Recording,
    world: World,
    *,
    robot: str,
    tolerance: float,
    diagnose: bool,
    resample: bool,
) -> Replay:
    """Play, compare and diagnose."""
    result = Replay("targets", str(recording.path), scene_name(world), evidence=EVIDENCE)
    result.tolerance = tolerance
    with TargetsPlayer(recording, world, robot=robot, resample=resample) as player:
        started = player.start()
        result.unknown_memory, unrepeated = started.unknown, player.unrepeated
        track = record(world, player.steps)
        matches, ratio = player.matches, player.ratio
        result.notes += [*recording.notes, *player.notes, *started.notes]
        result.notes += [f"{label} was disabled during the replay" for label in player.silenced]
        result.notes += [
            f"{label} commands its robot and cannot be disabled: the replay ignored its commands"
            for label in player.overruled
        ]
        result.notes += [f"{path}: not repeated: {why}" for path, why in unrepeated.items()]
    found = compare(recording, matches, track, tolerance=tolerance, ratio=ratio)
    describe(result, world, matches, track, found)
    result.verdict = verdict(found, tolerance)
    if (started.unknown or unrepeated) and not found.bit_exact:
        explain_unknown(result, unrepeated)
    elif diagnose and not found.bit_exact:
        diagnosis = diagnose_recording(
            recording, world, robot, tolerance, comparison=found, resample=resample
        )
        result.diagnosis = diagnosis.findings
        result.notes += diagnosis.notes
    return result


def verdict(comparison: Comparison, tolerance: float) -> str:
    """The verdict."""
    if comparison.bit_exact:
        return MATCHES
    return WITHIN if comparison.max_abs_position_error <= tolerance else DIFFERS


def explain_unknown(result: Replay, unrepeated: Mapping[str, str]) -> None:
    """The run differs and not everything could be as in the recording: no cause is sought."""
    if result.unknown_memory:
        names = listed(result.unknown_memory)
        result.evidence += f"; the memory of {names} at the start is unknown"
    if unrepeated:
        result.evidence += f"; live edits of {listed(unrepeated)} are not repeated"
    if result.verdict != WITHIN:
        result.verdict = UNKNOWN


def describe(
    result: Replay,
    world: World,
    matches: Sequence[Match],
    track: Track,
    comparison: Comparison | None,
) -> None:
    """Fill the result from the run."""
    result.duration = track.duration
    result.schedule = _recorded_commands(matches)
    if track.diverged:
        result.fell, result.fell_at = True, track.duration
        result.notes.append(f"the physics diverged after {track.duration:.3f} s")
    for match in matches:
        base = base_of(world, match.robot, track.qpos)
        if base is None or result.base_start is not None:
            continue
        result.base_start, result.base_end = base.start, base.end
        step = base.fell_at()
        if step is not None:
            result.fell, result.fell_at = True, step * track.timestep
        steps = range(len(base.upright))
        time = [k * track.timestep for k in steps]
        result.series["base height"] = (time, base.position[:, 2], "m")
        result.series["upright"] = (time, base.upright, "cosine of the tilt")
    if comparison is not None:
        result.comparison = comparison
        result.bit_exact = comparison.bit_exact
        result.max_abs_position_error = comparison.max_abs_position_error
        result.first_divergence = comparison.first_divergence
        result.base_drift = comparison.base_drift
        result.joints = {n: joint_data(e) for n, e in comparison.joints.items()}


def _recorded_commands(matches: Sequence[Match]) -> list[tuple[float, list[float]]]:
    """Commands of the recorded policy, where they change, by time [s]."""
    found: list[tuple[float, list[float]]] = []
    for pair in matches[:1]:
        ticks = pair.recorded.policy
        if ticks is None or not ticks.command.shape[1] or len(pair.recorded.step) < 2:
            continue
        apart = np.diff(pair.recorded.time) / np.diff(pair.recorded.step)
        for step, values in zip(ticks.step, ticks.command.tolist(), strict=True):
            if not found or values != found[-1][1]:
                found.append((float(step * apart[0]), values))
    return found


def joint_data(error: JointError) -> dict[str, float | None]:
    """The entry of a joint in report.json."""
    return {
        "rmse_position": error.rmse_position,
        "rmse_velocity": error.rmse_velocity,
        "rmse_effort": error.rmse_effort,
        "max_position_error": error.max_position,
        "saturation": error.saturation,
        "saturation_recorded": error.saturation_recorded,
    }
