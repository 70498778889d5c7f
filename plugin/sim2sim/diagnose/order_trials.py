"""Orders and signs of recorded setpoints, tried by running."""

from collections.abc import Callable, Iterator

import numpy as np

from mjrig.errors import MjrigError
from mjrig.names import how_many, listed
from mjrig.recording.recording import ActorRecording, Recording
from mjrig.sim2sim.compare.assignment import flipped, samples_of
from mjrig.sim2sim.compare.finding import ReplayFinding
from mjrig.sim2sim.compare.matching import Indices
from mjrig.sim2sim.compare.relabel import with_names, with_order, with_signs
from mjrig.sim2sim.diagnose.effects import remove
from mjrig.sim2sim.diagnose.plausible_orders import plausible_orders

_WAYS: tuple[tuple[str, Callable[[Recording, str, Indices], Recording]], ...] = (
    ("setpoints", with_order),
    ("joints and setpoints", with_names),
)


def order_findings(
    recording: Recording, actor: ActorRecording, share_of: Callable[[Recording], float]
) -> Iterator[ReplayFinding]:
    """What other orders and signs of a robot's columns explain.

    Args:
        recording: as it was read.
        actor: the robot in it.
        share_of: the part of the error that another reading removes.
    """
    for name, order in plausible_orders(actor):
        for subject, change in _WAYS:
            try:
                share = share_of(change(recording, actor.name, order))
            except MjrigError:
                continue
            moved = [actor.driven[i] for i in np.flatnonzero(order != np.arange(len(order)))]
            names = ", ".join(actor.driven[i] for i in order)
            yield ReplayFinding(
                "joint order",
                listed(moved) if len(moved) <= 4 else how_many(len(moved), "joint"),
                "as recorded",
                f"{subject}: {name}",
                f"{subject} in another order ({name}) {remove(share)}; the columns are [{names}]",
                share,
            )
    samples = samples_of(actor)
    against = flipped(samples) if samples is not None else []
    if against:
        share = share_of(with_signs(recording, actor.name, against))
        joints = listed(actor.driven[i] for i in against)
        effect = f"negated setpoints {remove(share)}"
        yield ReplayFinding("sign", joints, "as recorded", "negated", effect, share)
