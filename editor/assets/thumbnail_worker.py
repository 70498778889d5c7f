"""Worker process that draws thumbnails of models and scenes without a window.

Run as a file, not as a module: the editor's package would bring a window library with it. A job is
a dictionary with `model`, `picture`, `width` and `height`; the answer is why the picture could not
be drawn, or empty.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from mjrig.core.files.atomic_writes import replacing
from mjrig.core.processes.child_process import serve
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_description import SCENES
from mjrig.core.sim.world import World
from mjrig.editor.text import error_text

READY = "ready"
HOME = "home"
#: Colour behind a model that has no sky.
SKY = (184, 198, 212)
_TINY = "<mujoco><worldbody><light pos='0 0 1'/></worldbody></mujoco>"


def _world(path: str) -> World:
    """A scene as it starts, or a model alone, in its home pose if it has one."""
    if Path(path).suffix.lower() in SCENES:
        return World(Scene.load(path), "python")
    scene = Scene()
    actor = scene.add_actor("model", model=path)
    world = World(scene, "python")
    if HOME in world["model"].model_map.keyframes:
        actor.keyframe = HOME
        world = World(scene, "python")
    return world


def _camera(model: Any, data: Any) -> Any:
    """Looks at the moving part of the world from the front left."""
    camera = mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(model, camera)
    own = (model.geom_bodyid > 0) & (model.geom_rbound > 0.0)
    if own.any():
        centres, reach = data.geom_xpos[own], model.geom_rbound[own][:, None]
        low, high = (centres - reach).min(axis=0), (centres + reach).max(axis=0)
        camera.lookat[:] = 0.5 * (low + high)
        camera.distance = max(0.9 * float(np.linalg.norm(high - low)), 0.05)
    camera.azimuth, camera.elevation = 140.0, -20.0
    return camera


def draw(path: str, width: int, height: int) -> Any:
    """The picture of a model, (height, width, 3) bytes."""
    world = _world(path)
    model, data = world.model, world.data
    model.vis.headlight.ambient[:] = 0.35
    model.vis.quality.shadowsize = 0  # most of the time on a machine without a GPU
    with mujoco.Renderer(model, height, width) as renderer:
        renderer.update_scene(data, camera=_camera(model, data))
        picture = renderer.render()
        if int(mujoco.mjtTexture.mjTEXTURE_SKYBOX) not in model.tex_type:
            renderer.enable_segmentation_rendering()
            picture[renderer.render()[..., 0] < 0] = SKY
        return picture


def work(job: dict[str, Any], tell: Callable[[str], None]) -> None:
    """Draw, and answer why it failed; empty on success."""
    tell(" ".join(_problem(job).split()))


def _problem(job: dict[str, Any]) -> str:
    try:
        picture = draw(job["model"], job["width"], job["height"])
        with replacing(Path(job["picture"])) as file:
            np.save(file, picture)
    except Exception as error:
        return error_text(error)
    return ""


def check_drawing() -> None:
    """Draw something small; raises what MuJoCo raises where drawing does not work."""
    with mujoco.Renderer(mujoco.MjModel.from_xml_string(_TINY), 8, 8) as renderer:
        renderer.render()


if __name__ == "__main__":
    check_drawing()
    serve(work, ready=READY)
