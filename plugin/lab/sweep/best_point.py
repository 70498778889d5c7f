"""Writing the best point of a sweep back: as a gain preset, or into the scene file."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mjrig.core.errors import PropertyError, SceneError
from mjrig.core.names import listed
from mjrig.core.properties.per_actuator import PerActuator
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_description import find
from mjrig.core.scene.scene_file import refuse_model
from mjrig.core.sim.world import World
from mjrig.lab.gains.gain_presets import save_preset
from mjrig.lab.gains.gain_rows import gain_rows
from mjrig.lab.rollouts.experiment import Experiment, ParameterTarget
from mjrig.lab.rollouts.scene_bundle import LocalScene
from mjrig.lab.rollouts.worker import build_world, world_at


def write_preset(
    path: Path, scene: Scene, experiment: Experiment, values: Mapping[str, Any]
) -> str:
    """Write the gains of the tested actor at a point as a preset; returns what it cannot hold.

    Raises:
        PropertyError: a parameter is of another actor, or none of its values is a gain.
        SceneError: the file cannot be written.
    """
    world = world_at(replace(experiment, scene=LocalScene.of(scene)), values)
    left = _not_in_a_preset(world, experiment.actor, list(values))
    save_preset(path, gain_rows(world, world.scene, experiment.actor))
    return f"; not in a preset: {listed(left)}" if left else ""


def check_preset(scene: Scene, experiment: Experiment, names: Sequence[str]) -> None:
    """Refuse parameters none of which is a gain of the tested actor.

    Raises:
        PropertyError: a preset would be empty.
    """
    world = build_world(LocalScene.of(scene).load(), experiment.execution)
    _not_in_a_preset(world, experiment.actor, names)


def _not_in_a_preset(world: World, actor: str, names: Sequence[str]) -> list[str]:
    left = [name for name in names if not _is_gain(world, actor, name)]
    if len(left) == len(names):
        raise PropertyError(
            f"a preset holds gains of {actor}, and {listed(left)} is not a gain; "
            "write the best into a scene instead"
        )
    return left


def write_scene(
    path: Path, scene: Scene, experiment: Experiment, values: Mapping[str, Any]
) -> None:
    """Save the scene with the values of a point, the rest of its text as it is.

    Raises:
        MjrigError: a value does not fit, or the file cannot be written.
    """
    check_scene(path, scene)
    put(scene, experiment, values)
    scene.save(path)


def check_scene(path: Path, scene: Scene) -> None:
    """Refuse a file that the scene cannot be saved to.

    Raises:
        SceneError: it is in another folder, or holds a model.
    """
    refuse_model(path)
    if scene.model_file is None and path.absolute().parent.resolve() != scene.base.resolve():
        raise SceneError(
            f"{path}:1:1: must be in the scene's own folder, {scene.base.absolute()}: the files it "
            "names are relative to that"
        )


def put(scene: Scene, experiment: Experiment, values: Mapping[str, Any]) -> None:
    """Write the values of a point into a scene, all or nothing; does not save it.

    Raises:
        MjrigError: a value does not fit.
    """
    world = world_at(replace(experiment, scene=LocalScene.of(scene)), values)
    with scene.changes():
        for name, value in values.items():
            target = ParameterTarget.of(name)
            if target.pattern:  # only the bound controller knows the names it matches
                obj, prop = find(world, target.path)
                scene.set(target.path, obj._authored[prop])
            else:
                scene.set(name, value)


def _is_gain(world: World, actor: str, name: str) -> bool:
    target = ParameterTarget.of(name)
    head, _, rest = target.path.partition(".")
    if head != actor or not rest:
        return False
    try:
        obj, prop = find(world, target.path)
        fallback = [p.fallback for p in obj.properties() if isinstance(p, PerActuator)]
        return isinstance(obj.property_named(prop), PerActuator) or prop in fallback
    except PropertyError:
        return False
