"""Metadata of a recording: names, addresses, gains, versions, hashes, and its scene."""

import json
import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.policy import PolicyComponent
from mjrig.core.errors import RecordingError, phrase
from mjrig.core.files.sandbox import Sandbox
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_file import Trust
from mjrig.core.sim.plant_parameters import model_hash, plant_of
from mjrig.core.sim.world import World
from mjrig.data.recording.h5_writer import FORMAT, VERSION
from mjrig.data.recording.json_values import plain, to_json
from mjrig.data.recording.recording import Recording

# Description --------------------------------------------------------------------------------------


_KINDS = ("free", "ball", "slide", "hinge")


def about_world(world: World, path: Path) -> dict[str, object]:
    """The attributes of the whole file at `path`."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "timestep": world.timestep,
        "execution": world.execution,
        "requested_execution": world.requested_execution,
        "seed": world.seed,
        "scene": world.scene.to_text(),
        "scene_file": str(world.scene.path.name) if world.scene.path else "",
        "scene_folder": _way(path.parent, world.scene.base),
        "model_hash": model_hash(world.model),
        "versions": json.dumps(versions()),
    }


def moved(recording: Recording, path: Path) -> Recording:
    """A recording to be written elsewhere, with the relative path to its scene adjusted."""
    way = recording.attributes.get("scene_folder")
    if way is None:
        return recording
    there = _way(path.parent, recording.path.parent / str(way))
    return replace(recording, attributes={**recording.attributes, "scene_folder": there})


def _way(start: Path, end: Path) -> str:
    """Relative path between two folders, so that both can move together."""
    try:
        return Path(os.path.relpath(end.resolve(), start.resolve())).as_posix()
    except ValueError:  # on another drive there is no relative path
        return end.resolve().as_posix()


def versions() -> dict[str, str]:
    """Versions and platform a run depends on."""
    return {
        "mjrig": version("mjrig"),
        "mujoco": str(mujoco.__version__),
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


def about_actor(world: World, robot: Articulation) -> dict[str, object]:
    """The attributes of one robot, as JSON."""
    facts: dict[str, object] = {
        "joints": _joints(world.model, robot),
        "actuators": _actuators(robot),
        "gains": authored_gains_of(robot),
        "plant": plain(asdict(plant_of(world, robot))),
        "act": robot.model_map.act.tolist(),
        "ctrl": [robot.model_map.ctrl.start, robot.model_map.ctrl.stop],
    }
    policy = policy_of(robot)
    if policy is not None:
        facts["policy"] = {"joints": list(policy.joints), "tick_steps": policy.tick_steps}
    return {name: json.dumps(value, ensure_ascii=False) for name, value in facts.items()}


def _joints(model: Any, robot: Articulation) -> list[dict[str, object]]:
    return [
        {
            "name": name,
            "kind": _KINDS[int(model.jnt_type[i])],
            "qpos": int(model.jnt_qposadr[i]),
            "dof": int(model.jnt_dofadr[i]),
        }
        for name, i in zip(robot.joint_names, robot.model_map.joint_ids, strict=True)
    ]


def _actuators(robot: Articulation) -> list[dict[str, object]]:
    """Every actuator; the columns of setpoints and efforts are those with one output."""
    owners = {b.actuator_id: c for c in robot.controllers for b in c.bindings}
    found: list[dict[str, object]] = []
    for b in robot.actuators:
        owner = owners.get(b.actuator_id)
        found.append(
            {
                "name": b.actuator,
                "joint": b.joint,
                "kind": b.kind,
                "target": b.target,
                "gear": b.gear,
                "ctrl": b.ctrl_address,
                "inputs": list(b.inputs) if b.ctrl_count > 1 else b.ctrl_count,
                "outputs": b.output_count,
                "controller": "" if owner is None else owner._role,
                "execution": "" if owner is None else owner.execution.name,
            }
        )
    return found


def authored_gains_of(robot: Articulation) -> dict[str, list[Any]]:
    """The robot's own gains as JSON: those that a policy sets while it stands are a change."""
    found = _by_name(robot, lambda controller: controller.authored_gains())
    return {name: to_json(values) for name, values in found.items()}


def gains_of(robot: Articulation) -> dict[str, FloatArray]:
    """The gains in force by property, over `actuator_names`; not a number where there is none."""
    return _by_name(robot, lambda controller: controller.gains())


def _by_name(
    robot: Articulation, values_of: Callable[[ArticulationController], Mapping[str, FloatArray]]
) -> dict[str, FloatArray]:
    gains: dict[str, FloatArray] = {}
    for controller in robot.controllers:
        if controller.enabled:
            for name, values in values_of(controller).items():
                row = gains.setdefault(name, np.full(len(robot.actuator_names), np.nan))
                row[controller.columns] = values
    return gains


def policy_of(robot: Articulation) -> PolicyComponent | None:
    """The policy on a robot; the first one is recorded."""
    return next((c for c in robot.components if isinstance(c, PolicyComponent)), None)


# Recorded scene -----------------------------------------------------------------------------------


def scene_of(
    recording: Recording,
    variables: Mapping[str, object] | None = None,
    *,
    sandbox: bool = False,
    trust: Trust = False,
) -> Scene:
    """The scene as it was when the recording began; its files are where they were then.

    The sandbox is the recording's own folder: the one that a recording names is not trusted.

    Raises:
        RecordingError: the recording has no scene, or a sandbox does not hold it.
        SceneError: it cannot be read.
    """
    text = str(recording.attributes.get("scene", ""))
    if not text:
        raise RecordingError(
            f"{recording.path}: does not name the scene it was made in; " + phrase("scene")
        )
    name = str(recording.attributes.get("scene_file", ""))
    folders = _folders(recording)
    root: Path | bool = False
    if sandbox:
        root = recording.path.resolve().parent
        folders = _admitted(recording, folders, name, Sandbox.at(root))
    folder = next((f for f in folders if name and os.path.isfile(f / name)), folders[0])
    if name and os.path.isfile(folder / name):  # unchanged: the file, which reports name
        scene = Scene.load(folder / name, vars=variables, sandbox=root, trust=trust)
        if scene.to_text() == text:
            return scene
    return Scene.parse(text, folder, vars=variables, sandbox=root, trust=trust)


def _admitted(recording: Recording, folders: list[Path], name: str, sandbox: Sandbox) -> list[Path]:
    if not sandbox.holds(folders[0]):
        raise RecordingError(
            f"{recording.path}: was made in a scene in {str(folders[0])!r}, which "
            f"{sandbox.outside()}; a scene is needed, " + phrase("scene")
        )
    return [folder for folder in folders if sandbox.holds(folder / name)] or [sandbox.root]


def _folders(recording: Recording) -> list[Path]:
    """Candidate paths of the scene: the original one, or beside or above a moved recording."""
    here = recording.path.resolve().parent
    return [here / str(recording.attributes.get("scene_folder", "")), here, here.parent]
