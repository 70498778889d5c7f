"""Orders in which the setpoints of a recording may really be."""

from collections.abc import Sequence

import numpy as np

from mjrig.recording.recording import ActorRecording
from mjrig.sim2sim.compare.assignment import likely_order, samples_of
from mjrig.sim2sim.compare.matching import Indices
from mjrig.sim2sim.compare.relabel import SIDES, mirrored


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
