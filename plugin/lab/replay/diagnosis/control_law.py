"""Control law behind recorded efforts: gains, delay and limit per joint, by regression.

`effort = kp·(target − position) − kv·velocity + feedforward`, with the target of some steps before.
If it fits exactly, the law of the recording is known, whatever its file states.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.data.recording.recording import ActorRecording, Recording, Steps
from mjrig.lab.replay.diagnosis.hypothesis import MIN_SAMPLES, ROUNDING

#: Samples that a regression needs, and the relative error up to which it is the law.
LEAST, EXACT = 30, 1e-3
#: The longest delay that is tried [steps].
MAX_DELAY = 40
#: Efforts are at a limit if the joint moves this far meanwhile [rad or m].
MOVED = 1e-4


@dataclass(frozen=True)
class JointLaw:
    """One joint: gains, steps of delay, and the relative error that is left."""

    kp: float
    kv: float
    delay: int
    rest: float


def recorded_laws(actor: ActorRecording) -> Mapping[str, JointLaw]:
    """The law of each driven joint that efforts determine exactly; joints by recorded name."""
    if actor.commands is None or actor.efforts is None or actor.qvel is None:
        return {}
    at = {j.name: j for j in actor.joints if j.kind in ("hinge", "slide")}
    _, rows, used = np.intersect1d(actor.step, actor.efforts.step, return_indices=True)
    own = _own_gains(actor, actor.step[rows])
    rows, used = rows[own], used[own]
    limits = recorded_limits(actor)
    found = {}
    for i, joint in enumerate(actor.driven):
        if joint in at and actor.driven.count(joint) == 1:
            q, v = actor.qpos[rows, at[joint].qpos.start], actor.qvel[rows, at[joint].dof.start]
            effort = actor.efforts.effort[used, i]
            law = _law(actor, i, actor.step[rows], q, v, effort, limits.get(joint))
            if law is not None:
                found[joint] = law
    return found


def recorded_limits(actor: ActorRecording) -> dict[str, float]:
    """Efforts at which joints stopped while they moved, whatever their gains; by recorded name."""
    if actor.efforts is None:
        return {}
    at = {j.name: j for j in actor.joints if j.kind in ("hinge", "slide")}
    _, rows, used = np.intersect1d(actor.step, actor.efforts.step, return_indices=True)
    found = {}
    for i, joint in enumerate(actor.driven):
        effort = np.abs(actor.efforts.effort[used, i])
        most = float(effort.max(initial=0.0))
        stopped = effort >= most * (1.0 - ROUNDING)
        if joint not in at or most <= 0.0 or int(stopped.sum()) < MIN_SAMPLES:
            continue
        # A robot at rest has a constant effort too, without any limit.
        if float(np.ptp(actor.qpos[rows[stopped], at[joint].qpos.start])) > MOVED:
            found[joint] = most
    return found


def _own_gains(actor: ActorRecording, steps: Steps) -> npt.NDArray[np.bool_]:
    """Where a robot had its own gains, not those of a stand or another stretch."""
    own = np.ones(len(steps), dtype=bool)
    for change in actor.gain_changes:  # the later one rules from its step on
        own[steps >= change.step] = change.gains is None
    return own


def _law(
    actor: ActorRecording,
    column: int,
    step: Steps,
    q: FloatArray,
    v: FloatArray,
    effort: FloatArray,
    limit: float | None,
) -> JointLaw | None:
    """The best law of one joint over all delays; None: none is exact."""
    commands = actor.commands
    assert commands is not None
    bound = np.inf if limit is None else limit * (1.0 - ROUNDING)
    free = np.abs(effort) < bound
    if not effort.any() or int(free.sum()) < LEAST:
        return None
    best: JointLaw | None = None
    for delay in range(MAX_DELAY + 1):
        held = np.searchsorted(commands.step, step - delay, side="right") - 1
        good = free & (held >= 0) & (step - delay >= commands.step[0])
        if int(good.sum()) < LEAST:
            break
        rows = np.maximum(held, 0)
        law = np.stack([commands.position[rows, column] - q, commands.velocity[rows, column] - v])
        wanted = effort - commands.feedforward[rows, column]
        gains, *_ = np.linalg.lstsq(law[:, good].T, wanted[good], rcond=None)
        rest = float(np.sqrt(np.mean((wanted - gains @ law)[good] ** 2)))
        size = max(float(np.sqrt(np.mean(wanted[good] ** 2))), 1e-12)
        if best is None or rest / size < 0.5 * best.rest:
            best = JointLaw(float(gains[0]), float(gains[1]), delay, rest / size)
        if best.rest < ROUNDING:
            break
    return best if best is not None and best.rest < EXACT else None


def with_laws(recording: Recording) -> Recording:
    """The recording with the gains, delays and limits of its efforts, where it states none."""
    actors = {n: _with_law(a, recording.timestep) for n, a in recording.actors.items()}
    return replace(recording, actors=actors)


def _with_law(actor: ActorRecording, timestep: float) -> ActorRecording:
    plant = actor.plant
    missing = [w for w in ("kp", "kv", "delay", "torque_limit") if w not in plant.joints]
    laws = recorded_laws(actor) if missing else {}
    joints = {k: dict(v) for k, v in plant.joints.items()}
    for what in missing:
        if what == "torque_limit":
            known = recorded_limits(actor)
        else:
            known = {j: _value(law, what, timestep) for j, law in laws.items()}
        if known and (what != "delay" or any(known.values())):
            joints[what] = known
    return replace(actor, plant=replace(plant, joints=joints))


def _value(law: JointLaw, what: str, timestep: float) -> float:
    return law.delay * timestep if what == "delay" else float(f"{getattr(law, what):.7g}")


def exceeded(actor: ActorRecording, limits: Mapping[str, float]) -> dict[str, float]:
    """Largest recorded efforts of joints that are above a limit; joints by recorded name."""
    if actor.efforts is None:
        return {}
    most = np.abs(actor.efforts.effort).max(axis=0, initial=0.0)
    return {
        joint: float(f"{e:.7g}")
        for joint, e in zip(actor.driven, most, strict=False)
        if joint in limits and e > limits[joint] * (1.0 + ROUNDING)
    }
