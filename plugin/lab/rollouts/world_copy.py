"""Copies of a running world: for other processes, and for options fixed at build time."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mjrig.core.properties.component import ActorComponent
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World


@dataclass(frozen=True)
class WorldCopy:
    """A world as text and parts: the scene, and the components of its actors as they are."""

    scene: str
    base: Path
    trusted: tuple[Path, ...]
    execution: str
    components: Mapping[str, tuple[ActorComponent, ...]]
    seed: int | None = None

    @property
    def digest(self) -> str:
        """No two copies are taken for the same."""
        return f"copy {id(self)}"

    def load(self) -> Scene:
        """The scene."""
        return Scene.parse(self.scene, base=self.base, trust=self.trusted)

    def locate(self, file: Path) -> Path:
        """Where a file is."""
        return file

    def build(self, sim: Mapping[str, object] | None = None) -> World:
        """The world, at its start, with other simulation options if given."""
        scene = self.load()
        for name, value in (sim or {}).items():
            scene.set(f"sim.{name}", value)
        world = World(scene, self.execution, seed=self.seed)
        for name, components in self.components.items():
            robot = world[name]
            for component in robot.components[::-1]:
                robot.remove_component(component)
            for component in components:
                robot.add_component(component.copy())
        world.reset()
        return world


def copy_of(world: World, leave_out: tuple[str, int] | None = None) -> WorldCopy:
    """What is needed to build a copy of this world; `leave_out` is an (actor, component index)."""
    scene = world.scene
    components = {
        name: tuple(
            c.copy() for i, c in enumerate(robot.components) if (name, i) != leave_out
        )
        for name, robot in world.articulations.items()
    }  # fmt: skip
    return WorldCopy(
        scene.to_text(), scene.base, scene.reading.trusted, "python", components, world.seed
    )


def twin(world: World, sim: Mapping[str, object] | None = None) -> World:
    """A new world of the same scene, with the components as they are now, and other options."""
    return copy_of(world).build(sim)
