"""Diagnosis of a replay: of a recording, of the policy in it, and of a policy in the loop.

What needs no simulation comes first: if it names a cause for certain, nothing is run.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml

from mjrig.core.control.plant import PER_JOINT
from mjrig.core.control.policy import PolicyComponent
from mjrig.core.errors import MjrigError
from mjrig.core.findings import Finding
from mjrig.core.names import listed
from mjrig.core.sim.world import World
from mjrig.data.recording.recording import PolicyTicks, Recording
from mjrig.lab.findings.remedies import apply
from mjrig.lab.replay.comparison import Comparison, compare
from mjrig.lab.replay.diagnosis.engine import Judgement, check_repairs, judge, ranked
from mjrig.lab.replay.diagnosis.hypothesis import Aspect
from mjrig.lab.replay.diagnosis.loop_case import LoopCase
from mjrig.lab.replay.diagnosis.policy_case import (
    PolicyCase,
    copy_policy,
    read_policy,
    real_ticks,
    schedule_of,
)
from mjrig.lab.replay.diagnosis.replay_case import ROUND_OFF, ReplayCase
from mjrig.lab.replay.diagnosis.table import HYPOTHESES
from mjrig.lab.replay.diagnosis.timing_hypotheses import begins_later
from mjrig.lab.replay.matching import Match, match
from mjrig.lab.replay.players import TargetsPlayer
from mjrig.lab.replay.policy_loop import in_the_loop, policies
from mjrig.lab.replay.result import UNCLEAR
from mjrig.lab.rollouts.tracks import record

# A policy in the loop -----------------------------------------------------------------------------


class PolicyDiagnosis(LoopCase):
    """What a policy was trained with, and the effect of every difference to it."""

    def run(self) -> tuple[list[Finding], list[str]]:
        """Findings, the most important first, and notes."""
        trained, notes = self.policy.plant(), []
        if not {w for w in PER_JOINT if w in trained.joints} - {"action_scale", "default_pose"}:
            notes.append(
                "the policy file does not state what it was trained with (trained:): gains, limits "
                "and joints could not be compared"
            )
        if trained.recovered:
            notes.append(f"recovered, not read: {', '.join(trained.recovered)}")
        return judge(self, HYPOTHESES).findings(), notes


# A recorded policy --------------------------------------------------------------------------------


def diagnose_policy(
    recording: Recording, world: World, robot: str, policy: PolicyComponent | Path | str | None
) -> tuple[list[Finding], list[str]]:
    """Findings, the best explained first, and what could not be judged; the world is reset.

    Args:
        recording: with or without policy ticks.
        world: where; the policy is run beside its own, nothing is stepped.
        robot: the robot; empty: by name and joints.
        policy: the policy; None: the only one of the robot.
    """
    matches = match(recording, world, robot)
    if policy is None:
        candidates = policies(matches[0].robot)
        if len(candidates) != 1:
            return [], []
        policy = candidates[0]
    ticks = matches[0].recorded.policy
    if ticks is None or not real_ticks(ticks):
        return [], ["the policy: no observations and actions were recorded"]
    try:
        if isinstance(policy, PolicyComponent) and policy.choices:
            return _diagnose_options(recording, world, matches, policy)
        path = _file(policy)
        if path is None:
            return [], ["the policy: it has no file"]
        return _diagnose_file(recording, world, matches, policy, path)
    except MjrigError as error:
        return [], [f"the policy: {error}"]
    finally:
        world.reset()


def _file(policy: PolicyComponent | Path | str) -> Path | None:
    if isinstance(policy, str | Path):
        return Path(policy)
    file = policy.__dict__.get("file")
    return None if file is None else policy.find_file(file)


def _diagnose_file(
    recording: Recording,
    world: World,
    matches: Sequence[Match],
    policy: PolicyComponent | Path | str,
    path: Path,
) -> tuple[list[Finding], list[str]]:
    def judged(file: Path) -> Judgement:
        copy: Any = file
        if isinstance(policy, PolicyComponent):
            copy = policy.copy()
            if file != path:
                copy.assign({"file": str(file)})
        with _case(recording, world, matches, copy, file) as case:
            return judge(replace(case, shift=begins_later(case)), HYPOTHESES)

    def repaired(finding: Finding) -> Judgement:
        with TemporaryDirectory() as folder:
            data = yaml.safe_load(apply([finding], None, path).policy_text)
            return judged(copy_policy(data, Path(folder, "policy.yaml"), path.resolve().parent))

    judgement = judged(path)
    return check_repairs(judgement, repaired), judgement.unclear


@contextmanager
def _case(
    recording: Recording, world: World, matches: Sequence[Match], policy: Any, file: Path
) -> Iterator[PolicyCase]:
    """A policy on the robot, with the recorded commands."""
    with in_the_loop(policy, world, matches[0].robot) as component:
        case = PolicyCase(recording, world, matches, component, read_policy(file))
        began = case.began + begins_later(case) * recording.timestep
        schedule = schedule_of(case.ticks, recording.timestep, began)
        if schedule and len(schedule[0][1]) == component.command_now.size > 0:
            component.follow(schedule)
        yield case


# Policies that took turns on a robot: each against what was recorded while it was in charge.


def _diagnose_options(
    recording: Recording, world: World, matches: Sequence[Match], switch: PolicyComponent
) -> tuple[list[Finding], list[str]]:
    """Findings on the terms and the network of each policy.

    A recorded observation begins with the number of the policy in charge. Targets are left to the
    replay in the loop: they go over from one policy to the next.
    """
    ticks = matches[0].recorded.policy
    assert ticks is not None
    charge = ticks.observation[:, 0] if ticks.observation.shape[1] else np.zeros(0)
    names, files = switch.choices, switch.choice_files
    unknown = sorted({int(i) for i in charge if not 0 <= i < len(names) or i % 1.0})
    if unknown:
        return [], [f"the policies: options {listed(map(str, unknown))} were recorded, which the "
                    f"scene has not: {listed(names)}"]  # fmt: skip
    findings: list[Finding] = []
    unclear: list[str] = []
    real = np.array(real_ticks(ticks), dtype=np.intp)
    for i, (name, file) in enumerate(zip(names, files, strict=True)):
        rows = real[charge[real] == i]
        if file is None:
            continue
        if not rows.size:
            unclear.append(f"the policy {name!r}: it was never in charge")
            continue
        try:
            judgement = _judge_option(recording, world, matches, _turn(ticks, rows), file)
        except MjrigError as error:
            judgement = Judgement(unclear=[str(error)])
        # The fix of a finding edits the policy of a replay, which is none of these alone.
        findings += [
            replace(f, names=(": ".join((name, *f.names)),), remedies=())
            for f in judgement.findings()
        ]
        unclear += [f"the policy {name!r}: {text}" for text in judgement.unclear]
    return findings, unclear


def _turn(ticks: PolicyTicks, rows: np.ndarray) -> PolicyTicks:
    """The ticks of one policy, without the number of the one in charge."""
    return replace(
        ticks,
        step=ticks.step[rows],
        observation=ticks.observation[rows, 1:],
        action=ticks.action[rows],
        command=ticks.command[rows],
    )


def _judge_option(
    recording: Recording, world: World, matches: Sequence[Match], ticks: PolicyTicks, file: Path
) -> Judgement:
    first, *others = matches
    with in_the_loop(file, world, first.robot) as policy:
        size = policy.observation.size  # others may be longer: they are filled up with zeros
        joints = policy.joints
    own = replace(ticks, observation=np.ascontiguousarray(ticks.observation[:, :size]))
    own = _in_order(own, first, joints)
    first = replace(first, recorded=replace(first.recorded, policy=own))
    with _case(recording, world, (first, *others), file, file) as case:
        aspects = frozenset({Aspect.VELOCITY, Aspect.OBSERVATION, Aspect.NETWORK})
        return judge(replace(case, aspects=aspects), HYPOTHESES)


def _in_order(ticks: PolicyTicks, pair: Match, joints: Sequence[str]) -> PolicyTicks:
    """Actions in the order of the policy; a switch records them in that of its first one."""
    names = {a.name: b.name for a, b in pair.joints}
    here = [names.get(joint, joint) for joint in ticks.joints]
    if set(here) != set(joints):
        return ticks
    columns = [here.index(joint) for joint in joints]
    order = tuple(ticks.joints[column] for column in columns)
    return replace(ticks, action=np.ascontiguousarray(ticks.action[:, columns]), joints=order)


# A recording --------------------------------------------------------------------------------------


#: Why a policy is not judged in a recording that began in the middle of a run.
_NO_MEMORY = "the policy: its memory at the start of the recording is unknown"
#: A joint at its limit for this share of the time more than in the recording is noted.
SATURATED = 0.05


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
        findings, unclear = diagnose_policy(recording, world, robot, policy)
    else:
        has_policy = any(actor.policy is not None for actor in recording.actors.values())
        findings, unclear = [], [_NO_MEMORY] if has_policy else []
    notes = [f"{UNCLEAR}{text}" for text in unclear]
    if any(f.is_cause for f in findings):
        return RecordedDiagnosis(findings, notes)
    if comparison is None:
        comparison = _replayed(recording, world, robot, tolerance)
        if comparison.bit_exact:
            notes.append("recorded setpoints are re-simulated to the bit: the physics is the same")
            return RecordedDiagnosis(findings, notes, agrees=not findings and not unclear)
    if recording.is_measured and comparison.max_abs_position_error <= tolerance:
        notes.append("the error of a measured motion is within the tolerance: no cause is sought")
        return RecordedDiagnosis(findings, notes)
    case = ReplayCase(recording, world, robot, comparison, tolerance, resample=resample)
    judgement = judge(case, HYPOTHESES)
    found = judgement.findings()
    notes += [*judgement.notes, *_round_off(case, found), *_saturated(comparison)]
    return RecordedDiagnosis(ranked([*findings, *found]), notes)


def _replayed(recording: Recording, world: World, robot: str, tolerance: float) -> Comparison:
    with TargetsPlayer(recording, world, robot=robot) as player:
        player.start()
        track = record(world, player.steps)
        return compare(recording, player.matches, track, tolerance=tolerance, ratio=player.ratio)


def _round_off(case: ReplayCase, findings: Sequence[Finding]) -> Iterator[str]:
    if case.is_round_off and not any(f.kind == "precision" for f in findings):
        above = case.first_above(ROUND_OFF)
        since = "" if above is None else f" until {above:.2f} s, then it grows smoothly"
        yield f"the difference comes from rounding: below {ROUND_OFF:g}{since}; no finding"


def _saturated(comparison: Comparison) -> Iterator[str]:
    for name, joint in comparison.joints.items():
        before = joint.saturation_recorded
        if before is not None and joint.saturation > before + SATURATED:
            yield (
                f"{name} is at its effort limit {joint.saturation:.0%} of the time, "
                f"{before:.0%} in the recording"
            )
