"""A second world like one that runs, for what cannot be changed in a running one."""

from collections.abc import Mapping

from mjrig.scene import Scene
from mjrig.world import World


def twin(world: World, sim: Mapping[str, object] | None = None) -> World:
    """A new world of the same scene, with the components as they are now, and other options."""
    scene = world.scene
    copy = Scene.parse(scene.to_text(), base=scene.base)
    if sim:
        for name, value in sim.items():
            copy.set(f"sim.{name}", value)
    made = World(copy, world.requested_execution)
    for name, robot in world.articulations.items():
        for mine, theirs in zip(made[name].components, robot.components, strict=False):
            if type(mine) is type(theirs):
                values = {k: v for k, v in theirs.to_data().items() if k != "type"}
                mine.assign(values)
    return made
