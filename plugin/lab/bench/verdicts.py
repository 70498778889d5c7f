"""Verdicts of a bench: thresholds for CI, and why a policy may fall everywhere."""

from collections.abc import Sequence

from mjrig.core.control.policy import running_policies
from mjrig.core.errors import MjrigError, PropertyError
from mjrig.core.findings import Level, warning
from mjrig.core.names import suggestion
from mjrig.core.sim.world import World
from mjrig.lab.bench.runner import Benched, Entrant
from mjrig.lab.bench.standings import falls_everywhere, success
from mjrig.lab.check.preflight import findings
from mjrig.lab.replay.diagnosis.order_probe import (
    better_order,
    order_probe,
    suspicion,
    telling_command,
    unclear,
)
from mjrig.lab.rollouts.worker import build_world

# Thresholds ---------------------------------------------------------------------------------------
# Thresholds of a bench for continuous integration: shares of episodes that must stay up.


#: Every task.
ALL = ""


def read_thresholds(texts: Sequence[str], tasks: Sequence[str]) -> dict[str, float]:
    """Read `0.8` for all tasks and `kick_1=0.5` for one.

    Raises:
        PropertyError: there is no such task, or the share is not from 0 to 1.
    """
    found = {}
    for text in texts:
        task, equals, said = text.rpartition("=")
        if equals and task not in tasks:
            raise PropertyError(f"--fail-below {text}: no task {task!r}; {suggestion(task, tasks)}")
        try:
            share = float(said)
        except ValueError:
            share = -1.0
        if not 0.0 <= share <= 1.0:
            raise PropertyError(
                f"--fail-below {text}: write a share from 0 to 1, as in 0.8 or {tasks[0]}=0.8"
            )
        found[task if equals else ALL] = share
    return found


def too_low(found: Benched, limits: dict[str, float]) -> list[str]:
    """A line per policy and task that stays up less often, and per policy that cannot run."""
    if not limits:
        return []
    lines = [f"FAIL {e.name}: not run: {e.problem}" for e in found.entrants if e.problem]
    for name, results in found.results.items():
        for task, result in results.items():
            limit = limits.get(task, limits.get(ALL))
            rate = success([result])
            if limit is not None and not rate.value >= limit:
                lines.append(f"FAIL {name}: {task}: {rate} is below {limit:g}")
    return lines


# Suspicion ----------------------------------------------------------------------------------------
# Why a policy may fall everywhere: findings of the pre-flight, and other joint orders.


def add_suspicions(found: Benched) -> None:
    """Put remarks beside every policy that falls everywhere: a wrong set-up is the usual cause."""
    for entrant in found.entrants:
        if entrant.scene is not None and falls_everywhere(found, entrant.name):
            found.notes.setdefault(entrant.name, []).extend(suspicions(entrant))


def suspicions(entrant: Entrant) -> list[str]:
    """What the pre-flight finds and whether another joint order does better."""
    assert entrant.scene is not None
    world = build_world(entrant.scene)
    notes = [
        f"pre-flight {finding.severity}: {finding.where}: {finding.text}"
        for finding in findings(world)
        if finding.severity is not Level.NOTE
    ]
    try:
        order = _order(world, entrant.actor)
    except MjrigError as error:
        order = f"the joint order could not be tried: {error}"
    notes += [order] if order else []
    nothing = "pre-flight and joint orders show no reason; replay a recording of its training"
    return notes or [nothing]


def _order(world: World, actor: str) -> str:
    """What other orders of the joints show; empty: nothing."""
    (policy,) = running_policies(world[actor].components)
    said = policy.__dict__.get("file")
    if said is None:
        return ""
    file = policy.find_file(said)
    command = telling_command(file)
    probes = order_probe(file, world, actor, command=command)
    better = better_order(probes, command)
    if better is not None:
        evidence = {"joints": list(better.joints), **suspicion(probes)}
        return warning("joint order", actor, form="joint order probed", **evidence).text
    doubtful = unclear(probes, command)
    return warning("unclear", actor, **doubtful).text if doubtful else ""
