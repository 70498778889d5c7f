"""The memory of every component of a world, in the form of a recording."""

from collections.abc import Iterable
from typing import Any

from mjrig.recording.memory.memory_codec import Arrays, UnstorableError, encode
from mjrig.recording.memory.stored_memory import StoredMemory
from mjrig.sim.world import Snapshot, World

#: The part of the world itself, besides its actors.
WORLD = ""
#: Fields of a snapshot that are in this part.
ENGINE = ("forces", "sensordata", "sleep")


def stored_memory(world: World, step: int) -> StoredMemory:
    """The memory of every component, as it is now."""
    unknown: dict[str, str] = {}
    snapshot, arrays = world.snapshot(unknown), Arrays()
    parts: dict[str, Any] = {}
    for name, value in _parts_of(world, snapshot):
        if name in unknown:
            continue
        try:
            parts[name] = encode(value, name, arrays)
        except UnstorableError as error:
            unknown[name] = str(error)
    return StoredMemory(step, parts, arrays, unknown)


def _parts_of(world: World, snapshot: Snapshot) -> Iterable[tuple[str, Any]]:
    yield WORLD, {name: getattr(snapshot, name) for name in ENGINE}
    for name, robot in world.articulations.items():
        memory = dict(snapshot.actors[name])
        components = zip(
            robot.components,
            memory.pop("owned"),
            memory.pop("signatures"),
            memory.pop("components"),
            strict=True,
        )
        yield name, memory
        for component, owned, signature, its_memory in components:
            yield f"{name}.{component._role}", (owned, signature, its_memory)
