"""A policy against a recording of it, without simulating: rate, order, terms, actions, network."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.policy import PolicyComponent
from mjrig.core.errors import MjrigError
from mjrig.core.findings import Finding
from mjrig.core.names import listed
from mjrig.core.sim.world import World
from mjrig.data.recording.recording import PolicyTicks, Recording
from mjrig.lab.replay.diagnosis.action_checks import (
    ALIKE,
    ActionChecks,
    action_line,
    filter_finding,
    recorded_filter,
)
from mjrig.lab.replay.diagnosis.policy_case import (
    MOST,
    PolicyCase,
    read_policy,
    real_ticks,
    schedule_of,
)
from mjrig.lab.replay.diagnosis.precision_checks import check_precision
from mjrig.lab.replay.diagnosis.rate_checks import (
    begins_later,
    check_names,
    check_rate,
    check_velocities,
)
from mjrig.lab.replay.diagnosis.start_checks import TARGET, StartChecks
from mjrig.lab.replay.diagnosis.term_checks import TermChecks
from mjrig.lab.replay.finding import replay_finding
from mjrig.lab.replay.matching import Match, match
from mjrig.lab.replay.policy_loop import in_the_loop, policies

# Network check ------------------------------------------------------------------------------------
# Whether the network here does what was recorded, on the observations that were recorded.


#: Actions that agree to this share of their size are of the same network.
AGREES = 1e-2
#: A recurrent state that was not recorded is forgotten after this share of the ticks.
FORGOTTEN = 0.5
#: The share of a network that may be right, on observations that are not its own.
SUSPECTED = 0.6


class NetworkCheck:
    """Feeds recorded observations to the network, in order.

    `rest` is how far its actions are from the recorded ones afterwards, `open` says why nothing
    can be said.
    """

    def __init__(self, case: PolicyCase) -> None:
        self._case = case
        self.open: list[str] = []
        self.rest: float | None = None
        #: Whether its outputs depend on ticks before the first recorded one.
        self._remembers = False

    def run(self, *, terms_agree: bool) -> list[Finding]:
        """Findings.

        Args:
            terms_agree: recorded observations are those that the policy here makes.
        """
        case = self._case
        rows = real_ticks(case.ticks)[:MOST]
        seen = case.ticks.observation[rows]
        if len(rows) < 3 or seen.shape[1] != case.policy.observation.size:
            self.open.append("the network: observations of another size were recorded")
            return []
        if set(case.joints) != set(case.policy.joints):
            self.open.append("the network: actions of other joints were recorded")
            return []
        try:
            here = case.policy.answers(seen).astype(np.float64)
        except MjrigError as error:
            self.open.append(f"the network: {error}")
            return []
        columns = [case.joints.index(j) for j in case.policy.joints]
        recorded = case.ticks.action[rows][:, columns].astype(np.float64)
        if not case.from_the_start:
            without = case.policy.answers(seen[1:]).astype(np.float64)
            self._remembers = not np.array_equal(without, here[1:])
        return self._compared(recorded, here, terms_agree)

    def _compared(self, recorded: FloatArray, here: FloatArray, terms_agree: bool) -> list[Finding]:
        # Recorded actions may be clipped already.
        off = np.minimum(
            np.abs(recorded - here), np.abs(recorded - np.clip(here, *_range(self._case)))
        ).max(axis=1)
        size = max(float(np.sqrt(np.mean(recorded**2))), 1e-6)
        if float(off.max()) < AGREES * size:
            self.rest = float(off.max())
            return []
        late = off[int(FORGOTTEN * len(off)) :]
        is_forgotten = float(late.max()) < AGREES * size and not self._case.from_the_start
        if is_forgotten or self._remembers:
            self.open.append("the network's memory at the first recorded tick was not recorded")
            return []
        smoothed = self._smoothed(recorded, here)
        if smoothed:
            return smoothed
        factor = _factor(recorded, here)
        if factor is not None and abs(factor - 1.0) < AGREES:
            return []  # but for a clip, which is judged with the targets
        if factor is not None:
            kind, there = "recorded actions", f"times {factor:.4g}"
            return [replay_finding(kind, "", there, "as the network gives them", kind, 1.0,
                               factor=factor)]  # fmt: skip
        share = 1.0 if terms_agree else SUSPECTED
        values = {"error": float(off.max()) / size, "ticks": len(off)}
        values["terms_differ"] = not terms_agree
        return [replay_finding("network", "", "another", "this", "network", share, **values)]

    def _smoothed(self, recorded: FloatArray, here: FloatArray) -> list[Finding]:
        beta = recorded_filter(here, recorded, np.inf)
        now = float((self._case.said.get("action") or {}).get("smoothing", 1.0))
        if beta is None or beta >= 1.0 or abs(beta - now) < ALIKE:
            return []
        return [filter_finding(beta, now, "action filter of the network")]


def _factor(recorded: FloatArray, here: FloatArray) -> float | None:
    """One factor between all recorded actions and those of the network; None: there is none."""
    lines = [action_line(h, r) for r, h in zip(recorded.T, here.T, strict=True)]
    found = [line for line in lines if line is not None]
    if len(found) < max(1, 0.5 * len(lines)):
        return None
    slopes = np.array([line.slope for line in found])
    middle = float(np.median(slopes))
    alike = np.abs(slopes - middle).max() < 1e-2 * abs(middle)
    return middle if alike and max(abs(line.offset) for line in found) < 1e-3 else None


def _range(case: PolicyCase) -> tuple[float, float]:
    clip = (case.said.get("action") or {}).get("clip")
    if clip is None or np.ndim(clip) > 1 or isinstance(clip, str):
        return -np.inf, np.inf
    return (-float(clip), float(clip)) if np.ndim(clip) == 0 else (float(clip[0]), float(clip[1]))


# Option checks ------------------------------------------------------------------------------------
# Policies that took turns on a robot, each against what was recorded while it was in charge.


def check_options(
    recording: Recording, world: World, matches: Sequence[Match], switch: PolicyComponent
) -> tuple[list[Finding], list[str]]:
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
    found: list[Finding] = []
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
        found += [replace(f, names=(": ".join((name, *f.names)),), remedies=()) for f in own]
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
) -> tuple[list[Finding], list[str]]:
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


# Policy checks ------------------------------------------------------------------------------------


def check_policy(
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
    actor = matches[0].robot
    if policy is None:
        own = policies(actor)
        if len(own) != 1:
            return [], []
        policy = own[0]
    ticks = matches[0].recorded.policy
    if ticks is None or not real_ticks(ticks):
        return [], ["the policy: no observations and actions were recorded"]
    if isinstance(policy, PolicyComponent) and policy.choices:
        try:
            return check_options(recording, world, matches, policy)
        finally:
            world.reset()
    path = _file(policy)
    if path is None:
        return [], ["the policy: it has no file"]
    made = policy.copy() if isinstance(policy, PolicyComponent) else path
    try:
        with ExitStack() as stack:
            component = stack.enter_context(in_the_loop(made, world, actor))
            case = PolicyCase(recording, world, matches, component, read_policy(path))
            return _checked(case)
    except MjrigError as error:
        return [], [f"the policy: {error}"]
    finally:
        world.reset()


def _file(policy: PolicyComponent | Path | str) -> Path | None:
    if isinstance(policy, str | Path):
        return Path(policy)
    file = policy.__dict__.get("file")
    return None if file is None else policy.find_file(file)


def _checked(case: PolicyCase) -> tuple[list[Finding], list[str]]:
    wrong = list(check_velocities(case))
    if wrong:
        return wrong, ["terms and actions: recorded velocities are not those of the joints"]
    found = [*check_rate(case), *check_names(case)]
    if any(f.kind == "joint order" for f in found):
        return found, ["terms and actions: they are in another order"]
    # A stand of another length is one cause; the rest is compared as if both began together.
    case = replace(case, shift=begins_later(case))
    give_command(case)
    began, terms, actions = StartChecks(case), TermChecks(case), ActionChecks(case)
    network = NetworkCheck(case)
    seen, done = terms.run(), actions.run()
    # One wrong pose shows in the observation and in the targets; what both show is said once.
    whats = {f.kind for f in done}
    found += [*done, *(f for f in seen if f.kind not in whats or f.kind == "sign")]
    first = began.run()
    if done:  # a pose, an order or a sign that is wrong in all targets is wrong in the stand's too
        first = [f for f in first if f.kind != TARGET]
    found = [*first, *found]
    found += network.run(terms_agree=not seen and not terms.open)
    recorded = [f for f in found if f.kind == "recorded actions"]
    if recorded:  # then slopes over actions mean nothing, and the last action is not the recorded
        found = [f for f in found if f not in done and not f.where.startswith("LastAction")]
    if not found:
        found = list(check_precision(case))
    open_ = [*began.open, *terms.open, *actions.open, *network.open]
    return found, open_
