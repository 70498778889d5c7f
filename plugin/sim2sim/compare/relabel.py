"""Relabelled recordings: columns in another order, with other signs, shifted in time."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from mjrig.recording.recording import ActorRecording, RecordedCommands, Recording
from mjrig.sim2sim.compare.matching import Indices

#: Parts of joint names that denote a side.
SIDES = {
    "left and right": (("left", "right"), ("Left", "Right"), ("l", "r"), ("L", "R"),
                       ("FL", "FR"), ("RL", "RR"), ("HL", "HR"), ("LF", "RF"), ("LH", "RH")),
    "front and rear": (("front", "rear"), ("Front", "Rear"), ("front", "hind"), ("FL", "RL"),
                       ("FR", "RR"), ("FL", "HL"), ("FR", "HR"), ("LF", "LH"), ("RF", "RH")),
}  # fmt: skip


def mirrored(names: Sequence[str], sides: str) -> Indices | None:
    """The order that swaps the sides: column i takes what column order[i] had; None: no sides."""
    index = {name: i for i, name in enumerate(names)}
    order = np.arange(len(names))
    for i, name in enumerate(names):
        other = next((o for o in _others(name, sides) if o in index), None)
        if other is not None:
            order[i] = index[other]
    is_permutation = len(set(order.tolist())) == len(names)
    return order if is_permutation and (order != np.arange(len(names))).any() else None


def _others(name: str, sides: str) -> Iterator[str]:
    """Possible names of the joint on the other side."""
    words = name.split("_")
    for pair in SIDES[sides]:
        for a, b in (pair, pair[::-1]):
            if a in words:
                yield "_".join(b if word == a else word for word in words)


def with_order(recording: Recording, robot: str, order: Indices) -> Recording:
    """Setpoints in another order; states and names stay."""
    actor = recording.actors[robot]
    assert actor.commands is not None
    c = actor.commands
    moved = replace(
        c,
        position=c.position[:, order],
        velocity=c.velocity[:, order],
        feedforward=c.feedforward[:, order],
    )
    return _with(recording, replace(actor, commands=moved))


def with_names(recording: Recording, robot: str, order: Indices) -> Recording:
    """Joints and actuators under other names: what is called i was really order[i]."""
    actor = recording.actors[robot]
    names = {actor.driven[i]: actor.driven[j] for i, j in enumerate(order)}
    joints = tuple(replace(j, name=names.get(j.name, j.name)) for j in actor.joints)
    actuators = tuple(actor.actuators[j] for j in order)
    driven = tuple(actor.driven[j] for j in order)
    return _with(recording, replace(actor, joints=joints, actuators=actuators, driven=driven))


def with_signs(recording: Recording, robot: str, flipped: Sequence[int]) -> Recording:
    """Setpoints of some columns negated."""
    actor = recording.actors[robot]
    assert actor.commands is not None
    signs = np.ones(actor.commands.position.shape[1])
    signs[list(flipped)] = -1.0
    c = actor.commands
    moved = replace(
        c,
        position=c.position * signs,
        velocity=c.velocity * signs,
        feedforward=c.feedforward * signs,
    )
    return _with(recording, replace(actor, commands=moved))


def with_quaternions(recording: Recording, order: Sequence[int]) -> Recording:
    """Base and ball quaternions with their four numbers in another order."""
    actors = {}
    for name, actor in recording.actors.items():
        qpos = actor.qpos.copy()
        for joint in actor.joints:
            if joint.kind in ("free", "ball"):
                at = slice(joint.qpos.stop - 4, joint.qpos.stop)
                qpos[:, at] = actor.qpos[:, at][:, list(order)]
        actors[name] = replace(actor, qpos=qpos)
    return replace(recording, actors=actors)


def shifted(recording: Recording, steps: int) -> Recording:
    """Setpoints delayed by some steps, or advanced; those of the first step stay until then."""
    actors = {}
    for name, actor in recording.actors.items():
        c = actor.commands
        actors[name] = actor if c is None else replace(actor, commands=_moved(c, steps))
    return replace(recording, actors=actors)


def _moved(commands: RecordedCommands, steps: int) -> RecordedCommands:
    first = commands.step[0]
    step = commands.step + steps
    if steps > 0:
        step[0] = first
    kept = np.arange(max(0, int(np.searchsorted(step, first, side="right")) - 1), len(step))
    return RecordedCommands(
        np.maximum(step[kept], first),
        commands.position[kept],
        commands.velocity[kept],
        commands.feedforward[kept],
        {n: v[kept] for n, v in commands.inputs.items()},
    )


def _with(recording: Recording, actor: ActorRecording) -> Recording:
    return replace(recording, actors={**recording.actors, actor.name: actor})
