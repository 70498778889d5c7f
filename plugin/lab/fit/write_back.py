"""Writing the result of a fit into scenes and presets."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mjrig.core.control.articulation import Articulation
from mjrig.core.errors import FitError
from mjrig.core.names import how_many, listed, literal
from mjrig.core.patterns import Slots
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_description import existing
from mjrig.core.sim.world import World
from mjrig.lab.fit import inertial_parameters
from mjrig.lab.fit.estimates import Estimate
from mjrig.lab.fit.identification import Fit
from mjrig.lab.fit.plant import DELAY, DYNAMICS, GAINS, PAYLOAD
from mjrig.lab.gains.gain_presets import save_preset
from mjrig.lab.gains.gain_rows import Change, gain_rows, rounded, set_gains

# Stated bodies ------------------------------------------------------------------------------------
# Bodies that a fit has found, as a scene states them: `bodies` of the actor.


#: Digits that a body is written with: fewer could make a thin one impossible.
DIGITS = 12


def stated_bodies(
    scene: Scene, actor: str, found: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, Any]]:
    """Property of `bodies` → pattern of a body → value.

    Each body is stated as a whole. Another mass alone scales the inertia; a payload is at the
    centre and leaves it as it is.

    Args:
        scene: what the fit began with.
        actor: name of the robot.
        found: body → parameter → value.
    """
    if not found:
        return {}
    world = World(scene)
    made: dict[str, dict[str, Any]] = {part: {} for part in inertial_parameters.REPORTED}
    for body, values in found.items():
        whole = _whole(values, _compiled(world, actor, body))
        for part, names in inertial_parameters.REPORTED.items():
            written = [float(f"{whole[name]:.{DIGITS}g}") for name in names]
            made[part][literal(body)] = written if len(written) > 1 else written[0]
    return made


def _whole(values: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    """All numbers of a body; what was not fitted follows from the scene's as in the fit."""
    density = values.get("mass", before["mass"]) / before["mass"]
    inertia = {name: density * before[name] for name in inertial_parameters.REPORTED["inertia"]}
    found = {**before, **inertia, **values}
    return {**found, "mass": found["mass"] + values.get(PAYLOAD, 0.0)}


def _compiled(world: World, actor: str, body: str) -> dict[str, float]:
    prefix = world[actor].model_map.prefix
    pseudo = inertial_parameters.pseudo_inertia(world.model, world.model.body(f"{prefix}{body}").id)
    return dict(
        zip(inertial_parameters.NAMES, inertial_parameters.described(pseudo).tolist(), strict=True)
    )


def body_names(robot: Articulation) -> list[str]:
    """Local names of all bodies of a robot."""
    prefix = robot.model_map.prefix
    names = [str(robot.model.body(i).name) for i in range(1, robot.model.nbody)]
    return [name.removeprefix(prefix) for name in names if name.startswith(prefix)]


# Writing ------------------------------------------------------------------------------------------


#: A delay that is so close to a whole number of steps is one.
SAME_DELAY = 0.005


def put_fit(found: Fit, scene: Scene) -> None:
    """Write the identified values into a scene, all or nothing; does not save it.

    Raises:
        BindingError: gains are authored in another file.
        PropertyError: a value was refused; nothing was changed.
    """
    with scene.changes():
        set_gains(scene, _gain_changes(found, scene))
        roles = {e.actuator: role for e, role in _roles(found, scene)}
        delays: dict[str, dict[str, float]] = {}
        for e in _known(found, (DELAY,)):
            delays.setdefault(roles[e.actuator], {})[literal(e.actuator)] = round(e.value)
        for role, steps in delays.items():
            _put_delay(scene, f"{found.actor}.{role}", steps)
        for name in DYNAMICS:
            values = {literal(e.joint): rounded(e.value) for e in _known(found, (name,))}
            if values:
                _put_by_name(scene, f"{found.actor}.dynamics", name, values)
        for name, bodies in stated_bodies(scene, found.actor, _bodies(found)).items():
            _put_by_name(scene, f"{found.actor}.bodies", name, bodies)


def rounded_delays(found: Fit, scene: Scene) -> list[str]:
    """How delays that are no whole steps are written into a scene, for the terminal."""
    world = World(scene)
    roles = {e.actuator: role for e, role in _roles(found, scene)}
    groups: dict[tuple[int, int], list[Estimate]] = {}
    for e in _known(found, (DELAY,)):
        if abs(e.value - round(e.value)) > SAME_DELAY:
            every = _live(world, f"{found.actor}.{roles[e.actuator]}").decimation
            groups.setdefault((round(e.value), every), []).append(e)
    lines = []
    for (steps, every), own in groups.items():
        tick = 1e3 * world.timestep * every
        ends = dict.fromkeys(f"{f(e.value for e in own) * tick:.2f}" for f in (min, max))
        are, noun = ("are" if len(ends) > 1 else "is"), ("tick" if every > 1 else "step")
        lines.append(
            f"delays are whole {noun}s: {' to '.join(ends)} ms of {listed(e.joint for e in own)} "
            f"{are} written as {how_many(steps, noun)} of {tick:g} ms"
        )
    return lines


def _known(found: Fit, names: tuple[str, ...] = GAINS) -> list[Estimate]:
    return [e for e in found.estimates if e.identifiable and e.parameter in names]


def _bodies(found: Fit) -> dict[str, dict[str, float]]:
    """All numbers of the bodies of which one was identified: the others belong to it."""
    known = {e.joint for e in found.estimates if not e.actuator and e.identifiable}
    own: dict[str, dict[str, float]] = {}
    for e in found.estimates:
        if not e.actuator and e.joint in known:
            own.setdefault(e.joint, {})[e.parameter] = e.value
    return own


def _roles(found: Fit, scene: Scene) -> list[tuple[Estimate, str]]:
    rows = {r.actuator: r.component for r in gain_rows(World(scene), scene, found.actor)}
    return [(e, rows[e.actuator]) for e in found.estimates if e.actuator in rows]


def _gain_changes(found: Fit, scene: Scene) -> list[Change]:
    gains: dict[str, dict[str, float]] = {}
    for e in _known(found):
        gains.setdefault(e.actuator, {})[e.parameter] = rounded(e.value)
    rows = gain_rows(World(scene), scene, found.actor)
    return [(row, gains[row.actuator]) for row in rows if row.actuator in gains]


def _put_delay(scene: Scene, path: str, steps: Mapping[str, float]) -> None:
    controller: Any = existing(scene, path)
    delay = None if controller is None else controller.delay
    if controller is None or delay is None:
        scene.set(f"{path}.delay", {"steps": dict(steps)})
        return
    before = World(scene)
    names = [literal(b.actuator) for b in _live(before, path).bindings]
    lags = _live(before, path).delay.lags(before.timestep * controller.decimation)
    now = dict(zip(names, map(int, lags), strict=True))
    if delay.is_authored("seconds"):
        delay.unset("seconds")
    scene.set(f"{path}.delay.steps", {**now, **steps})


def _live(world: World, path: str) -> Any:
    actor, role = path.split(".", 1)
    return world[actor].part(role)


def _put_by_name(scene: Scene, path: str, name: str, values: Mapping[str, Any]) -> None:
    """Entries by name; patterns that covered them are expanded for the others."""
    actor, _, kind = path.partition(".")
    part: Any = existing(scene, path)
    kept: dict[str, Any] = {}
    if part is not None:
        robot = World(scene)[actor]
        names = body_names(robot) if kind == "bodies" else robot.joint_names
        slots = Slots([(n,) for n in names], actor, kind)
        taken = [i for i, one in enumerate(slots.names) if literal(one) in values]
        kept = slots.without(getattr(part, name), taken)
    scene.set(f"{path}.{name}", {**kept, **values})


def save(found: Fit, scene: Scene, path: Path) -> None:
    """Write the identified gains to a preset.

    Raises:
        FitError: there are none: delays and parameters of joints do not go into presets.
        SceneError: the file cannot be written.
    """
    changes = _gain_changes(found, scene)
    if not changes:
        raise FitError(
            "a preset holds gains, and none was identified; --write puts the rest into the scene"
        )
    save_preset(
        path, [replace(row, values={n: float(v) for n, v in g.items()}) for row, g in changes]
    )
