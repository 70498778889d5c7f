"""Probe of a policy's joint order: short runs with the declared and other plausible orders."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from mjrig.core.control.articulation import Articulation
from mjrig.core.errors import MjrigError
from mjrig.core.sim.world import World
from mjrig.lab.replay.diagnosis.order_hypotheses import SIDES, mirrored
from mjrig.lab.replay.diagnosis.policy_case import copy_policy, read_policy
from mjrig.lab.replay.policy_loop import command_policy, find_robot, in_the_loop
from mjrig.lab.replay.trials import run_policy
from mjrig.lab.rollouts.tracks import Track

DECLARED = "as declared"
#: Command of a walking policy while orders are tried: vx [m/s], vy [m/s], yaw rate [rad/s].
#: It turns, because straight ahead a gait with its sides swapped can look right.
COMMAND = (0.5, 0.0, 0.3)
#: The term that shows a policy how far something it turns is from its goal.
TURNS = "RelativeRotation"
#: How long the policy runs in a probe [s]; wrong orders show in the first moments.
SECONDS = 3.0
#: Another order is suspected if its cost is below this share of the declared one's …
CLEARLY = 0.6
#: … and by at least this much: two orders that both do well prove nothing.
GAP = 0.1
#: Without a better order, this much tilt (cosine) or error (share of the command) is a bad run.
TILTED, ASTRAY = 0.8, 0.9
#: So is one that leaves this share of the angle to a goal.
UNMOVED = 0.5


@dataclass(frozen=True)
class OrderProbe:
    """One order: how the robot did with it. Least `cost` is best.

    The cost adds up how early it fell, its tilt, how badly it followed the command, how far what
    it turns ended from its goal, how often motors were at their limits and how restless the
    setpoints were. `goal` has the angles to that goal before and after [rad]; None: there is none.
    """

    name: str
    joints: tuple[str, ...]
    cost: float
    fell: bool
    duration: float
    upright: float
    tracking_error: float | None
    saturation: float
    restlessness: float
    goal: tuple[float, float] | None = None


def order_probe(
    policy: Path,
    world: World,
    robot: str = "",
    *,
    command: Sequence[float] | None = None,
    seconds: float = SECONDS,
) -> list[OrderProbe]:
    """Run a policy with its declared order and with others, best first.

    Others are: left and right swapped, front and rear swapped, the model's joints in their order,
    its actuators in theirs, and breadth first, with siblings as in the model or by name. A command
    that also turns distinguishes more of them.

    Raises:
        RecordingError: the file is not a policy file, or its robot is ambiguous.
    """
    actor = find_robot(world, robot)
    said = read_policy(policy)
    stand = said.get("start")
    duration = stand.get("duration") if isinstance(stand, dict) else None
    seconds += duration if isinstance(duration, int | float) else 0.0
    steps = max(1, round(seconds / world.timestep))
    goals = _goals(said)
    world.reset()
    before = _angle(world, actor, goals)
    found: list[OrderProbe] = []
    with TemporaryDirectory() as folder:
        for name, joints in orders(said["joints"], actor, world):
            path = Path(folder, f"{len(found)}.yaml")
            copy_policy({**said, "joints": list(joints)}, path, policy.resolve().parent)
            try:
                with in_the_loop(path, world, actor) as component:
                    command_policy(component, command, None)
                    run = run_policy(world, actor, component, steps, start=world.reset)
            except MjrigError:
                if name == DECLARED:
                    raise
                continue
            restless = _restlessness(run.track, actor, max(1, int(said.get("decimation", 1))))
            trial, after = run.trial, _angle(world, actor, goals)
            cost = (
                4.0 * (1.0 - trial.duration / seconds)
                + 4.0 * (1.0 - max(trial.upright, -1.0))
                + (trial.tracking_error or 0.0)
                + 2.0 * trial.saturation
                + restless
                + (after or 0.0)
            )
            found.append(
                OrderProbe(
                    name,
                    tuple(joints),
                    cost,
                    trial.fell,
                    trial.duration,
                    trial.upright,
                    trial.tracking_error,
                    trial.saturation,
                    restless,
                    None if before is None or after is None else (before, after),
                )
            )
    return sorted(found, key=lambda probe: probe.cost)


def telling_command(policy: Path) -> list[float] | None:
    """The command that distinguishes joint orders, within the ranges the policy was trained for.

    None: it takes no command of a walking robot.

    Raises:
        RecordingError: the file is not a policy file.
    """
    said = read_policy(policy).get("command")
    takes = said if isinstance(said, dict) else {}
    if len(takes.get("names") or takes.get("default") or ()) != len(COMMAND):
        return None
    ranges = takes.get("ranges") or [(-math.inf, math.inf)] * len(COMMAND)
    return [min(max(v, low), high) for v, (low, high) in zip(COMMAND, ranges, strict=True)]


#: What is wrong with a run, by name: `fell`, `tilt`, `missed`, `goal` or `cost`, with its values.
Evidence = dict[str, Any]


def suspicion(probes: Sequence[OrderProbe]) -> Evidence:
    """The order that does clearly better, and what is wrong as declared; empty: none does."""
    declared, best = _declared(probes), probes[0]
    bad = _bad(declared)
    clearly = bool(bad) or best.cost < CLEARLY * declared.cost
    if _bad(best) or not clearly or best.cost + GAP > declared.cost:
        return {}
    problem = bad or {"cost": [declared.cost]}
    return {**problem, "order": best.name, "least": best.cost, "upright": best.upright}


def better_order(
    probes: Sequence[OrderProbe], command: Sequence[float] | None = None
) -> OrderProbe | None:
    """The order to name instead of the declared one: with it the policy does all that is healthy.

    With the `command` of the runs, it must follow that too. None: there is no such order.
    """
    best = probes[0]
    healthy = not _bad(best, command)
    return best if healthy and suspicion(probes) else None


def unclear(probes: Sequence[OrderProbe], command: Sequence[float] | None = None) -> Evidence:
    """What is wrong with the declared order's run where no other can be named; empty: nothing."""
    if better_order(probes, command) is not None:
        return {}
    declared = _declared(probes)
    cost = {"cost": [declared.cost]} if suspicion(probes) else {}
    return _bad(declared, command) or cost


def has_goal(policy: Path) -> bool:
    """Whether a policy turns something to a goal that it sees.

    Raises:
        RecordingError: the file is not a policy file.
    """
    return bool(_goals(read_policy(policy)))


def _declared(probes: Sequence[OrderProbe]) -> OrderProbe:
    return next(p for p in probes if p.name == DECLARED)


def _bad(probe: OrderProbe, command: Sequence[float] | None = None) -> Evidence:
    """Problems with a single run; empty: none."""
    if probe.fell:
        return {"fell": [probe.duration]}
    if probe.upright < TILTED:
        return {"tilt": [math.degrees(math.acos(max(probe.upright, -1.0)))]}
    target = math.hypot(*command) if command is not None else 0.0
    if target and probe.tracking_error is not None and probe.tracking_error > ASTRAY * target:
        return {"missed": [probe.tracking_error, target]}
    if probe.goal is not None and probe.goal[1] > UNMOVED * probe.goal[0]:
        return {"goal": [math.degrees(angle) for angle in probe.goal]}
    return {}


def orders(
    declared: Sequence[str], robot: Articulation, world: World
) -> Iterator[tuple[str, list[str]]]:
    """The orders to try, each once: name and joints."""
    names = list(declared)
    found = [(DECLARED, names)]
    for sides in SIDES:
        order = mirrored(names, sides)
        if order is not None:
            found.append((f"{sides} swapped", [names[i] for i in order]))
    drives = {b.actuator: b.joint for b in robot.actuators}
    here = {drives[n] if n in drives else n: n for n in names}
    by_joint = [here[j] for j in robot.joint_names if j in here]
    by_actuator = [here[j] for a in robot.actuator_names if (j := drives[a]) in here]
    above = _bodies_above(robot, world)
    chains = {n: above.get(drives.get(n) or n, []) for n in by_joint}
    by_depth = sorted(by_joint, key=lambda n: len(chains[n]))
    by_name = sorted(by_joint, key=lambda n: (len(chains[n]), chains[n]))
    found += [
        ("the model's joint order", by_joint),
        ("the model's actuator order", by_actuator),
        ("the joints breadth first", by_depth),
        ("the joints breadth first, siblings by name", by_name),
    ]
    seen: list[list[str]] = []
    for name, joints in found:
        if joints not in seen and len(joints) == len(names):
            seen.append(joints)
            yield name, joints


def _bodies_above(robot: Articulation, world: World) -> dict[str, list[str]]:
    """Names of the bodies from the base to each joint's: PhysX numbers joints outwards."""
    model, found = world.model, {}
    for binding in robot.actuators:
        if binding.on_joint:
            body, names = int(model.jnt_bodyid[binding.joint_id]), list[str]()
            while body:
                names.insert(0, str(model.body(body).name))
                body = int(model.body_parentid[body])
            found[binding.joint] = names
    return found


def _goals(said: dict[str, Any]) -> list[tuple[str, str]]:
    """Pairs of sensors, what a policy turns and where to: those whose rotation it observes."""
    observation = said.get("observation")
    terms = observation.get("terms") if isinstance(observation, dict) else None
    return [
        (str(term.get("sensor")), str(term.get("other")))
        for term in terms or ()
        if isinstance(term, dict) and term.get("type") == TURNS
    ]


def _angle(world: World, robot: Articulation, goals: Sequence[tuple[str, str]]) -> float | None:
    """The widest angle between such a pair now [rad]; None: there is none."""
    prefix, angles = robot.model_map.prefix, []
    for names in goals:
        one, other = (world.data.sensor(prefix + name).data for name in names)
        angles.append(2.0 * math.acos(min(1.0, abs(float(one @ other)))))
    return max(angles, default=None)


def _restlessness(track: Track, robot: Articulation, every: int) -> float:
    """Mean jump of the position setpoints from tick to tick [rad or m]."""
    targets = track.target[robot.name][:, 0][::every]
    return float(np.abs(np.diff(targets, axis=0)).mean()) if len(targets) > 1 else 0.0
