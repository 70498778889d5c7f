"""replay: run a recording or a policy in a world, compare and diagnose."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from mjrig.core.control.policy import PolicyComponent
from mjrig.core.errors import RecordingError
from mjrig.core.names import suggestion
from mjrig.core.sim.world import World
from mjrig.data.recording.recording import Recording
from mjrig.lab.replay.comparison import TOLERANCE
from mjrig.lab.replay.diagnosis.diagnose import diagnose_recording
from mjrig.lab.replay.modes import judge_difference, replay_policy, replay_poses, replay_targets
from mjrig.lab.replay.result import Replay
from mjrig.lab.replay.source import as_recording, beginning, is_policy
from mjrig.lab.replay.start_state import naming_memory


def has_ticks(recording: Recording) -> bool:
    """Whether observations and actions of a policy were recorded."""
    return any(actor.policy is not None for actor in recording.actors.values())


MODES = ("targets", "kinematic", "policy")
#: Perturbed runs of a policy besides the nominal one: each kind and direction once.
TRIALS = 7
Schedule = Sequence[tuple[float, Sequence[float]]]


def replay(
    source: Recording | PolicyComponent | str | Path,
    world: World,
    mode: str = "",
    *,
    robot: str = "",
    tolerance: float = TOLERANCE,
    diagnose: bool = True,
    resample: bool = False,
    policy: PolicyComponent | str | Path | None = None,
    command: Sequence[float] | None = None,
    schedule: Schedule | None = None,
    duration: float | None = None,
    trials: int | None = None,
    seed: int | None = None,
    workers: int = 1,
    hints: dict[str, object] | None = None,
) -> Replay:
    """Run a recording or a policy in a world and report the result.

    Args:
        source: a recording or its file, or a policy or its file (YAML).
        world: where; it is reset first, and keeps the state of the end.
        mode: `targets`: the recorded setpoints through the controllers of this world;
            `kinematic`: the recorded poses, nothing is simulated; `policy`: the network in the
            loop. Empty: `policy` for a policy, else `targets`.
        robot: which robot of the world; empty: found by its name and joints.
        tolerance: largest position error that still counts as a match [rad or m].
        diagnose: find the causes by re-running without one difference at a time.
        resample: allow another timestep than the recording's; setpoints are held by time.
        policy: the policy of a recording that is run in the loop.
        command: constant command of a policy: vx, vy [m/s], yaw rate [rad/s], … None, and no
            schedule: those of the recording, if it has them.
        schedule: (time [s], command) pairs instead.
        duration: seconds to replay [s], from the start; None: all of a recording, 10 s of a policy.
        trials: perturbed runs of a policy besides the nominal one; None: 7.
        seed: random seed for the perturbations; None: the recording's, or 0.
        workers: processes to run trials on; 1: here.
        hints: what a recording file does not state itself: `fps`, `joints`, `quaternion`, …

    Raises:
        RecordingError: the recording cannot be read, is of another robot or another rate, or an
            argument has no use in this mode; nothing was run.
    """
    mode = mode or ("policy" if is_policy(source) else "targets")
    if mode not in MODES:
        raise RecordingError(f"unknown mode {mode!r}; {suggestion(mode, MODES)}")
    if mode == "policy":
        recording = None if is_policy(source) else as_recording(source, hints, world.timestep)
        chosen = policy if policy is not None else source if is_policy(source) else None
        looped = recording is not None and has_ticks(recording)
        with naming_memory(recording):
            result = replay_policy(
                chosen,
                world,
                recording=recording,
                robot=robot,
                tolerance=tolerance,
                diagnose=diagnose and not looped,
                command=command,
                schedule=schedule,
                duration=duration,
                trials=TRIALS if trials is None else trials,
                seed=seed,
                workers=workers,
            )
        # Ticks before the recording cannot be computed again, so only a difference is explained.
        mid_run = recording is not None and recording.began_mid_run
        is_explained = (mid_run and result.bit_exact) or bool(result.unknown_memory)
        if diagnose and recording is not None and looped and not is_explained:
            assert not isinstance(chosen, Recording)
            found = diagnose_recording(recording, world, robot, tolerance, policy=chosen)
            result.diagnosed(found.findings, found.notes)
            if command is None and schedule is None:
                judge_difference(result, found, recording)
        return result
    if is_policy(source):
        raise RecordingError(f"{source}: a policy is replayed in the mode policy, not {mode}")
    given = {"policy": policy, "command": command, "schedule": schedule}
    _refuse_unused(mode, {**given, "trials": trials or None, "seed": seed})
    recording = as_recording(source, hints, world.timestep)
    if duration is not None:
        recording = beginning(recording, duration)
    if mode == "kinematic":
        return replay_poses(recording, world, robot=robot)
    with naming_memory(recording):
        return replay_targets(
            recording,
            world,
            robot=robot,
            tolerance=tolerance,
            diagnose=diagnose,
            resample=resample,
        )


def _refuse_unused(mode: str, given: Mapping[str, object]) -> None:
    """Refuse what only a policy takes, instead of leaving it out without a word."""
    for name, value in given.items():
        if value is not None:
            raise RecordingError(
                f"{name} is for a policy in the loop, and the mode {mode} plays what was recorded; "
                "leave it out, or replay in the mode policy"
            )
