"""The keyframes of a model: read from its spec, or where needed from the compiled model."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.model.actor_model import DOF_SIZE, QPOS_SIZE, StateIndex, locate
from mjrig.model.keyframes import Key, Values
from mjrig.model_files.vectors import values_of

_COLUMNS = ("qpos", "qvel", "act", "ctrl", "mpos", "mquat")
#: Where the quaternion begins in the coordinates of a joint.
_QUATERNION = {int(mujoco.mjtJoint.mjJNT_FREE): 3, int(mujoco.mjtJoint.mjJNT_BALL): 0}
_ONE_INPUT = (int(mujoco.mjtGain.mjGAIN_FIXED), int(mujoco.mjtGain.mjGAIN_AFFINE))


def model_keys(spec: Any, *, compiling: bool = False) -> dict[str, Key]:
    """The keyframes of a spec whose elements all have names.

    Args:
        spec: an MjSpec; it is not compiled, a copy may be.
        compiling: compile also where the spec alone has the numbers, to see that it compiles.

    Raises:
        Exception: MuJoCo's own, if it was compiled and does not compile.
    """
    if not spec.keys:
        return {}
    found = None if compiling else _read(spec)
    if found is not None:
        return found
    model = spec.copy().compile()  # a copy: a compiled spec refuses some changes
    index = StateIndex(model, locate(model, "", ""))
    return {
        key.name: _model_key(model, index, k, [w for w in _COLUMNS if len(getattr(key, w))])
        for k, key in enumerate(spec.keys)
    }


# From the compiled model ------------------------------------------------------------------------


def compiled_keys(model: Any) -> dict[str, Key]:
    """The keyframes of a compiled model that have names; each gives everything."""
    index = StateIndex(model, locate(model, "", ""))
    names = (mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_KEY, k) for k in range(model.nkey))
    return {str(n): _model_key(model, index, k, _COLUMNS) for k, n in enumerate(names) if n}


def _model_key(model: Any, index: StateIndex, k: int, given: Collection[str]) -> Key:
    """A compiled keyframe, but only what its element gives itself."""

    def values(what: str, places: Mapping[str, slice]) -> Values:
        numbers = getattr(model, f"key_{what}")[k]
        return {n: numbers[s].copy() for n, s in places.items()} if what in given else {}

    def blocks(size: int) -> dict[str, slice]:
        return {n: slice(i * size, (i + 1) * size) for n, i in index.mocap.items()}

    return Key(
        qpos=values("qpos", index.qpos),
        qvel=values("qvel", index.dof),
        act=values("act", index.act),
        ctrl=values("ctrl", index.ctrl),
        mocap_pos=values("mpos", blocks(3)),
        mocap_quat=values("mquat", blocks(4)),
    )


# From the spec ----------------------------------------------------------------------------------


class _Unclear(Exception):
    """Only the compiler knows."""


def _read(spec: Any) -> dict[str, Key] | None:
    """What the compiled keyframes would be; None: only the compiler knows."""
    bodies = list(_depth_first(spec.worldbody))
    joints = {j.name: int(j.type) for body in bodies for j in body.joints}
    mocap = [body.name for body in bodies if body.mocap]
    actuators = [a.name for a in spec.actuators]
    names_differ = len(joints) == len(spec.joints) and len(set(actuators)) == len(actuators)
    if not names_differ:
        return None
    # Asked only where a key gives controls, which most do not.
    plain_controls = cache(lambda: all(map(_is_simple, spec.actuators)))
    try:
        return {key.name: _key(key, joints, actuators, mocap, plain_controls) for key in spec.keys}
    except _Unclear:
        return None


def _key(
    key: Any,
    joints: Mapping[str, int],
    actuators: Collection[str],
    mocap: Collection[str],
    plain_controls: Callable[[], bool],
) -> Key:
    numbers = {w: values_of(getattr(key, w)) for w in _COLUMNS}
    given = {w: np.array(found) for w, found in numbers.items() if found}
    if "act" in given or ("ctrl" in given and not plain_controls()):
        raise _Unclear
    if not all(np.isfinite(numbers).all() for numbers in given.values()):
        raise _Unclear
    qpos = _split(given, "qpos", joints, [QPOS_SIZE[t] for t in joints.values()])
    mocap_quat = _split(given, "mquat", mocap, [4] * len(mocap))
    for name, values in qpos.items():
        if joints[name] in _QUATERNION:
            _normalise(values[_QUATERNION[joints[name]] :])
    for values in mocap_quat.values():
        _normalise(values)
    return Key(
        qpos=qpos,
        qvel=_split(given, "qvel", joints, [DOF_SIZE[t] for t in joints.values()]),
        ctrl=_split(given, "ctrl", actuators, [1] * len(actuators)),
        mocap_pos=_split(given, "mpos", mocap, [3] * len(mocap)),
        mocap_quat=mocap_quat,
    )


def _normalise(quaternion: FloatArray) -> None:
    """Make it a unit one with the compiler's bits."""
    # NOTE: it adds from left to right and divides, but leaves a unit alone but for rounding.
    w, x, y, z = quaternion.tolist()
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    off = abs(norm - 1.0)
    if not 1e-3 < norm < 1e3 or 4e-16 < off <= 1e-12:
        raise _Unclear
    if off > 1e-12:
        quaternion /= norm


def _depth_first(body: Any) -> Iterator[Any]:
    """A body and what is in it, in the order of the compiler."""
    yield body
    for child in body.bodies:
        yield from _depth_first(child)


def _is_simple(actuator: Any) -> bool:
    """Whether an actuator has one control and no activation, as far as that can be known."""
    return (
        int(actuator.dyntype) == int(mujoco.mjtDyn.mjDYN_NONE)
        and int(actuator.gaintype) in _ONE_INPUT
        and not actuator.plugin.active
        and actuator.actdim <= 0
        and int(actuator.trntype) != int(mujoco.mjtTrn.mjTRN_SO3)
    )


def _split(
    given: Mapping[str, FloatArray], column: str, names: Collection[str], sizes: Sequence[int]
) -> dict[str, FloatArray]:
    """The numbers of one column by name."""
    if column not in given:
        return {}
    if len(given[column]) != sum(sizes):  # the compiler's to refuse
        raise _Unclear
    numbers, found, first = given[column], {}, 0
    for name, size in zip(names, sizes, strict=True):
        found[name] = numbers[first : first + size].copy()
        first += size
    return found
