"""Writing the best point back: as a gain preset, or into the scene file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mjrig.errors import PropertyError, SceneError
from mjrig.gains.gain_presets import save_preset
from mjrig.gains.gain_rows import gain_rows
from mjrig.names import listed
from mjrig.properties.per_actuator import PerActuator
from mjrig.scene.model_scene import refuse_model
from mjrig.scene.scene_path import find
from mjrig.scene_edit.scene import Scene
from mjrig.sim.world import World
from mjrig.tuning.sweeps.bundle import LocalScene
from mjrig.tuning.sweeps.space import ParameterTarget
from mjrig.tuning.sweeps.sweep_tasks import SweepSetup, assign


def write_preset(path: Path, scene: Scene, job: SweepSetup, values: Mapping[str, Any]) -> str:
    """Write the gains of the tested actor at a point as a preset; returns what it cannot hold.

    Raises:
        PropertyError: a parameter is of another actor, or none of its values is a gain.
        SceneError: the file cannot be written.
    """
    world = at_point(scene, job, values)
    left = _not_in_a_preset(world, job.actor, list(values))
    save_preset(path, gain_rows(world, world.scene, job.actor))
    return f"; not in a preset: {listed(left)}" if left else ""


def check_preset(scene: Scene, job: SweepSetup, names: Sequence[str]) -> None:
    """Refuse parameters none of which is a gain of the tested actor.

    Raises:
        PropertyError: a preset would be empty.
    """
    _not_in_a_preset(World(LocalScene.of(scene).load(), job.execution), job.actor, names)


def _not_in_a_preset(world: World, actor: str, names: Sequence[str]) -> list[str]:
    left = [name for name in names if not _is_gain(world, actor, name)]
    if len(left) == len(names):
        raise PropertyError(
            f"a preset holds gains of {actor}, and {listed(left)} is not a gain; "
            "write the best into a scene instead"
        )
    return left


def write_scene(path: Path, scene: Scene, job: SweepSetup, values: Mapping[str, Any]) -> None:
    """Save the scene with the values of a point, the rest of its text as it is.

    Raises:
        MjrigError: a value does not fit, or the file cannot be written.
    """
    check_scene(path, scene)
    put(scene, job, values)
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


def put(scene: Scene, job: SweepSetup, values: Mapping[str, Any]) -> None:
    """Write the values of a point into a scene, all or nothing; does not save it.

    Raises:
        MjrigError: a value does not fit.
    """
    world = at_point(scene, job, values)
    with scene.changes():
        for name, value in values.items():
            target = ParameterTarget.of(name)
            if target.pattern:  # only the bound controller knows the names it matches
                obj, prop = find(world, target.path)
                scene.set(target.path, obj._authored[prop])
            else:
                scene.set(name, value)


def at_point(scene: Scene, job: SweepSetup, values: Mapping[str, Any]) -> World:
    """A world with the values of a point; the scene is left as it is."""
    own = LocalScene.of(scene).load()
    for name, value in values.items():
        if name not in job.live:
            own.set(name, value)
    world = World(own, job.execution)
    for name in sorted(values, key=lambda n: bool(ParameterTarget.of(n).pattern)):
        if name in job.live:
            assign(world, name, values[name])
    return world


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
