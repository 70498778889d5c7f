"""Which actor another one hangs on in the end."""

from collections.abc import Iterable

from mjrig.scene.actor import ActorDescription
from mjrig.scene.scene_parts import Frame


def root_name(name: str, actors: Iterable[ActorDescription], frames: Iterable[Frame] = ()) -> str:
    """The name at the end of an actor's chain of attachments: itself where it is on none."""
    on = {frame.name: frame.on for frame in frames}
    on |= {a.name: a.attach.to if a.attach is not None else "world" for a in actors}
    frame_names = set(on) - {a.name for a in actors}
    seen = [name]
    root = name
    while True:
        parent = on.get(seen[-1], "world").partition("/")[0]
        if parent == "world" or parent not in on or parent in seen:
            return root
        seen.append(parent)
        if parent not in frame_names:
            root = parent
