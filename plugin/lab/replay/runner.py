"""replay: run a recording or a policy in a world, compare and diagnose."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.policy import PolicyComponent
from mjrig.core.control.sampler import BindingReader, by_column
from mjrig.core.errors import RecordingError
from mjrig.core.findings import warning
from mjrig.core.names import how_many, listed, suggestion
from mjrig.core.sim.world import World
from mjrig.data.recording.recording import ActorRecording, Recording
from mjrig.lab.replay.comparison import (
    TOLERANCE,
    Comparison,
    JointError,
    base_of,
    compare,
    saturation,
)
from mjrig.lab.replay.diagnosis.diagnose import (
    PolicyDiagnosis,
    RecordedDiagnosis,
    diagnose_recording,
)
from mjrig.lab.replay.diagnosis.order_probe import (
    better_order,
    has_goal,
    order_probe,
    suspicion,
    telling_command,
    unclear,
)
from mjrig.lab.replay.diagnosis.policy_case import real_ticks
from mjrig.lab.replay.finding import repair, replay_finding
from mjrig.lab.replay.matching import Match, match, match_robot
from mjrig.lab.replay.players import KinematicPlayer
from mjrig.lab.replay.policy_loop import command_policy, find_robot, in_the_loop
from mjrig.lab.replay.replay_test import RecordedSetpoints
from mjrig.lab.replay.result import (
    DIFFERS,
    FAILS,
    MATCHES,
    REMARKS,
    SHOWN,
    STAYS_UP,
    TRANSFERS,
    UNCLEAR,
    UNKNOWN,
    WITHIN,
    Replay,
)
from mjrig.lab.replay.source import (
    as_recording,
    beginning,
    is_policy,
    recorded_schedule,
    recorded_seed,
    scene_name,
)
from mjrig.lab.replay.start_state import naming_memory, recorded_memory, start, unknown_notes
from mjrig.lab.replay.trials import (
    CommandedPolicy,
    PerturbedPolicy,
    PolicyRun,
    perturbations,
    run_trials,
    statistics,
    untried,
)
from mjrig.lab.rollouts.run import live_runs
from mjrig.lab.rollouts.tracks import Track

# Kinematic mode -----------------------------------------------------------------------------------
# Mode kinematic: show the recorded poses without simulating.


KINEMATIC_EVIDENCE = "recorded poses, shown without simulation: no evidence about transfer"


def replay_poses(recording: Recording, world: World, *, robot: str = "") -> Replay:
    """Show all poses at the rate of the world, and report whether a base falls."""
    player = KinematicPlayer(recording, world, robot=robot)
    count = max(1, round(player.duration / world.timestep))
    qpos = np.empty((count + 1, world.model.nq))
    for k in range(count + 1):
        player.seek(player.duration * k / count)
        qpos[k] = world.data.qpos
    result = Replay("kinematic", str(recording.path), scene_name(world), SHOWN, KINEMATIC_EVIDENCE)
    result.duration = player.duration
    result.notes += [*recording.notes, *player.notes]
    for pair in player.matches:
        base = base_of(world, pair.robot, qpos)
        if base is not None and result.base_start is None:
            result.base_start, result.base_end = base.start, base.end
            fell = base.fell_at()
            result.fell = fell is not None
            result.fell_at = None if fell is None else fell * player.duration / count
        result.notes += _beyond_limits(world, pair, qpos)
    return result


def _beyond_limits(world: World, pair: Match, qpos: FloatArray) -> list[str]:
    """Joints that leave their range here: a sign, an order or a unit may be wrong."""
    model, found = world.model, []
    ids = dict(zip(pair.robot.joint_names, pair.robot.model_map.joint_ids, strict=True))
    for _, here in pair.single:
        joint = int(ids[here.name])
        if not model.jnt_limited[joint]:
            continue
        low, high = model.jnt_range[joint]
        q = qpos[:, here.qpos.start]
        excess = float(np.maximum(low - q, q - high).max())
        if excess > 1e-3:
            found.append(f"{here.name} leaves its range here by {excess:.3g}")
    return found


# Targets mode -------------------------------------------------------------------------------------
# Mode targets: re-simulate the recorded setpoints with the controllers of this world.


TARGETS_EVIDENCE = (
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
    result = Replay("targets", str(recording.path), scene_name(world), evidence=TARGETS_EVIDENCE)
    result.tolerance = tolerance
    scenario = RecordedSetpoints(recording, robot, tolerance, resample)
    (played,) = live_runs(world, match(recording, world, robot)[0].robot.name, scenario)
    player, started, track, found = played.player, played.started, played.track, played.comparison
    result.unknown_memory, unrepeated = started.unknown, player.unrepeated
    result.notes += [*recording.notes, *player.notes, *started.notes]
    result.notes += [f"{label} was disabled during the replay" for label in player.silenced]
    result.notes += [
        f"{label} commands its robot and cannot be disabled: the replay ignored its commands"
        for label in player.overruled
    ]
    result.notes += [f"{path}: not repeated: {why}" for path, why in unrepeated.items()]
    describe(result, world, player.matches, track, found)
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
    for pair in matches:
        base = base_of(world, pair.robot, track.qpos)
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


# Policy mode --------------------------------------------------------------------------------------
# Mode policy: the network in the loop, nominal and perturbed.


#: Default duration of a policy run [s].
DURATION = 10.0
#: A joint at its limit for more than this share is reported.
SATURATED = 0.05
#: Rounding is at most this large [rad or m] for so long [s].
TINY, AT_FIRST = 1e-4, 0.5
#: With more than this share of falls it does not transfer.
MOST_FALLS = 0.5


def replay_policy(
    policy: Any,
    world: World,
    *,
    recording: Recording | None,
    robot: str,
    tolerance: float,
    diagnose: bool,
    command: Sequence[float] | None,
    schedule: Sequence[tuple[float, Sequence[float]]] | None,
    duration: float | None,
    trials: int,
    seed: int | None,
    workers: int,
) -> Replay:
    """Run, judge, and list differences from the plant the policy was trained for."""
    steps = _steps(world, recording, duration)
    matches = () if recording is None else match(recording, world, robot)
    actor = matches[0].robot if matches else find_robot(world, robot)
    with in_the_loop(policy, world, actor) as component:
        note = ""
        if matches and command is None and schedule is None:
            recorded = matches[0].recorded
            mid_run = recording is not None and recording.began_mid_run
            began = float(recorded.time[0]) if mid_run else 0.0
            schedule, note = recorded_schedule(recorded, component, world.timestep, began)
        command_policy(component, command, schedule)
        begin: Callable[[], object] = (
            world.reset if recording is None else partial(start, world, recording, matches)
        )
        given = (command, schedule)
        scenario = PerturbedPolicy(component, given, steps, world.timestep, recording, actor.name)

        def again() -> PolicyRun:
            (run,) = live_runs(world, actor.name, scenario, CommandedPolicy(component, begin))
            assert isinstance(run, PolicyRun)
            return run

        run = again()
        source = _name(policy, component) if recording is None else str(recording.path)
        result = Replay("policy", source, scene_name(world))
        result.trials = [run.trial]
        result.notes += [note] if note else []
        found = None
        if recording is not None:
            result.unknown_memory = recorded_memory(world, recording, matches, 0).unknown
            result.notes += unknown_notes(result.unknown_memory)
            found = compare(recording, matches, run.track, tolerance=tolerance)
            result.tolerance = tolerance
        described = matches or (match_robot(world, _nothing(actor), actor),)
        describe(result, world, described, run.track, found)
        if found is None:
            result.joints = tracked(actor, run.track)
            result.notes.append("rmse: position and velocity against their setpoints")
        if trials:
            draw = seed if seed is not None else recorded_seed(recording) or 0
            cases = perturbations(trials, draw)
            result.trials += run_trials(world, scenario, begin, cases, workers)
        if diagnose:
            result.diagnosis, notes = PolicyDiagnosis(world, actor, component, run, again).run()
            result.notes += notes
    if diagnose:
        _suspect_order(result, _file_of(policy, component), world, actor)
    _judge(result, run, world, actor)
    return result


def _file_of(policy: Any, component: PolicyComponent) -> Path | None:
    """The file of a policy; None: it has none."""
    if isinstance(policy, str | Path):
        return Path(policy)
    file = component.__dict__.get("file")
    return None if file is None else component.find_file(file)


def _suspect_order(
    result: Replay,
    policy: Path | None,
    world: World,
    actor: Articulation,
) -> None:
    """Try other orders of the joints: with a wrong one some robots fall late, or never."""
    if policy is None:
        return
    if result.base_start is None and not has_goal(policy):
        result.notes.append(f"{UNCLEAR}the joint order: without a floating base nothing falls")
        return
    command = telling_command(policy)
    probes = order_probe(policy, world, actor.name, command=command)
    better, doubtful = better_order(probes, command), unclear(probes, command)
    if better is not None:
        fix = (repair("policy", "joints", list(better.joints)),)
        finding = replay_finding(
            "joint order",
            "",
            "as recorded",
            better.name,
            "joint order probed",
            1.0,
            fix,
            joints=list(better.joints),
            **suspicion(probes),
        )
        result.diagnosis.insert(0, finding)
    elif doubtful:
        result.notes.append(warning("unclear", actor.name, **doubtful).text)


def _steps(world: World, recording: Recording | None, duration: float | None) -> int:
    if recording is not None and abs(recording.timestep - world.timestep) > 1e-9:
        raise RecordingError(
            f"{recording.path}: was recorded with a timestep of {recording.timestep:g} s, the "
            f"world has {world.timestep:g} s; set sim.timestep to {recording.timestep:g}"
        )
    if duration is None:
        duration = DURATION if recording is None else recording.duration
    if not 0.0 < duration < math.inf:
        raise RecordingError(f"the duration must be > 0 s, got {duration:g}")
    return max(1, round(duration / world.timestep))


def _name(policy: Any, component: PolicyComponent) -> str:
    return str(policy) if isinstance(policy, str | Path) else component.label


def _nothing(actor: Articulation) -> ActorRecording:
    """An empty recording of a robot."""
    empty = np.zeros((1, 0))
    return ActorRecording(actor.name, (), np.zeros(1, np.int64), np.zeros(1), empty, empty)


# Judging ----------------------------------------------------------------------------------------


def tracked(robot: Articulation, track: Track) -> dict[str, dict[str, float | None]]:
    """Per joint: how far it was from its setpoints, and how often at its limit."""
    found: dict[str, dict[str, float | None]] = {}
    bindings = by_column(robot)
    reader = BindingReader(bindings)
    positions, velocities = reader.position(track.qpos[:-1]), reader.velocity(track.qvel[:-1])
    for column, binding in enumerate(bindings):
        if not binding.joint or not binding.on_joint:
            continue
        q, v = positions[:, column], velocities[:, column]
        target = track.target[robot.name][:, :, column]
        effort = track.effort[robot.name][:, column]
        limit = track.limits[robot.name].get(binding.joint, math.inf)
        found[binding.joint] = {
            "rmse_position": float(np.sqrt(np.mean((target[:, 0] - q) ** 2))),
            "rmse_velocity": float(np.sqrt(np.mean((target[:, 1] - v) ** 2))),
            "rmse_effort": None,
            "saturation": saturation(effort, limit),
            "saturation_recorded": None,
        }
    return found


def saturated(result: Replay) -> list[str]:
    """A note on joints that are often at their limit, if any."""
    shares = {n: j.get("saturation") or 0.0 for n, j in result.joints.items()}
    worst = sorted((n for n in shares if shares[n] > SATURATED), key=lambda n: -shares[n])
    if not worst:
        return []
    found = listed(f"{n} {shares[n]:.0%}" for n in worst[:4])
    more = f" and {len(worst) - 4} more" if len(worst) > 4 else ""
    return [f"often at the effort limit: {found}{more} of the time"]


def judge_difference(result: Replay, found: RecordedDiagnosis, recording: Recording) -> None:
    """A run that is visibly not the recorded one needs a finding: else its verdict says so.

    Where every part agrees with the recording and the difference begins tiny, it is rounding that
    grows, and no cause is missing.
    """
    error, comparison = result.max_abs_position_error, result.comparison
    explained = any(f.share for f in result.diagnosis)
    if error is None or comparison is None or error <= (result.tolerance or 0.0) or explained:
        return
    ticks = [a.policy for a in recording.actors.values() if a.policy is not None]
    begins = max((float(t.step[real_ticks(t)[:1]].max(initial=0)) for t in ticks), default=0.0)
    first = comparison.error[comparison.time <= begins * recording.timestep + AT_FIRST]
    if found.agrees and not np.any(first > TINY):
        result.notes.append(
            f"every part of the policy agrees with the recording, and so does the physics: the "
            f"difference is rounding, which grows from {float(np.nanmax(first)):.1g} to {error:.1g}"
        )
    elif result.verdict != FAILS:
        result.verdict = UNKNOWN
        result.evidence += f"; positions differ by up to {error:.3g} from the recorded ones"


def _judge(result: Replay, run: PolicyRun, world: World, robot: Articulation) -> None:
    count = len(result.trials)
    perturbed = result.trials[1:]
    falls = sum(t.fell for t in perturbed)
    result.evidence = f"policy in the loop, {how_many(count, 'run')}"
    result.evidence += (
        f" ({how_many(len(perturbed), 'run')} perturbed): {statistics(result.trials)}"
        if perturbed
        else ", not perturbed"
    )
    remarks = saturated(result)
    if result.base_start is None:
        result.notes.append(f"{robot.name} has no floating base: it cannot fall")
    if run.trial.fell or (perturbed and falls / len(perturbed) > MOST_FALLS):
        result.verdict = FAILS
    elif falls or remarks or any(f.share for f in result.diagnosis):
        result.verdict = REMARKS
    else:
        result.verdict = TRANSFERS
    if not perturbed and result.verdict != FAILS:
        result.verdict = STAYS_UP
        result.notes.append("judging transfer needs perturbed runs too: trials")
    elif perturbed and untried(len(perturbed)):
        result.notes.append(f"not judged, for want of trials: {listed(untried(len(perturbed)))}")
    result.notes = [*remarks, *result.notes]


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
