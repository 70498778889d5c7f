"""Policies that took turns on a robot, each against what was recorded while it was in charge."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mjrig.control.policy import PolicyComponent
from mjrig.errors import MjrigError
from mjrig.names import listed
from mjrig.recording.recording import PolicyTicks, Recording
from mjrig.sim.world import World
from mjrig.sim2sim.compare.finding import ReplayFinding
from mjrig.sim2sim.compare.matching import Match
from mjrig.sim2sim.play.policy_loop import in_the_loop
from mjrig.sim2sim.recorded_policy.network_check import NetworkCheck
from mjrig.sim2sim.recorded_policy.policy_case import PolicyCase, read_policy
from mjrig.sim2sim.recorded_policy.rate_checks import check_velocities
from mjrig.sim2sim.recorded_policy.recomputed import real_ticks, schedule_of
from mjrig.sim2sim.recorded_policy.term_checks import TermChecks


def check_options(
    recording: Recording, world: World, matches: Sequence[Match], switch: PolicyComponent
) -> tuple[list[ReplayFinding], list[str]]:
    """Findings on the terms and the network of each policy, and what could not be judged.

    A recorded observation begins with the number of the policy in charge. Targets are left to the
    replay in the loop: they go over from one policy to the next.

    Args:
        recording: with policy ticks.
        world: where the switch is.
        matches: recorded robots and robots here; the first has the switch.
        switch: the component whose policies took turns.
    """
    ticks = matches[0].recorded.policy
    assert ticks is not None
    charge = ticks.observation[:, 0] if ticks.observation.shape[1] else np.zeros(0)
    names, files = switch.choices, switch.choice_files
    unknown = sorted({int(i) for i in charge if not 0 <= i < len(names) or i % 1.0})
    if unknown:
        return [], [f"the policies: options {listed(map(str, unknown))} were recorded, which the "
                    f"scene has not: {listed(names)}"]  # fmt: skip
    found: list[ReplayFinding] = []
    open_: list[str] = []
    real = np.array(real_ticks(ticks), dtype=np.intp)
    for i, (name, file) in enumerate(zip(names, files, strict=True)):
        rows = real[charge[real] == i]
        if file is None:
            continue
        if not rows.size:
            open_.append(f"the policy {name!r}: it was never in charge")
            continue
        try:
            own, unclear = _option(recording, world, matches, _turn(ticks, rows), file)
        except MjrigError as error:
            own, unclear = [], [str(error)]
        # The fix of a finding edits the policy of a replay, which is none of these alone.
        found += [replace(f, where=f"{name}: {f.where}".rstrip(": "), fix=()) for f in own]
        open_ += [f"the policy {name!r}: {text}" for text in unclear]
    return found, open_


def _turn(ticks: PolicyTicks, rows: np.ndarray) -> PolicyTicks:
    """The ticks of one policy, without the number of the one in charge."""
    return replace(
        ticks,
        step=ticks.step[rows],
        observation=ticks.observation[rows, 1:],
        action=ticks.action[rows],
        command=ticks.command[rows],
    )


def _option(
    recording: Recording, world: World, matches: Sequence[Match], ticks: PolicyTicks, file: Path
) -> tuple[list[ReplayFinding], list[str]]:
    robot = matches[0].robot
    with in_the_loop(file, world, robot) as policy:
        size = policy.observation.size  # others may be longer: they are filled up with zeros
        own = replace(ticks, observation=np.ascontiguousarray(ticks.observation[:, :size]))
        own = _in_order(own, matches[0], policy.joints)
        first = replace(matches[0], recorded=replace(matches[0].recorded, policy=own))
        case = PolicyCase(recording, world, (first, *matches[1:]), policy, read_policy(file))
        wrong = list(check_velocities(case))
        if wrong:
            return wrong, ["terms: recorded velocities are not those of the joints"]
        give_command(case)
        terms, network = TermChecks(case), NetworkCheck(case)
        seen = terms.run()
        done = network.run(terms_agree=not seen and not terms.open)
        return [*seen, *done], [*terms.open, *network.open]


def _in_order(ticks: PolicyTicks, pair: Match, joints: Sequence[str]) -> PolicyTicks:
    """Actions in the order of the policy; a switch records them in that of its first one."""
    names = {a.name: b.name for a, b in pair.joints}
    here = [names.get(joint, joint) for joint in ticks.joints]
    if set(here) != set(joints):
        return ticks
    columns = [here.index(joint) for joint in joints]
    order = tuple(ticks.joints[column] for column in columns)
    return replace(ticks, action=np.ascontiguousarray(ticks.action[:, columns]), joints=order)


def give_command(case: PolicyCase) -> None:
    """Give the policy the recorded commands."""
    began = case.began + case.shift * case.recording.timestep
    schedule = schedule_of(case.ticks, case.recording.timestep, began)
    if schedule and len(schedule[0][1]) == case.policy.command_now.size > 0:
        case.policy.follow(schedule)
