"""Why a policy may fall everywhere: findings of the pre-flight, and other joint orders."""

from mjrig.check.check import findings
from mjrig.check.finding import Level
from mjrig.control.policy import running_policies
from mjrig.errors import MjrigError
from mjrig.sim.world import World
from mjrig.sim2sim.diagnose.order_probe import (
    better_order,
    order_probe,
    suspicion,
    telling_command,
    unclear,
)
from mjrig.tuning.suites.bench import Benched, Entrant
from mjrig.tuning.suites.standings import falls_everywhere


def add_suspicions(found: Benched) -> None:
    """Put remarks beside every policy that falls everywhere: a wrong set-up is the usual cause."""
    for entrant in found.entrants:
        if entrant.scene is not None and falls_everywhere(found, entrant.name):
            found.notes.setdefault(entrant.name, []).extend(suspicions(entrant))


def suspicions(entrant: Entrant) -> list[str]:
    """What the pre-flight finds and whether another joint order does better."""
    assert entrant.scene is not None
    world = World(entrant.scene)
    notes = [
        f"pre-flight {finding.level}: {finding.where}: {finding.text}"
        for finding in findings(world)
        if finding.level is not Level.NOTE
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
        return f"joint order: {suspicion(probes)}; it is {', '.join(better.joints)}"
    return unclear(probes, command)
