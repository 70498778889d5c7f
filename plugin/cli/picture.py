"""Off-screen rendering of a world to a PNG.

MuJoCo chooses its graphics backend when it is imported, so each backend is tried in its
own process: EGL, then OSMesa, then a window on a virtual screen.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from mjrig.errors import MissingExtraError
from mjrig.files.replacing import whole_file

SIZE = (1280, 720)
TIMEOUT_S = 120


def draw(model: Any, data: Any, path: Path, camera: str = "") -> str | None:
    """Render the current state to a PNG; returns the reason if it failed, else None.

    Args:
        model, data: the state to render.
        path: file to write.
        camera: its name; empty: one called `hero` where a model has one, else a view of everything.

    Raises:
        MjrigError: the file cannot be written.
    """
    if find_spec("PIL") is None:
        return str(MissingExtraError("a picture", "plot"))
    with tempfile.TemporaryDirectory() as folder:
        model_file, state_file, picture = (
            Path(folder, name) for name in ("model.mjb", "state.npz", "picture.png")
        )
        mujoco.mj_saveModel(model, str(model_file), None)
        np.savez(
            state_file,
            qpos=data.qpos,
            act=data.act,
            mocap_pos=data.mocap_pos,
            mocap_quat=data.mocap_quat,
        )
        reason = "no rendering backend"
        for backend, prefix in _backends():
            command = [
                *prefix, sys.executable, "-m", "mjrig.cli.picture",
                str(model_file), str(state_file), str(picture), camera,
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


def _render(model_file: str, state_file: str, picture: str, camera: str) -> None:
    """In the rendering process: draw one state."""
    from PIL import Image

    model = mujoco.MjModel.from_binary_path(model_file)
    data = mujoco.MjData(model)
    with np.load(state_file) as state:
        for name in state.files:
            getattr(data, name)[:] = state[name]
    mujoco.mj_forward(model, data)
    width = min(SIZE[0], model.vis.global_.offwidth)
    height = min(SIZE[1], model.vis.global_.offheight)
    cameras = [model.camera(i).name for i in range(model.ncam)]
    hero = next((c for c in cameras if c.rpartition("/")[2] == "hero"), -1)
    with mujoco.Renderer(model, height, width) as renderer:
        renderer.update_scene(data, camera=camera or hero)
        Image.fromarray(renderer.render()).save(picture)


if __name__ == "__main__":
    _render(*sys.argv[1:5])
