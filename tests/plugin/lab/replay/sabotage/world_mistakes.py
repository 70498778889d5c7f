"""Mistakes in the scene or in the model: gains, limits, delays, the body, the ground."""

from pathlib import Path
from typing import Any

import numpy as np

import mjrig
from mjrig.lab.replay.diagnosis.order_hypotheses import shifted
from tests.plugin.lab.replay.sabotage.fixtures import Fixture
from tests.plugin.lab.replay.sabotage.sabotaged import (
    Mistake,
    Sabotaged,
    busiest,
    controller_of,
    gains_of,
    plain,
    tick_steps,
)


def gain(what: str, factor: float, only_one: bool) -> Mistake:
    def change(fixture: Fixture, folder: Path) -> Sabotaged | None:
        found, case = gains_of(fixture, what), plain(fixture)
        joint = busiest(fixture)[0]
        if found is None:
            native = {"kp": (0, 1), "kv": (2,)}[what]

            def model(m: Any) -> None:
                rows = list(range(m.nu))
                if only_one:
                    rows = [i for i in rows if m.joint(m.actuator_trnid[i, 0]).name.endswith(joint)]
                for i in rows:
                    for place in native:
                        if place == 0:
                            m.actuator_gainprm[i, 0] *= factor
                        elif place == 1:
                            m.actuator_biasprm[i, 1] *= factor
                        else:
                            m.actuator_biasprm[i, 2] = min(m.actuator_biasprm[i, 2] * factor, -0.2)

            case.model = model
            return case
        if joint not in found:
            joint = next(iter(found))
        new = {j: v * (factor if j == joint or not only_one else 1.0) for j, v in found.items()}
        controller_of(case.scene).assign({what: new})
        return case

    return change


def limit(fixture: Fixture, folder: Path) -> Sabotaged | None:
    """A tighter limit of the controller, or of the model's own servo."""
    case, (joint, most) = plain(fixture), busiest(fixture)
    found = gains_of(fixture, "torque_limit")
    if found is None:
        world = mjrig.World(case.scene)
        servo = next(b for b in world[fixture.robot].actuators if b.joint.endswith(joint))
        bound = 0.6 * most / abs(servo.gear)
        ranges = {servo.actuator: [-bound, bound]}
        case.scene.actors[0].assign({"native_gains": {"forcerange": ranges}})
        return case
    if joint not in found:
        return None
    kept = {j: v for j, v in found.items() if np.isfinite(v)}
    controller_of(case.scene).assign({"torque_limit": {**kept, joint: 0.6 * most}})
    return case


def armature(only_one: bool) -> Mistake:
    def made(fixture: Fixture, folder: Path) -> Sabotaged | None:
        case, pattern = plain(fixture), ".*"
        if only_one:
            pattern = busiest(fixture)[0]
        case.scene.actors[0].assign({"dynamics": {"armature": {pattern: 0.03}}})
        return case

    return made


def timestep(fixture: Fixture, folder: Path) -> Sabotaged | None:
    case = plain(fixture)
    case.scene.set("sim.timestep", fixture.recording.timestep / 2)
    return case


def integrator(fixture: Fixture, folder: Path) -> Sabotaged | None:
    case = plain(fixture)
    case.scene.set("sim.integrator", "implicitfast")
    return case


def delay(ticks: int) -> Mistake:
    """A delay in the controller here, or late setpoints where the model's servos drive."""

    def made(fixture: Fixture, folder: Path) -> Sabotaged | None:
        case, steps = plain(fixture), ticks * tick_steps(fixture)
        controller = controller_of(case.scene)
        if controller is None:
            case.recording = shifted(case.recording, steps)
        else:
            controller.assign({"delay": {"steps": steps}})
        return case

    return made


def friction(fixture: Fixture, folder: Path) -> Sabotaged | None:
    case = plain(fixture)

    def model(m: Any) -> None:
        m.geom_friction[:, 0] *= 0.5

    case.model = model
    return case


def payload(fixture: Fixture, folder: Path) -> Sabotaged | None:
    """On the trunk of a robot that walks, in the hand of one that is fixed."""
    case = plain(fixture)
    floats = any(j.kind == "free" for j in fixture.actor.joints[:1])
    moved = [j.name for j in fixture.actor.joints if j.kind in ("hinge", "slide")]

    def model(m: Any) -> None:
        root = next(m.body_rootid[m.jnt_bodyid[j]] for j in range(m.njnt)
                    if m.joint(j).name.endswith(moved[0]))  # fmt: skip
        mine = [i for i in range(m.nbody) if m.body_rootid[i] == root and m.body_mass[i]]
        body = max(mine, key=lambda i: float(m.body_mass[i])) if floats else mine[-1]
        extra = 0.1 * float(m.body_mass[mine].sum())
        m.body_inertia[body] *= (m.body_mass[body] + extra) / m.body_mass[body]
        m.body_mass[body] += extra

    case.model = model
    return case


def controller_precision(fixture: Fixture, folder: Path) -> Sabotaged | None:
    case = plain(fixture)
    controller = controller_of(case.scene)
    if controller is None:
        return None
    other = {"float32": "float64", "float64": "float32"}
    controller.assign({"precision": other[str(controller.precision)]})
    return case


def world_gravity(fixture: Fixture, folder: Path) -> Sabotaged | None:
    case = plain(fixture)

    def model(m: Any) -> None:
        m.opt.gravity[2] = -9.0

    case.model = model
    return case


def springs(only_one: bool) -> Mistake:
    def made(fixture: Fixture, folder: Path) -> Sabotaged | None:
        case = plain(fixture)
        pattern = busiest(fixture)[0] if only_one else ".*"
        case.scene.actors[0].assign({"dynamics": {"stiffness": {pattern: 4.0}}})
        return case

    return made
