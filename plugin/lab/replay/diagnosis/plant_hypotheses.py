"""Hypotheses about the plant: what recording and world both state, and what efforts show."""

from collections.abc import Iterator
from functools import partial

from mjrig.core.sim.plant_parameters import plant_of
from mjrig.lab.replay.diagnosis.control_law import exceeded
from mjrig.lab.replay.diagnosis.hypothesis import Alternative
from mjrig.lab.replay.diagnosis.plant_differences import PlantDifference, differences, plant_fix
from mjrig.lab.replay.diagnosis.replay_case import ReplayCase
from mjrig.lab.replay.finding import replay_finding
from mjrig.lab.replay.matching import Match
from mjrig.lab.replay.plant_edit import PlantEdit
from mjrig.lab.rollouts.world_copy import twin


def plant(case: ReplayCase) -> Iterator[Alternative]:
    """What differs from the recording: each difference, and those of one property together."""
    seen: set[str] = set()
    groups: dict[tuple[str, str, bool], list[tuple[Match, PlantDifference]]] = {}
    for pair, difference in _differences(case):
        if difference.joints or difference.what not in seen:  # of the whole world: once is enough
            seen.add(difference.what)
            yield _candidate(case, pair, difference)
        if len(difference.joints) == 1:
            key = pair.robot.name, difference.what, _is_unstated(case, pair, difference)
            groups.setdefault(key, []).append((pair, difference))
    for members in groups.values():
        if len(members) > 1:
            pair, one = members[0]
            joints = tuple(d.joints[0] for _, d in members)
            both = PlantDifference(one.what, one.recorded, one.here, joints)
            yield _candidate(case, pair, both)


def _differences(case: ReplayCase) -> Iterator[tuple[Match, PlantDifference]]:
    for pair in case.matches:
        names = {a.name: b.name for a, b in pair.joints}
        here = plant_of(case.world, pair.robot)
        for difference in differences(pair.recorded.plant, here, names):
            yield pair, difference
        # Efforts in the recording, where it states no limit, that those here do not allow.
        limits, stated = (p.joints.get("torque_limit", {}) for p in (here, pair.recorded.plant))
        mine = {j: limits[n] for j, n in names.items() if n in limits and j not in stated}
        above = {names[j]: effort for j, effort in exceeded(pair.recorded, mine).items()}
        for name in above:
            yield pair, PlantDifference("torque_limit", above, limits, (name,))
        late = {j: v for j, v in here.joints.get("delay", {}).items() if v > 0.0}
        is_unstated = "delay" not in pair.recorded.plant.joints
        if late and is_unstated and not case.recording.is_measured:
            # A simulation that does not mention a delay most likely had none; robots have one.
            yield pair, PlantDifference("delay", dict.fromkeys(late, 0.0), late, tuple(late))


def _is_unstated(case: ReplayCase, pair: Match, difference: PlantDifference) -> bool:
    """Whether the recorded value is the largest recorded effort, as no limit is stated."""
    if difference.what != "torque_limit":
        return False
    limits = case.stated[pair.recorded.name].joints.get("torque_limit", {})
    return not {b.name for a, b in pair.joints if a.name in limits}.issuperset(difference.joints)


def _candidate(case: ReplayCase, pair: Match, difference: PlantDifference) -> Alternative:
    largest = ", largest effort" if _is_unstated(case, pair, difference) else ""
    finding = replay_finding(
        difference.what,
        difference.where,
        difference.recorded_value(),
        difference.here_value(),
        f"undone{largest}",
        edits=plant_fix(case.world, pair.robot, difference),
        reason="",
    )
    run = None
    if difference.what == "timestep" or "RK4" in (difference.recorded, difference.here):
        run = partial(_built, case, difference)
    elif difference.what == "delay":
        run = partial(_in_python, case, pair, difference)
    return Alternative(finding, (pair.robot, difference.apply), run, f"not tried{largest}")


def _built(case: ReplayCase, difference: PlantDifference) -> float:
    """The error in a world that is built with the recorded option."""
    return case.error(world=twin(case.world, {difference.what: difference.recorded}))


def _in_python(case: ReplayCase, pair: Match, difference: PlantDifference) -> float:
    """A native law has its delay compiled in; the same law in Python has not."""
    world = twin(case.world)
    with PlantEdit(world, world[pair.robot.name]) as edit:
        difference.apply(edit)
        return case.error(world=world)
