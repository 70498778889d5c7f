"""A policy in the loop against a loop written by hand, and cases that may be refused."""

from collections.abc import Callable
from typing import Any

import numpy as np

import mjrig
from mjrig.core.arrays import FloatArray


def difference(world: mjrig.World, policy: Any, observation: Any, qpos: FloatArray) -> str:
    """How a world and what its policy saw last differ from another loop; empty: they do not."""
    if policy.observation.shape != observation.shape:
        return f"{policy.observation.size} values instead of {observation.size}"
    if not np.allclose(policy.observation, observation, atol=2e-6):
        bad = np.flatnonzero(~np.isclose(policy.observation, observation, atol=2e-6))
        return f"the observation differs at {bad[:5]}"
    if not np.allclose(world.data.qpos, qpos, atol=1e-7):
        return f"the state differs by {np.abs(world.data.qpos - qpos).max():.2g}"
    return ""


def or_refused(differ: Callable[[], str]) -> str:
    """What is wrong with a case; a refusal is."""
    try:
        return differ()
    except mjrig.MjrigError as error:
        return f"refused: {error}"
