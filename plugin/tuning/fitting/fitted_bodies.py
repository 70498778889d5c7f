"""Bodies that a fit has found, as a scene states them: `bodies` of the actor."""

from collections.abc import Mapping
from typing import Any

from mjrig.control.articulation import Articulation
from mjrig.names import literal
from mjrig.scene_edit.scene import Scene
from mjrig.sim.world import World
from mjrig.tuning.fitting.fit import Fit
from mjrig.tuning.simulated import inertial
from mjrig.tuning.simulated.plant import PAYLOAD

#: Digits that a body is written with: fewer could make a thin one impossible.
DIGITS = 12


def fitted_bodies(found: Fit, scene: Scene) -> dict[str, dict[str, Any]]:
    """Property of `bodies` → pattern of a body → value.

    A body is written as a whole as soon as one of its numbers was identified: the others belong to
    it. Another mass alone scales the inertia; a payload is at the centre and leaves it as it is.
    """
    own: dict[str, dict[str, float]] = {}
    known = {e.joint for e in found.estimates if not e.actuator and e.identifiable}
    for e in found.estimates:
        if not e.actuator and e.joint in known:
            own.setdefault(e.joint, {})[e.parameter] = e.value
    if not own:
        return {}
    world = World(scene)
    made: dict[str, dict[str, Any]] = {part: {} for part in inertial.REPORTED}
    for body, values in own.items():
        whole = _whole(values, _compiled(world, found.actor, body))
        for part, names in inertial.REPORTED.items():
            written = [float(f"{whole[name]:.{DIGITS}g}") for name in names]
            made[part][literal(body)] = written if len(written) > 1 else written[0]
    return made


def _whole(values: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    """All numbers of a body; what was not fitted follows from the scene's as in the fit."""
    density = values.get("mass", before["mass"]) / before["mass"]
    inertia = {name: density * before[name] for name in inertial.REPORTED["inertia"]}
    found = {**before, **inertia, **values}
    return {**found, "mass": found["mass"] + values.get(PAYLOAD, 0.0)}


def _compiled(world: World, actor: str, body: str) -> dict[str, float]:
    prefix = world[actor].model_map.prefix
    pseudo = inertial.pseudo_inertia(world.model, world.model.body(f"{prefix}{body}").id)
    return dict(zip(inertial.NAMES, inertial.described(pseudo).tolist(), strict=True))


def body_names(robot: Articulation) -> list[str]:
    """Local names of all bodies of a robot."""
    prefix = robot.model_map.prefix
    names = [str(robot.model.body(i).name) for i in range(1, robot.model.nbody)]
    return [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
