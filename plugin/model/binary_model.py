"""Scenes with one compiled model: an .mjb, which has no spec to add anything to.

Its names are used as they are: the actor's prefix is empty. Unnamed keyframes are ignored.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import mujoco

from mjrig.errors import PropertyError
from mjrig.model_files.binary_size import check_binary_size
from mjrig.model_files.model_source import is_binary, model_file
from mjrig.model_files.text_encoding import check_names
from mjrig.names import listed
from mjrig.scene.actor import ActorDescription
from mjrig.scene.actor_parts import Base
from mjrig.scene.included import Placed
from mjrig.scene.placement import Placements
from mjrig.scene.pose import composed, rotation
from mjrig.scene.sim_options import SimOptions, check_iterations

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
