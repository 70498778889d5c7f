"""Scenes with one compiled model: an .mjb, which has no spec to edit; its size is checked first.

Names are used unchanged: the actor's prefix is empty. Unnamed keyframes are ignored. MuJoCo
allocates what the header declares before it checks the rest of the file, so the header is checked
first.
"""

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mujoco

from mjrig.core.errors import PropertyError
from mjrig.core.model.model_size import IN_STATE, MAX_ELEMENTS, MAX_GENERATED, check_names
from mjrig.core.model.model_source import is_binary, model_file
from mjrig.core.names import listed
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.mujoco_options import SimOptions, check_iterations
from mjrig.core.scene.placement import Placements
from mjrig.core.scene.pose import composed, rotation
from mjrig.core.scene.scene_description import Placed
from mjrig.core.scene.scene_sections import Base

# Binary size --------------------------------------------------------------------------------------
# How large a compiled model becomes when MuJoCo loads it, by the sizes at its beginning.
#
# MuJoCo makes room for what the header declares before it looks at the rest of the file.


#: Bytes of a compiled model.
MAX_BINARY = 256_000_000
#: The version of MuJoCo whose files are these.
VERSION = 4_000_000
_TABLE = """
    nq 16 nv 164 nu 17 nactuator 399 nout 80 na 0 nbody 262 nbvh 16 nbvhstatic 48 nbvhdynamic 0
    noct 148 njnt 211 ntree 20 nM 0 nB 4 nC 12 nD 8 ngeom 454 nsite 121 ncam 248 nlight 218
    nflex 331 nflexnode 52 nflexvert 56 nflexedge 41 nflexelem 8 nflexelemdata 8
    nflexstiffness 8 nflexbending 8 nefm0dof 12 nefm0L 12 nefmCvert 4 nflexelemedge 4
    nflexshelldata 4 nflextexcoord 8 nJfe 4 nmesh 256 nmeshvert 20 nmeshnormal 12
    nmeshtexcoord 8 nmeshface 36 nmeshgraph 4 nmeshpoly 32 nmeshpolyvert 4 nmeshpolymap 4
    nskin 64 nskinvert 12 nskintexvert 8 nskinface 12 nskinbone 40 nskinbonevert 8 nhfield 52
    nhfielddata 4 ntex 40 ntexdata 1 nmat 93 npair 156 nexclude 8 neq 173 ntendon 334 nJten 4
    nwrap 16 nsensor 108 nnumeric 12 nnumericdata 8 ntext 12 ntextdata 1 ntuple 12 ntupledata 16
    nkey 12 nmocap 0 nplugin 20 npluginattr 1 nuser_body 0 nuser_jnt 0 nuser_geom 0 nuser_site 0
    nuser_cam 0 nuser_tendon 0 nuser_actuator 0 nuser_sensor 0 nnames 1 npaths 1 nplastic 0
    nnames_map 4 nJmom 0 ngravcomp 0 nemax 0 njmax 0 nconmax 0 npolygonmax 0 nmeshdegmax 0
    nuserdata 0 nsensordata 0 npluginstate 0 nhistory 0 narena 0 nbuffer 0
""".split()
#: Every size in the order of the header, and the bytes that the file has for one of them.
BYTES: dict[str, int] = dict(zip(_TABLE[::2], map(int, _TABLE[1::2]), strict=True))
#: What each element of a kind has besides, as two sizes.
PRODUCTS = (
    "nbody nuser_body", "njnt nuser_jnt", "ngeom nuser_geom", "nsite nuser_site", "ncam nuser_cam",
    "ntendon nuser_tendon", "nactuator nuser_actuator", "nsensor nuser_sensor", "nkey nq",
    "nkey nv", "nkey na", "nkey nu", "nkey nplastic",
)  # fmt: skip
_NUMBER = 8
_ELEMENTS = (
    "nbody", "njnt", "ngeom", "nsite", "ncam", "nlight", "nflex", "nmesh", "nskin", "nhfield",
    "ntex", "nmat", "npair", "nexclude", "neq", "ntendon", "nactuator", "nsensor", "nnumeric",
    "ntext", "ntuple", "nkey", "nplugin",
)  # fmt: skip
#: Numbers of the state and of what is computed from it; the file has nothing for most of them.
_STATE = (
    "nq", "nv", "nu", "nout", "na", "nbvhdynamic", "nM", "nmocap", "nplastic", "nJmom", "nuserdata",
    "nsensordata", "npluginstate", "nhistory",
)  # fmt: skip
#: Where -1 means that there is no limit.
_UNLIMITED = ("nemax", "njmax", "nconmax")
_HEAD = struct.Struct("<5i")
_IDENTIFIER = 54321


def check_binary_size(path: Path) -> None:
    """Refuse a compiled model that would become too large, before MuJoCo loads it.

    Args:
        path: the file; one of another version of MuJoCo is left to it, which says so.

    Raises:
        PropertyError: it is too large, or it declares more than it holds.
    """
    try:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno()).st_size
            head = file.read(_HEAD.size + _NUMBER * len(BYTES))
    except OSError as error:
        raise PropertyError(f"{path.name!r} cannot be read: {error.strerror}") from error
    if found > MAX_BINARY:
        raise PropertyError(f"{path.name!r} has {found} bytes; at most {MAX_BINARY} are read")
    sizes = _sizes(head)
    if sizes is None:
        return
    negative = next((n for n, size in sizes.items() if size < 0 and n not in _UNLIMITED), None)
    if negative is not None:
        raise PropertyError(
            f"{path.name!r} is damaged: its {negative} is {sizes[negative]}; export it again"
        )
    if (needed := _needed(sizes)) > found:
        raise PropertyError(
            f"{path.name!r} is damaged or cut off: by its header it has at least {needed} bytes, "
            f"and it has {found}; export it again"
        )
    if (elements := sum(sizes[name] for name in _ELEMENTS)) > MAX_ELEMENTS:
        raise PropertyError(f"{path.name!r} has {elements} elements; at most {MAX_ELEMENTS}")
    if IN_STATE * sum(sizes[name] for name in _STATE) > MAX_GENERATED:
        raise PropertyError(
            f"{path.name!r} asks for more than {MAX_GENERATED // 10**6} MB for its state"
        )


def _sizes(head: bytes) -> dict[str, int] | None:
    """What the header declares; None: it is of another version, or no model at all."""
    if len(head) < _HEAD.size + _NUMBER * len(BYTES):
        return None
    identifier, _, count, version, _ = _HEAD.unpack_from(head)
    if (identifier, count, version) != (_IDENTIFIER, len(BYTES), VERSION):
        return None
    values = struct.unpack_from(f"<{len(BYTES)}q", head, _HEAD.size)
    return dict(zip(BYTES, values, strict=True))


def _needed(sizes: dict[str, int]) -> int:
    """The bytes of the arrays in the file, but for what is the same in every one."""
    each = sum(count * sizes[name] for name, count in BYTES.items())
    pairs = (pair.split() for pair in PRODUCTS)
    return each + _NUMBER * sum(sizes[one] * sizes[other] for one, other in pairs)


# Binary model -------------------------------------------------------------------------------------
# Scenes with one compiled model: an .mjb, which has no spec to add anything to.
#
# Its names are used as they are: the actor's prefix is empty. Unnamed keyframes are ignored.


WHY_NOT_NATIVE = "the model is an .mjb, already compiled; the law cannot be lowered to an actuator"
_NEEDS_SPEC = "an .mjb is already compiled and cannot be edited; use the model it was made from"
_EDITS = (
    "compiler",
    "attach",
    "dynamics",
    "bodies",
    "motors",
    "native_gains",
    "renamed",
    "removed",
    "actuators",
    "use_motors",
    "replicate",
    "keyframes",
)


def prefix_of(actor: ActorDescription) -> str:
    """The prefix of an actor's MuJoCo names."""
    return "" if is_binary(actor) else f"{actor.name}/"


def binary_actor(placements: Placements) -> Placed | None:
    """The actor whose model is already compiled, or None.

    Raises:
        SceneError, PropertyError: the scene has something else too, or the actor has a property
            that needs a spec.
    """
    found = next((p for p in placements.actors if is_binary(p.original)), None)
    if found is None:
        return None
    with found.locating():
        others = [p.name for p in placements.actors if p is not found]
        if found.original.replicate is not None:
            raise _refused(found.original, "replicate")
        if others:
            raise PropertyError(
                f"{found.name}.model: an .mjb must be the only actor of a scene, and there is "
                f"{listed(others)}",
                ("model",),
            )
        _check_edits(found.item)
    for kind, items in (("frames", placements.frames), ("collision_groups", placements.groups)):
        for placed in items:
            with placed.locating():
                raise PropertyError(f"{kind}: {_NEEDS_SPEC}", ("name",))
    return found


def load_binary(actor: ActorDescription, sim: SimOptions) -> Any:
    """The compiled model, with the scene's options and at the actor's place.

    Raises:
        PropertyError: the file is not a model of this MuJoCo, or `pose` has nothing to move.
    """
    path = model_file(actor)
    try:
        check_binary_size(path)
    except PropertyError as error:
        raise PropertyError(f"{actor.label}.model: {error}", ("model",)) from None
    with _warnings() as warnings:
        try:
            model = mujoco.MjModel.from_binary_path(str(path))
        except Exception as error:  # MuJoCo raises ValueError, mujoco.FatalError and others
            why = "; ".join(warnings) or " ".join(str(error).split())
            raise PropertyError(
                f"{actor.label}.model: {str(path)!r} is not a model of MuJoCo "
                f"{mujoco.__version__}: {why}; export it again",
                ("model",),
            ) from error
    sim.apply(model.opt)
    try:
        check_names(path.name, model.names)
        check_names(path.name, model.paths)
        check_iterations(model.opt)
    except PropertyError as error:
        raise PropertyError(f"{actor.label}.model: {error}", ("model",)) from None
    if actor.pose is not None:
        _move(model, actor)
    return model


def _check_edits(actor: ActorDescription) -> None:
    for name in _EDITS:
        if getattr(actor, name):
            raise _refused(actor, name)
    if actor.base is not Base.MODEL:
        raise _refused(actor, "base")
    if not actor.scenery:
        raise _refused(actor, "scenery")


def _refused(actor: ActorDescription, name: str) -> PropertyError:
    return PropertyError(f"{actor.label}.{name}: {_NEEDS_SPEC}", (name,))


def _move(model: Any, actor: ActorDescription) -> None:
    """Move the free bodies in qpos0 to the actor's pose: initial states are read from there."""
    assert actor.pose is not None
    if actor.pose.relative_to:
        raise PropertyError(
            f"{actor.label}.pose.relative_to: nothing else can be in the scene of an .mjb",
            ("pose", "relative_to"),
        )
    free = model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE)
    roots = set(model.body_rootid[model.jnt_bodyid[free]].tolist())
    left = [
        j for j in range(model.njnt) if int(model.body_rootid[model.jnt_bodyid[j]]) not in roots
    ]
    if left or not free.any():
        what = f"joint {model.joint(left[0]).name!r} is not" if left else "nothing in it is"
        raise PropertyError(
            f"{actor.label}.pose: an .mjb is moved by its free bodies, and {what} on one",
            ("pose",),
        )
    position, quaternion = rotation(actor.pose)
    for start in model.jnt_qposadr[free]:
        point, turn = model.qpos0[start : start + 3], model.qpos0[start + 3 : start + 7]
        point[:], turn[:] = composed(position, quaternion, point.copy(), turn.copy())


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """Collect MuJoCo's warnings, instead of printing them and writing a log file."""
    said: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(said.append)
    try:
        yield said
    finally:
        mujoco.set_mju_user_warning(before)
