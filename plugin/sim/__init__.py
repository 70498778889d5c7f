"""Worlds: a compiled scene stepped through time, many of them, and export to plain MuJoCo."""

from typing import TYPE_CHECKING

from mjrig.lazy import exports

if TYPE_CHECKING:
    from mjrig.sim.batch import Batch as Batch
    from mjrig.sim.exporting import export as export
    from mjrig.sim.policy_batch import PolicyBatch as PolicyBatch
    from mjrig.sim.world import Snapshot as Snapshot
    from mjrig.sim.world import World as World

_HOME = {
    "Batch": "sim.batch",
    "export": "sim.exporting",
    "PolicyBatch": "sim.policy_batch",
    "Snapshot": "sim.world",
    "World": "sim.world",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(__name__, _HOME)
