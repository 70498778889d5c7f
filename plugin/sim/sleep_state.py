"""Sleep state of MuJoCo's kinematic trees, which `mj_getState` does not cover.

`mj_setState` wakes every tree, and `mj_forward` computes what follows from the state. Of a sleeping
tree MuJoCo does not compute that again: it stays as the last step awake left it, under RK4 that is
at the last stage of that step. A step in which the tree wakes begins with these values.
"""

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np

_TABLES = (
    "tree_asleep", "tree_awake", "body_awake", "body_awake_ind", "parent_awake_ind",
    "dof_awake_ind",
)  # fmt: skip
#: In a step without constraints MuJoCo copies all of the second into the first.
_ACCELERATIONS = ("qacc", "qacc_smooth")
_COUNTS = ("ntree_awake", "nbody_awake", "nparent_awake", "nv_awake")
#: Constraints and islands, found again in every step: their arrays have other sizes each time.
_OF_CONSTRAINTS = (
    "efc_", "iefc_", "efm_", "island_", "map_", "iacc", "ifrc_", "dof_island", "tree_island",
    "tendon_efcadr", "solver_",
)  # fmt: skip
#: In a snapshot besides this.
_OF_STATE = (
    "qpos", "qvel", "act", "ctrl", "history", "qacc_warmstart", "qfrc_applied", "xfrc_applied",
    "eq_active", "mocap_pos", "mocap_quat", "userdata", "plugin_state", "sensordata",
    "actuator_force",
)  # fmt: skip

SleepState = Mapping[str, Any]


def sleep_state_of(model: Any, data: Any) -> SleepState | None:
    """A copy of which trees are asleep and, if some are, of everything derived from the state.

    None: the model does not enable sleeping.
    """
    if not int(model.opt.enableflags) & int(mujoco.mjtEnableBit.mjENBL_SLEEP):
        return None
    is_one_asleep = bool((data.tree_asleep >= 0).any())
    names = _derived_names(data) if is_one_asleep else (*_TABLES, *_ACCELERATIONS)
    arrays: dict[str, Any] = {name: np.array(getattr(data, name)) for name in names}
    return {**arrays, **{name: int(getattr(data, name)) for name in _COUNTS}}


def set_sleep_state(data: Any, state: SleepState) -> None:
    """Restore it; the last `mj_forward` was at the state that goes with it."""
    for name, value in state.items():
        if name in _COUNTS:
            setattr(data, name, value)
        else:
            getattr(data, name)[...] = value


def _derived_names(data: Any) -> list[str]:
    """Names of the arrays that follow from the state, of sizes that depend on the model alone."""
    names = [n for n in dir(data) if not n.startswith(("_", *_OF_CONSTRAINTS))]
    arrays = ((name, getattr(data, name)) for name in names if name not in _OF_STATE)
    return [name for name, value in arrays if isinstance(value, np.ndarray) and value.size]
