"""A policy against a recording of it, without simulating: rate, order, terms, actions, network."""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from mjrig.control.policy import PolicyComponent
from mjrig.errors import MjrigError
from mjrig.recording.recording import Recording
from mjrig.sim.world import World
from mjrig.sim2sim.compare.finding import ReplayFinding
from mjrig.sim2sim.compare.matching import match
from mjrig.sim2sim.play.policy_loop import in_the_loop, policies
from mjrig.sim2sim.recorded_policy.action_checks import ActionChecks
from mjrig.sim2sim.recorded_policy.network_check import NetworkCheck
from mjrig.sim2sim.recorded_policy.option_checks import check_options, give_command
from mjrig.sim2sim.recorded_policy.policy_case import PolicyCase, read_policy
from mjrig.sim2sim.recorded_policy.precision_checks import check_precision
from mjrig.sim2sim.recorded_policy.rate_checks import (
    begins_later,
    check_names,
    check_rate,
    check_velocities,
)
from mjrig.sim2sim.recorded_policy.recomputed import real_ticks
from mjrig.sim2sim.recorded_policy.start_checks import TARGET, StartChecks
from mjrig.sim2sim.recorded_policy.term_checks import TermChecks


def check_policy(
    recording: Recording, world: World, robot: str, policy: PolicyComponent | Path | str | None
) -> tuple[list[ReplayFinding], list[str]]:
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


def _checked(case: PolicyCase) -> tuple[list[ReplayFinding], list[str]]:
    wrong = list(check_velocities(case))
    if wrong:
        return wrong, ["terms and actions: recorded velocities are not those of the joints"]
    found = [*check_rate(case), *check_names(case)]
    if any(f.what == "joint order" for f in found):
        return found, ["terms and actions: they are in another order"]
    # A stand of another length is one cause; the rest is compared as if both began together.
    case = replace(case, shift=begins_later(case))
    give_command(case)
    began, terms, actions = StartChecks(case), TermChecks(case), ActionChecks(case)
    network = NetworkCheck(case)
    seen, done = terms.run(), actions.run()
    # One wrong pose shows in the observation and in the targets; what both show is said once.
    whats = {f.what for f in done}
    found += [*done, *(f for f in seen if f.what not in whats or f.what == "sign")]
    first = began.run()
    if done:  # a pose, an order or a sign that is wrong in all targets is wrong in the stand's too
        first = [f for f in first if f.what != TARGET]
    found = [*first, *found]
    found += network.run(terms_agree=not seen and not terms.open)
    recorded = [f for f in found if f.what == "recorded actions"]
    if recorded:  # then slopes over actions mean nothing, and the last action is not the recorded
        found = [f for f in found if f not in done and not f.where.startswith("LastAction")]
    if not found:
        found = list(check_precision(case))
    open_ = [*began.open, *terms.open, *actions.open, *network.open]
    return found, open_
