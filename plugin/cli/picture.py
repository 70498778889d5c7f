"""Off-screen rendering of a world to a PNG, or of several states to an animated WebP.

MuJoCo chooses its graphics backend when it is imported, so each backend is tried in its
own process: EGL, then OSMesa, then a window on a virtual screen.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from mjrig.errors import MissingExtraError
from mjrig.files.replacing import whole_file

SIZE = (1280, 720)
#: Size of a loop, whose pictures travel with the notebook.
LOOP_SIZE = (640, 360)
TIMEOUT_S = 120
#: What a picture needs of an MjData.
_FIELDS = ("qpos", "act", "mocap_pos", "mocap_quat")
State = dict[str, Any]


def state_of(data: Any) -> State:
    """What a picture needs of a state, as a copy."""
    return {name: np.array(getattr(data, name)) for name in _FIELDS}


def draw(model: Any, data: Any, path: Path, camera: str = "") -> str | None:
    """Render the current state to a PNG; returns the reason if it failed, else None.

    Args:
        model, data: the state to render.
        path: file to write.
        camera: its name; empty: one called `hero` where a model has one, else a view of everything.

    Raises:
        MjrigError: the file cannot be written.
    """
    return _draw(model, [state_of(data)], path, camera, 0.0)


def draw_loop(model: Any, states: Sequence[State], path: Path, seconds: float) -> str | None:
    """Render states to an animated WebP that repeats; returns the reason if it failed, else None.

    Args:
        model: the model.
        states: from `state_of`, at equal distances in time.
        path: file to write.
        seconds: length of the loop.

    Raises:
        MjrigError: the file cannot be written.
    """
    return _draw(model, states, path, "", seconds)


def _draw(
    model: Any, states: Sequence[State], path: Path, camera: str, seconds: float
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
        reason = "no rendering backend"
        for backend, prefix in _backends():
            command = [
                *prefix, sys.executable, "-m", "mjrig.cli.picture",
                str(model_file), str(state_file), str(picture), camera, str(seconds),
            ]  # fmt: skip
            reason = _attempt(command, backend)
            if not reason:
                with whole_file(path) as file:
                    file.write_bytes(picture.read_bytes())
                return None
    return reason


def _backends() -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = [("egl", []), ("osmesa", [])]
    if os.environ.get("DISPLAY"):
        found.append(("glfw", []))
    if shutil.which("xvfb-run"):
        found.append(("glfw", ["xvfb-run", "-a", "-s", "-screen 0 1280x720x24"]))
    return found


def _attempt(command: list[str], backend: str) -> str:
    """Why a backend failed; empty if it worked."""
    environment = {**os.environ, "MUJOCO_GL": backend}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{backend}: {error}"
    if done.returncode == 0:
        return ""
    last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
    return f"{backend}: {last[0]}"


def _render(model_file: str, state_file: str, picture: str, camera: str, seconds: str) -> None:
    """In the rendering process: draw the states."""
    from PIL import Image

    model = mujoco.MjModel.from_binary_path(model_file)
    data, duration = mujoco.MjData(model), float(seconds)
    with np.load(state_file) as loaded:
        states = dict(loaded)
    wanted = LOOP_SIZE if duration else SIZE
    width = min(wanted[0], model.vis.global_.offwidth)
    height = min(wanted[1], model.vis.global_.offheight)
    cameras = [model.camera(i).name for i in range(model.ncam)]
    hero = next((c for c in cameras if c.rpartition("/")[2] == "hero"), -1)
    pictures = []
    with mujoco.Renderer(model, height, width) as renderer:
        for i in range(len(states["qpos"])):
            for name, values in states.items():
                getattr(data, name)[:] = values[i]
            mujoco.mj_forward(model, data)
            renderer.update_scene(data, camera=camera or hero)
            pictures.append(Image.fromarray(renderer.render()))
    if not duration:
        pictures[0].save(picture, "PNG")
        return
    each = round(1e3 * duration / len(pictures))
    pictures[0].save(
        picture, "WEBP", save_all=True, append_images=pictures[1:], duration=each, loop=0
    )


if __name__ == "__main__":
    _render(*sys.argv[1:6])
