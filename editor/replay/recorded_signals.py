"""Recorded signals over the time of a recording, as curves; no imgui."""

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.recording.recording import ActorRecording, Recording

#: What can be shown, with the units of hinges and of slides.
KINDS = {
    "position": ("rad", "m"),
    "velocity": ("rad/s", "m/s"),
    "setpoint": ("rad", "m"),
    "effort": ("N·m", "N"),
}
#: Kinds that are shown together: what was reached, and faint what was wanted.
WANTED = {"position": "setpoint"}


def recorded_curves(recording: Recording, kind: str) -> dict[str, FloatArray]:
    """(2, n) curves by `robot.joint`, over the time since the beginning [s]."""
    found: dict[str, FloatArray] = {}
    for actor in recording.actors.values():
        for name, (steps, values) in _columns(actor, kind).items():
            found[f"{actor.name}.{name}"] = np.stack([steps * recording.timestep, values])
    return found


def unit_of(recording: Recording, kind: str) -> str:
    """The unit of a kind of signal: of hinges, of slides, or of both."""
    joints = [joint for actor in recording.actors.values() for joint in actor.joints]
    turns, slides = KINDS[kind]
    units = [turns] * any(j.kind == "hinge" for j in joints)
    units += [slides] * any(j.kind == "slide" for j in joints)
    return ", ".join(units)


def _columns(actor: ActorRecording, kind: str) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Steps and values by joint."""
    if kind in ("position", "velocity"):
        single = [joint for joint in actor.joints if joint.kind in ("hinge", "slide")]
        table = actor.qpos if kind == "position" else actor.qvel
        if table is None:
            return {}
        places = [j.qpos.start if kind == "position" else j.dof.start for j in single]
        steps = actor.step.astype(float)
        return {j.name: (steps, table[:, i]) for j, i in zip(single, places, strict=True)}
    if kind == "setpoint":
        if actor.commands is None:
            return {}
        steps, table = actor.commands.step.astype(float), actor.commands.position
    else:
        if actor.efforts is None:
            return {}
        steps, table = actor.efforts.step.astype(float), actor.efforts.effort
    names = [joint or name for joint, name in zip(actor.driven, actor.actuators, strict=True)]
    return {name: (steps, table[:, i]) for i, name in enumerate(names)}
