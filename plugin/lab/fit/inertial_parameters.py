"""Mass, centre and inertia of links, parametrised so that every value is a body that can exist.

A body's pseudo-inertia is J = [[Σ, h], [hᵀ, m]], with Σ = ∫ x xᵀ dm, h = m · centre. It is positive
definite exactly if the body can exist. With the model's J = L Lᵀ (L upper triangular) ten numbers
θ give J(θ) = e^θ₀ (L U)(L U)ᵀ, where U is upper triangular with diagonal (e^θ₁, e^θ₂, e^θ₃, 1):
log-Cholesky (Rucker and Wensing). θ₀ alone scales the mass, θ₇…₉ alone move the centre, and the
rest changes the inertia about it. θ = 0 is the model.
"""

from collections.abc import Iterable
from typing import Any

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray

#: Numbers of one body, and which of them each parameter means.
SIZE = 10
PARTS = {"mass": (0,), "centre": (7, 8, 9), "inertia": (1, 2, 3, 4, 5, 6)}
#: What is reported of each.
REPORTED = {
    "mass": ("mass",),
    "centre": ("centre.x", "centre.y", "centre.z"),
    "inertia": (
        "inertia.xx", "inertia.yy", "inertia.zz", "inertia.xy", "inertia.xz", "inertia.yz",
    ),
}  # fmt: skip
#: Rows of `describe`, in the order of REPORTED.
NAMES = tuple(name for names in REPORTED.values() for name in names)


def pseudo_inertia(model: Any, body: int) -> FloatArray:
    """(4, 4) of a body of a model, in its own frame."""
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, model.body_iquat[body])
    turn = turn.reshape(3, 3)
    about = turn @ np.diag(model.body_inertia[body]) @ turn.T
    mass, centre = float(model.body_mass[body]), np.asarray(model.body_ipos[body])
    found = np.zeros((4, 4))
    found[:3, :3] = 0.5 * np.trace(about) * np.eye(3) - about + mass * np.outer(centre, centre)
    found[:3, 3] = found[3, :3] = mass * centre
    found[3, 3] = mass
    return found


def factor(pseudo: FloatArray) -> FloatArray:
    """The upper triangular L with L Lᵀ = J; a flat or thin body is made a little thicker."""
    flip = pseudo[::-1, ::-1]
    lift = 1e-9 * float(np.trace(pseudo[:3, :3])) + 1e-12
    for _ in range(20):
        try:
            lower = np.linalg.cholesky(flip + lift * np.diag([0.0, 1.0, 1.0, 1.0]))
            return np.asarray(lower[::-1, ::-1], dtype=np.float64)
        except np.linalg.LinAlgError:
            lift *= 10.0
    raise ValueError("a body without mass has no inertia to fit")


def factors_of(model: Any, bodies: Iterable[int]) -> FloatArray:
    """(bodies, 4, 4) factors of the model's own."""
    found = [factor(pseudo_inertia(model, body)) for body in bodies]
    return np.stack(found) if found else np.zeros((0, 4, 4))


def pseudo_of(base: FloatArray, theta: FloatArray) -> FloatArray:
    """J(θ) of bodies: base (…, 4, 4) are their factors, theta (…, 10)."""
    upper = np.zeros((*theta.shape[:-1], 4, 4))
    for k in range(3):
        upper[..., k, k] = np.exp(theta[..., 1 + k])
        upper[..., k, 3] = theta[..., 7 + k]
    upper[..., 0, 1], upper[..., 1, 2], upper[..., 0, 2] = (theta[..., k] for k in (4, 5, 6))
    upper[..., 3, 3] = 1.0
    root = base @ upper
    scale = np.exp(theta[..., 0])[..., None, None]
    found: FloatArray = scale * (root @ np.swapaxes(root, -1, -2))
    return found


def with_payload(pseudo: FloatArray, payload: FloatArray) -> FloatArray:
    """J with a point mass [kg], payload (…), at the body's centre."""
    at = pseudo[..., :, 3] / pseudo[..., 3:, 3]
    found: FloatArray = pseudo + payload[..., None, None] * at[..., :, None] * at[..., None, :]
    return found


def described(pseudo: FloatArray) -> FloatArray:
    """(…, 10) mass, centre, and inertia about the centre as xx, yy, zz, xy, xz, yz: see NAMES."""
    mass, centre, about = _centred(pseudo)
    rows = [mass, *np.moveaxis(centre, -1, 0)]
    rows += [about[..., a, b] for a, b in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    return np.stack(rows, axis=-1)


def mujoco_fields(pseudo: FloatArray) -> dict[str, FloatArray]:
    """Fields of MjModel for bodies (…, 4, 4): body_mass, body_ipos, body_inertia, body_iquat."""
    mass, centre, about = _centred(pseudo)
    principal, axes = np.linalg.eigh(about)
    left = np.linalg.det(axes) < 0.0
    axes = np.where(left[..., None, None], axes * np.array([1.0, 1.0, -1.0]), axes)
    return {
        "body_mass": mass,
        "body_ipos": centre,
        "body_inertia": principal,
        "body_iquat": _quaternions(axes),
    }


def _centred(pseudo: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    mass = pseudo[..., 3, 3]
    centre = pseudo[..., :3, 3] / mass[..., None]
    spread = pseudo[..., :3, :3] - pseudo[..., :3, 3, None] * centre[..., None, :]
    about = np.trace(spread, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - spread
    return mass, centre, about


def _quaternions(matrices: FloatArray) -> FloatArray:
    flat = matrices.reshape(-1, 9)
    found = np.empty((len(flat), 4))
    for row, matrix in zip(found, flat, strict=True):
        mujoco.mju_mat2Quat(row, np.ascontiguousarray(matrix))
    return found.reshape(*matrices.shape[:-2], 4)
