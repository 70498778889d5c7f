"""Hypotheses about order and signs of recorded columns: estimated from data, then tried."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import MjrigError
from mjrig.core.findings import Finding
from mjrig.core.names import how_many, listed
from mjrig.data.recording.recording import ActorRecording, RecordedCommands, Recording
from mjrig.lab.replay.diagnosis.hypothesis import Alternative
from mjrig.lab.replay.diagnosis.policy_case import PolicyCase
from mjrig.lab.replay.diagnosis.replay_case import ReplayCase
from mjrig.lab.replay.finding import repair, replay_finding
from mjrig.lab.replay.matching import Indices
from mjrig.lab.replay.repairs import some

# Assignment ---------------------------------------------------------------------------------------
# Assignment of target columns to measured joints, from the data alone.


#: A column that moves less than this cannot be assigned [rad or m].
STILL = 1e-3
#: Efforts at fewer steps than this are not used.
LEAST = 20


@dataclass(frozen=True)
class MatchSamples:
    """Targets, positions, velocities and efforts of the driven joints, row by row.

    `effort` and `velocity` are None where they were not recorded. `places` are the columns among
    all actuators of the recording; None: all of them.
    """

    target: FloatArray
    position: FloatArray
    velocity: FloatArray | None = None
    effort: FloatArray | None = None
    places: Indices | None = None


def samples_of(actor: ActorRecording) -> MatchSamples | None:
    """Recorded setpoints and the joints they drive, at the same steps.

    With efforts: only the steps they were recorded at. Actuators that drive no recorded joint, such
    as those on tendons, are left out; None where all are.
    """
    commands = actor.commands
    at = {j.name: j for j in actor.joints if j.kind in ("hinge", "slide")}
    places = np.array([i for i, n in enumerate(actor.driven) if n in at], dtype=np.intp)
    if commands is None or not len(places):
        return None
    qpos = [at[actor.driven[i]].qpos.start for i in places]
    dof = [at[actor.driven[i]].dof.start for i in places]
    rows = np.flatnonzero(actor.step >= commands.step[0])
    effort = None
    if actor.efforts is not None and actor.qvel is not None:
        _, states, used = np.intersect1d(actor.step, actor.efforts.step, return_indices=True)
        good = actor.step[states] >= commands.step[0]
        if good.sum() >= LEAST:
            rows, effort = states[good], actor.efforts.effort[used[good]][:, places]
    held = np.searchsorted(commands.step, actor.step[rows], side="right") - 1
    velocity = None if actor.qvel is None else actor.qvel[rows][:, dof]
    target = commands.position[held][:, places]
    return MatchSamples(target, actor.qpos[rows][:, qpos], velocity, effort, places)


def likely_order(samples: MatchSamples) -> Indices:
    """The column of targets that fits each joint best: an assignment of least cost.

    Columns that do not move keep their place.
    """
    moving = samples.target.std(axis=0) > STILL
    order = np.arange(len(moving))
    places = np.flatnonzero(moving)
    if len(places):
        cost = costs(samples)[np.ix_(places, places)]
        order[places] = places[assign(cost)]
    return order


def costs(samples: MatchSamples, sign: float = 1.0) -> FloatArray:
    """Cost of giving joint i the target column j, (joints, columns).

    With efforts: the part of joint i's effort that no PD law towards column j explains. Without:
    how far positions are from targets, and how weakly their changes correlate.
    """
    t, q = sign * samples.target, samples.position
    if samples.effort is None or samples.velocity is None:
        square = np.mean((q[:, :, None] - t[:, None, :]) ** 2, axis=0)
        scale = max(float(np.mean(square)), 1e-12)
        far: FloatArray = square / scale + (1.0 - correlation(q, t))
        return far
    n = t.shape[1]
    found = np.empty((n, n))
    for i in range(n):
        effort = samples.effort[:, i]
        size = max(float(effort @ effort), 1e-12)
        for j in range(n):
            law = np.stack([t[:, j] - q[:, i], samples.velocity[:, i]], axis=1)
            gains, *_ = np.linalg.lstsq(law, effort, rcond=None)
            rest = effort - law @ gains
            found[i, j] = float(rest @ rest) / size
    return found


def correlation(a: FloatArray, b: FloatArray) -> FloatArray:
    """Correlation of every column of a with every column of b; 0 where one is constant."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    size = np.outer(np.linalg.norm(a, axis=0), np.linalg.norm(b, axis=0))
    found: FloatArray = np.divide(a.T @ b, size, out=np.zeros_like(size), where=size > 1e-9)
    return found


def flipped(samples: MatchSamples) -> list[int]:
    """Columns that fit their joint much better with the other sign."""
    as_is, negated = np.diag(costs(samples)), np.diag(costs(samples, -1.0))
    moving = samples.target.std(axis=0) > STILL
    against = np.flatnonzero(moving & (negated < 0.5 * as_is))
    return [int(i) for i in (against if samples.places is None else samples.places[against])]


def assign(cost: FloatArray) -> Indices:
    """For every row the column, all different, of least total cost (Hungarian method)."""
    n = len(cost)
    u, v = np.zeros(n + 1), np.zeros(n + 1)
    owner = np.zeros(n + 1, dtype=np.intp)
    for row in range(1, n + 1):
        owner[0], column = row, 0
        least, used = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=bool)
        way = np.zeros(n + 1, dtype=np.intp)
        while owner[column]:
            used[column] = True
            reduced = cost[owner[column] - 1] - u[owner[column]] - v[1:]
            better = ~used[1:] & (reduced < least[1:])
            least[1:][better], way[1:][better] = reduced[better], column
            following = int(np.argmin(np.where(used, np.inf, least)))
            delta = least[following]
            u[owner[used]] += delta
            v[used] -= delta
            least[~used] -= delta
            column = following
        while column:
            owner[column] = owner[way[column]]
            column = int(way[column])
    found = np.zeros(n, dtype=np.intp)
    found[owner[1:] - 1] = np.arange(n)
    return found


# Relabel ------------------------------------------------------------------------------------------
# Relabelled recordings: columns in another order, with other signs, shifted in time.


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


# Plausible orders ---------------------------------------------------------------------------------
# Orders in which the setpoints of a recording may really be.


def plausible_orders(actor: ActorRecording) -> list[tuple[str, Indices]]:
    """Orders of all actuators worth trying, with their names; each once.

    Only actuators on joints change places: what drives a tendon is not confused with a joint.
    """
    on_joints = np.array([i for i, n in enumerate(actor.driven) if n], dtype=np.intp)
    names = [actor.driven[i] for i in on_joints]
    if len(actor.driven) != len(actor.actuators) or not names:
        return []
    found: list[tuple[str, Indices]] = []
    for sides in SIDES:
        order = mirrored(names, sides)
        if order is not None:
            found.append((f"{sides} swapped", order))
    joints = [j.name for j in actor.joints if j.name in set(names)]
    by_joint = np.array([names.index(j) for j in joints], dtype=np.intp)
    if len(by_joint) == len(names):
        found.append(("the joints' order instead of the actuators'", by_joint))
        found.append(("the actuators' order instead of the joints'", np.argsort(by_joint)))
    samples = samples_of(actor)
    if samples is not None and samples.target.shape[1] == len(names):
        found.append(("as setpoints fit what was measured", likely_order(samples)))
    return _different([(name, _among_all(actor, on_joints, o)) for name, o in found])


def _among_all(actor: ActorRecording, places: Indices, order: Indices) -> Indices:
    """An order of some actuators as an order of all."""
    whole = np.arange(len(actor.driven))
    whole[places] = places[order]
    return whole


def _different(orders: Sequence[tuple[str, Indices]]) -> list[tuple[str, Indices]]:
    seen: set[bytes] = set()
    found = []
    for name, order in orders:
        key = order.astype(np.int64).tobytes()
        if key not in seen and (order != np.arange(len(order))).any():
            seen.add(key)
            found.append((name, order))
    return found


# Hypotheses ---------------------------------------------------------------------------------------


#: Orders of the four numbers of a quaternion that was read wrongly: xyzw as wxyz, and back.
QUATERNIONS = {"x, y, z, w": (3, 0, 1, 2), "w, x, y, z": (1, 2, 3, 0)}


def listed_order(case: PolicyCase) -> Iterator[Finding]:
    """The order of the policy's joints, where the recording states it."""
    here, recorded = list(case.policy.joints), list(case.joints)
    if here == recorded or sorted(here) != sorted(recorded):
        return
    moved = sum(a != b for a, b in zip(here, recorded, strict=True))
    edit, many = repair("policy", "joints", recorded), how_many(moved, "joint")
    yield replay_finding("joint order", many, recorded, here, "joint order listed", 1.0, (edit,))


def tried_orders(case: ReplayCase) -> Iterator[Alternative]:
    """Setpoints, or joints and setpoints, in another order."""
    ways = {"setpoints": with_order, "joints and setpoints": with_names}
    for actor in case.large_errors:
        for name, order in plausible_orders(actor):
            moved = [actor.driven[i] for i in np.flatnonzero(order != np.arange(len(order)))]
            columns = ", ".join(actor.driven[i] for i in order)
            for subject, change in ways.items():
                with suppress(MjrigError):
                    recording = change(case.recording, actor.name, order)
                    there, form = f"{subject}: {name}", "joint order tried"
                    finding = replay_finding(
                        "joint order", some(moved), "as recorded", there, form,
                        subject=subject, order=name, columns=columns,
                    )  # fmt: skip
                    yield case.reading(finding, recording)


def tried_signs(case: ReplayCase) -> Iterator[Alternative]:
    """Setpoints that fit their joints better with the other sign."""
    for actor in case.large_errors:
        samples = samples_of(actor)
        against = flipped(samples) if samples is not None else []
        if against:
            joints, form = listed(actor.driven[i] for i in against), "sign of setpoints"
            finding = replay_finding("sign", joints, "as recorded", "negated", form)
            yield case.reading(finding, with_signs(case.recording, actor.name, against))


def tried_quaternions(case: ReplayCase) -> Iterator[Alternative]:
    """The four numbers of a base quaternion in another order."""
    if any(j.kind == "free" for actor in case.large_errors for j in actor.joints):
        for name, order in QUATERNIONS.items():
            finding = quaternion_finding(name, "quaternion run", None)
            yield case.reading(finding, with_quaternions(case.recording, order))


def quaternion_finding(name: str, form: str, share: float | None, **evidence: Any) -> Finding:
    """The base quaternion of the recording was read in the wrong order."""
    other = next(n for n in QUATERNIONS if n != name)
    return replay_finding("quaternion order", "base", name, other, form, share, **evidence)
