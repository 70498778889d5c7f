"""Which camera the viewport looks through: free, following an actor, or one of the scene."""

import mujoco
import numpy as np

from mjrig.editor.text import tr
from mjrig.editor.viewport.drawing import Drawing

_TYPE = mujoco.mjtCamera


def names(drawing: Drawing) -> list[str]:
    """The cameras of the model."""
    return [drawing.model.camera(i).name for i in range(drawing.model.ncam)]


def is_free(drawing: Drawing) -> bool:
    """Whether the mouse alone moves the camera."""
    return int(drawing.camera.type) == int(_TYPE.mjCAMERA_FREE)


def look_freely(drawing: Drawing) -> None:
    """Let the mouse move the camera; it stays where it looks."""
    drawing.camera.type = int(_TYPE.mjCAMERA_FREE)
    drawing.camera.trackbodyid = drawing.camera.fixedcamid = -1


def look_through(drawing: Drawing, name: str) -> None:
    """Use a camera of the scene."""
    drawing.camera.type = int(_TYPE.mjCAMERA_FIXED)
    drawing.camera.fixedcamid = int(drawing.model.camera(name).id)


def follow(drawing: Drawing, actor: str) -> None:
    """Keep an actor in the picture: in its middle, until the camera is moved beside it."""
    bodies = drawing.bodies_of(actor)
    if bodies:
        drawing.camera.type = int(_TYPE.mjCAMERA_TRACKING)
        drawing.camera.trackbodyid = bodies[0]
        drawing.beside = np.zeros(3)
        drawing.camera.fixedcamid = -1


def toggle_following(drawing: Drawing, actor: str) -> None:
    """Follow an actor, or no longer if it is followed already."""
    if text(drawing) == tr("follow {actor}", actor=actor):
        look_freely(drawing)
    else:
        follow(drawing, actor)


def cycle(drawing: Drawing, way: int) -> None:
    """Look through the next (1) or the former (-1) camera of the scene; free is one of them."""
    count = drawing.model.ncam
    fixed = drawing.camera.type == int(_TYPE.mjCAMERA_FIXED)
    now = drawing.camera.fixedcamid + 1 if fixed else 0
    chosen = (now + way) % (count + 1)
    if chosen:
        look_through(drawing, names(drawing)[chosen - 1])
    else:
        look_freely(drawing)


def start(drawing: Drawing) -> None:
    """Frame all actors, not the whole floor; without any, the grid from above."""
    bodies = [b for b in range(1, drawing.model.nbody) if drawing.actor_of(b) is not None]
    if not bodies:
        if drawing.model.nbody == 1:
            drawing.camera.lookat[:] = 0.0
            drawing.camera.distance = 3.0
            drawing.camera.azimuth, drawing.camera.elevation = 130.0, -25.0
        return
    mujoco.mj_forward(drawing.model, drawing.data)
    points = drawing.data.xipos[bodies]
    low, high = points.min(axis=0), points.max(axis=0)
    drawing.camera.lookat[:] = (low + high) / 2.0
    drawing.camera.distance = 0.9 + 1.6 * float(np.linalg.norm(high - low))
    drawing.camera.azimuth, drawing.camera.elevation = 130.0, -18.0
    robots = [a for a in drawing.prefixes if drawing.is_floating(a)]
    if len(robots) == 1 and len(drawing.prefixes) == 1:
        follow(drawing, robots[0])  # a walking robot stays in the picture


def text(drawing: Drawing) -> str:
    """What is looked through, for the menu."""
    kind = drawing.camera.type
    if kind == int(_TYPE.mjCAMERA_FIXED):
        return str(names(drawing)[drawing.camera.fixedcamid])
    if kind == int(_TYPE.mjCAMERA_TRACKING):
        return tr("follow {actor}", actor=drawing.actor_of(drawing.camera.trackbodyid) or "?")
    return "free"
