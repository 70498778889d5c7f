"""Differences of positions as vectors of the size of qvel, over whole arrays at once."""

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray

KINDS = {0: "free", 1: "ball", 2: "slide", 3: "hinge"}


@dataclass(frozen=True)
class Tangent:
    """Where the joints of an actor are in qpos and qvel.

    Attributes:
        qpos, dof: addresses of what is a number in both: hinges, slides and places of free bodies.
        turns: (qpos address, dof address) of each quaternion.
        dofs: all degrees of freedom, in the order of differences.
        trees: (dofs,) which of them move together; those of different trees never meet.
    """

    qpos: npt.NDArray[np.intp]
    dof: npt.NDArray[np.intp]
    turns: tuple[tuple[int, int], ...]
    dofs: npt.NDArray[np.intp]
    trees: npt.NDArray[np.intp]

    @classmethod
    def of(cls, model: Any, joints: npt.NDArray[np.intp]) -> "Tangent":
        """The joints of a model with these ids."""
        qpos: list[int] = []
        dof: list[int] = []
        turns: list[tuple[int, int]] = []
        for joint in joints:
            q, v = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
            kind = KINDS[int(model.jnt_type[joint])]
            plain = {"free": 3, "ball": 0}.get(kind, 1)
            qpos += range(q, q + plain)
            dof += range(v, v + plain)
            if kind in ("free", "ball"):
                turns.append((q + plain, v + plain))
        every = sorted([*dof, *(v + k for _, v in turns for k in range(3))])
        index = np.intp
        dofs = np.array(every, index)
        trees = np.asarray(model.dof_treeid, index)[dofs] if _are_apart(model) else 0 * dofs
        return cls(np.array(qpos, index), np.array(dof, index), tuple(turns), dofs, trees)

    def __len__(self) -> int:
        return len(self.dofs)

    def difference(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """a − b of arrays (…, nq), as (…, dofs); rotations are in the body frame of b [rad]."""
        found = np.zeros((*np.broadcast_shapes(a.shape, b.shape)[:-1], len(self.dofs)))
        found[..., np.searchsorted(self.dofs, self.dof)] = a[..., self.qpos] - b[..., self.qpos]
        for q, v in self.turns:
            at = int(np.searchsorted(self.dofs, v))
            found[..., at : at + 3] = turned(b[..., q : q + 4], a[..., q : q + 4])
        return found

    def plain(self, qpos: FloatArray) -> FloatArray:
        """Positions (…, nq) as (…, dofs); 0 where a rotation has no such number."""
        found = np.zeros((*qpos.shape[:-1], len(self.dofs)))
        found[..., np.searchsorted(self.dofs, self.dof)] = qpos[..., self.qpos]
        return found

    def moved(self, qpos: FloatArray, by: FloatArray) -> FloatArray:
        """qpos (…, nq) moved by vectors (…, dofs)."""
        found = np.array(np.broadcast_to(qpos, (*by.shape[:-1], qpos.shape[-1])))
        found[..., self.qpos] += by[..., np.searchsorted(self.dofs, self.dof)]
        for q, v in self.turns:
            at = int(np.searchsorted(self.dofs, v))
            found[..., q : q + 4] = turn(found[..., q : q + 4], by[..., at : at + 3])
        return found


def _are_apart(model: Any) -> bool:
    """Whether nothing couples the kinematic trees of a model: the legs of a robot that is held."""
    can_touch = bool((model.geom_contype | model.geom_conaffinity).any()) or model.npair > 0
    if can_touch and not int(model.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_CONTACT):
        return False
    on_joints = (model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_JOINT)).all()
    return bool(on_joints) and not (model.neq or model.ntendon or model.nflex or model.nplugin)


def turned(a: FloatArray, b: FloatArray) -> FloatArray:
    """The rotation vector that leads from quaternion a to b, in the frame of a."""
    w = np.sum(a * b, axis=-1)
    vector = a[..., :1] * b[..., 1:] - b[..., :1] * a[..., 1:] - np.cross(a[..., 1:], b[..., 1:])
    vector = np.where(w[..., None] < 0.0, -vector, vector)
    sine = np.linalg.norm(vector, axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, np.abs(w)[..., None])
    scaled: FloatArray = vector * np.where(sine > 1e-12, angle / np.maximum(sine, 1e-12), 2.0)
    return scaled


def turn(a: FloatArray, by: FloatArray) -> FloatArray:
    """Quaternion a turned by a rotation vector in its own frame, of length 1."""
    angle = np.linalg.norm(by, axis=-1, keepdims=True)
    sine = 0.5 * np.sinc(angle / (2.0 * np.pi)) * by
    w, vector = np.cos(0.5 * angle), a[..., 1:]
    made = np.concatenate(
        [
            a[..., :1] * w - np.sum(vector * sine, axis=-1, keepdims=True),
            a[..., :1] * sine + w * vector + np.cross(vector, sine),
        ],
        axis=-1,
    )
    unit: FloatArray = made / np.linalg.norm(made, axis=-1, keepdims=True)
    return unit
