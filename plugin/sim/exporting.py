"""Export: a scene as plain MuJoCo, its controllers lowered to MuJoCo actuators.

`.mjb` is the model of the native world, bit for bit; `.xml` the same with every number written in
full. What neither can hold, the contents of delay buffers, goes into a JSON beside them.
"""

import errno
import json
import os
import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mujoco

from mjrig.errors import ExecutionError
from mjrig.scene_edit.scene import Scene
from mjrig.sim.export_states import (
    START,
    ExportedState,
    add_keyframes,
    exported_states,
    first_commands,
)
from mjrig.sim.export_xml import staging, write_xml
from mjrig.sim.lowered_world import LoweredWorld, clamp_target_inputs, present_scene
from mjrig.sim.world import World

SUFFIXES = (".xml", ".mjb")
_NUMBER_LIST = re.compile(r"\[[^\[\]\"]*\]")


def export(scene: Scene | World, path: Path, *, partial: bool = False) -> list[str]:
    """Write a scene as a model that bare MuJoCo runs like the native world.

    A world is exported with its present properties, from its state right after a reset.

    Args:
        scene: what to export.
        path: `.xml` or `.mjb`; a `.json`, and a folder for meshes and textures, go beside it.
        partial: leave out what has no MuJoCo form instead of refusing it.

    Returns:
        Notes: what is not in the file, and why.

    Raises:
        ExecutionError: something has no MuJoCo form, or the file cannot be written; nothing was.
        SceneError: the scene cannot be built.
    """
    path = Path(path)
    _check_path(path)
    world = LoweredWorld(present_scene(scene) if isinstance(scene, World) else scene)
    left_out = world.left_out
    if left_out and not partial:
        reasons = [f"{label} cannot be exported: {reason}" for label, reason in left_out.values()]
        raise ExecutionError(f"{'; '.join(reasons)}; --partial leaves it out")
    notes = [f"{label} is not in this file: {reason}" for label, reason in world.remarks()]
    if left_out:
        world = LoweredWorld(present_scene(world, left_out.keys()))
    clamp_target_inputs(world)
    frames = exported_states(world)
    beside = {
        "mjrig": version("mjrig"),
        "keyframe": START,
        "first_command": first_commands(world, frames[START].ctrl),
        "notes": notes,
    }
    with staging(path) as folder:
        staged = folder / path.name
        if path.suffix == ".mjb":
            _save_binary(_binary_model(world, frames), staged)
        else:
            notes += write_xml(world, frames, staged, notes)
        text = json.dumps(beside, indent=2, ensure_ascii=False)
        text = _NUMBER_LIST.sub(lambda match: " ".join(match[0].split()), text)
        (folder / f"{path.stem}.json").write_text(text + "\n", encoding="utf-8")
    return notes


def _save_binary(model: Any, path: Path) -> None:
    """Save a model; MuJoCo itself does not notice a full disk.

    Raises:
        OSError: the disk is full.
    """
    mujoco.mj_saveModel(model, str(path), None)
    if not path.is_file() or path.stat().st_size < mujoco.mj_sizeModel(model):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _check_path(path: Path) -> None:
    if path.suffix not in SUFFIXES:
        raise ExecutionError(f"{path}: export to a file that ends in .xml or .mjb")
    if not path.parent.is_dir():
        raise ExecutionError(f"{path}: the folder {str(path.parent)!r} does not exist")
    if path.is_dir():
        raise ExecutionError(f"{path}: is a folder")


def _binary_model(world: LoweredWorld, frames: Mapping[str, ExportedState]) -> Any:
    """The world's own model, with keyframes."""
    model = add_keyframes(world.built.spec, world, frames)
    for name in dir(world.model):
        if name.startswith("actuator_"):
            getattr(model, name)[:] = getattr(world.model, name)
    for k, frame in enumerate(frames.values()):  # compiling may have changed the last bit
        for name, values in vars(frame).items():
            getattr(model, f"key_{name}")[k] = values.reshape(-1)
    return model
