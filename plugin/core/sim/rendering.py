"""Off-screen rendering of a world to a PNG, or of several states to an animated WebP.

MuJoCo chooses its graphics backend when it is imported, so each backend is tried in a separate
process: EGL, then OSMesa, then a window on a virtual screen.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from mjrig.core.errors import MissingExtraError
from mjrig.core.files.atomic_writes import whole_file

SIZE = (1280, 720)
#: Size of a loop, whose pictures travel with the notebook.
LOOP_SIZE = (640, 360)
#: Time for a process to begin, and for each picture; a software renderer takes up to a second.
TIMEOUT_S, PICTURE_TIMEOUT_S = 120.0, 2.0
#: Shadows and edges of loops, which are small: at most this fine.
_LOOP_SHADOW, _LOOP_SAMPLES = 1024, 4
#: What a picture needs of an MjData.
_FIELDS = ("qpos", "act", "mocap_pos", "mocap_quat")
State = dict[str, Any]


@dataclass(frozen=True)
class Framing:
    """How states are drawn.

    Attributes:
        size: width and height [pixels]; at most those of the model's off-screen buffer.
        camera: its name; empty: one called `hero` where a model has one, else a view of everything.
        follow: name of a body that a camera goes along with instead.
        hold: how much longer the last picture of a loop is shown [s].
    """

    size: tuple[int, int] = SIZE
    camera: str = ""
    follow: str = ""
    hold: float = 0.0


def state_of(data: Any) -> State:
    """What a picture needs of a state, as a copy."""
    return {name: np.array(getattr(data, name)) for name in _FIELDS}


def draw(model: Any, data: Any, path: Path, camera: str = "") -> str | None:
    """Render the current state to a PNG; returns the reason if it failed, else None.

    Args:
        model, data: the state to render.
        path: file to write.
        camera: as of `Framing`.

    Raises:
        MjrigError: the file cannot be written.
    """
    return _draw(model, [state_of(data)], path, Framing(camera=camera), 0.0)


def draw_loop(
    model: Any,
    states: Sequence[State],
    path: Path,
    seconds: float,
    look: Framing = Framing(LOOP_SIZE),
) -> str | None:
    """Render states to an animated WebP that repeats; returns the reason if it failed, else None.

    Args:
        model: the model.
        states: from `state_of`, at equal distances in time.
        path: file to write.
        seconds: length of the loop.
        look: how they are drawn.

    Raises:
        MjrigError: the file cannot be written.
    """
    return _draw(model, states, path, look, seconds)


def _draw(
    model: Any, states: Sequence[State], path: Path, look: Framing, seconds: float
) -> str | None:
    if find_spec("PIL") is None:
        return str(MissingExtraError("a picture", "plot"))
    with tempfile.TemporaryDirectory() as folder:
        model_file, state_file, picture = (
            Path(folder, name) for name in ("model.mjb", "state.npz", "picture")
        )
        mujoco.mj_saveModel(model, str(model_file), None)
        qpos, act, place, turn = (np.stack([state[name] for state in states]) for name in _FIELDS)
        np.savez(state_file, qpos=qpos, act=act, mocap_pos=place, mocap_quat=turn)
        said = json.dumps({**asdict(look), "seconds": seconds})
        reason = "no rendering backend"
        known = _backends()
        for backend, prefix in sorted(known, key=lambda one: one not in _worked):
            command = [
                *prefix, sys.executable, "-m", "mjrig.core.sim.rendering",
                str(model_file), str(state_file), str(picture), said,
            ]  # fmt: skip
            reason = _attempt(command, backend, TIMEOUT_S + PICTURE_TIMEOUT_S * len(states))
            if not reason:
                _worked[:] = [(backend, prefix)]  # the next picture begins with it
                with whole_file(path) as file:
                    file.write_bytes(picture.read_bytes())
                return None
    return reason


#: What drew the last picture.
_worked: list[tuple[str, list[str]]] = []


def _backends() -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = [("egl", []), ("osmesa", [])]
    if os.environ.get("DISPLAY"):
        found.append(("glfw", []))
    if shutil.which("xvfb-run"):
        found.append(("glfw", ["xvfb-run", "-a", "-s", "-screen 0 1280x720x24"]))
    return found


def _attempt(command: list[str], backend: str, timeout: float = TIMEOUT_S) -> str:
    """Why a backend failed; empty if it worked."""
    environment = {**os.environ, "MUJOCO_GL": backend}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=timeout, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{backend}: {error}"
    if done.returncode == 0:
        return ""
    last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
    return f"{backend}: {last[0]}"


def _render(model_file: str, state_file: str, picture: str, said: str) -> None:
    """In the rendering process: draw the states."""
    from PIL import Image

    model = mujoco.MjModel.from_binary_path(model_file)
    data, options = mujoco.MjData(model), json.loads(said)
    with np.load(state_file) as loaded:
        states = dict(loaded)
    width = min(options["size"][0], model.vis.global_.offwidth)
    height = min(options["size"][1], model.vis.global_.offheight)
    pictures = []
    if options["seconds"]:
        quality = model.vis.quality
        quality.shadowsize = min(quality.shadowsize, _LOOP_SHADOW)
        quality.offsamples = min(quality.offsamples, _LOOP_SAMPLES)
    with mujoco.Renderer(model, height, width) as renderer:
        camera: Any = None
        for i in range(len(states["qpos"])):
            for name, values in states.items():
                getattr(data, name)[:] = values[i]
            mujoco.mj_forward(model, data)
            camera = _camera(model, data, options) if camera is None else camera
            renderer.update_scene(data, camera=camera)
            pictures.append(Image.fromarray(renderer.render()))
    if not options["seconds"]:
        pictures[0].save(picture, "PNG")
        return
    each = [round(1e3 * options["seconds"] / len(pictures))] * len(pictures)
    each[-1] += round(1e3 * options["hold"])
    pictures[0].save(
        picture, "WEBP", save_all=True, append_images=pictures[1:], duration=each, loop=0
    )


def _camera(model: Any, data: Any, options: Mapping[str, Any]) -> Any:
    """A camera of the model by its name, or one that follows a body, from its right and ahead."""
    if not options["follow"]:
        cameras = [model.camera(i).name for i in range(model.ncam)]
        hero = next((c for c in cameras if c.rpartition("/")[2] == "hero"), -1)
        return options["camera"] or hero
    body = model.body(options["follow"]).id
    own = [i for i in range(model.ngeom) if _is_below(model, int(model.geom_bodyid[i]), body)]
    reach = np.linalg.norm(data.geom_xpos[own] - data.xpos[body], axis=1) + model.geom_rbound[own]
    camera = mujoco.MjvCamera()
    camera.type = mujoco.mjtCamera.mjCAMERA_TRACKING
    camera.trackbodyid, camera.lookat[:] = body, data.xpos[body]
    camera.distance = 2.3 * float(reach.max(initial=0.3))
    camera.azimuth, camera.elevation = 130.0, -18.0
    return camera


def _is_below(model: Any, body: int, root: int) -> bool:
    while body and body != root:
        body = int(model.body_parentid[body])
    return body == root


if __name__ == "__main__":
    _render(*sys.argv[1:5])
