"""Worlds: a compiled scene stepped through time, many of them, and export to plain MuJoCo."""

from typing import TYPE_CHECKING

from mjrig.core.lazy_exports import exports

if TYPE_CHECKING:
    from mjrig.core.sim.batch import Batch as Batch
    from mjrig.core.sim.mujoco_export import export as export
    from mjrig.core.sim.policy_batch import PolicyBatch as PolicyBatch
    from mjrig.core.sim.world import Snapshot as Snapshot
    from mjrig.core.sim.world import World as World

_HOME = {
    "Batch": "core.sim.batch",
    "export": "core.sim.mujoco_export",
    "PolicyBatch": "core.sim.policy_batch",
    "Snapshot": "core.sim.world",
    "World": "core.sim.world",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(__name__, _HOME)
