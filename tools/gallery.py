"""The clips of docs/gallery.md, drawn from the bundled scenes.

MUJOCO_GL=egl python tools/gallery.py            # draw all, write docs/images/gallery/*.webp
MUJOCO_GL=egl python tools/gallery.py walk       # only these
"""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("MUJOCO_GL", "egl")

import mujoco
import numpy as np
from PIL import Image

import mjrig

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "images" / "gallery"
SCENES = ROOT / "config" / "scenes"
SIZE = (480, 270)
RATE = 20.0

#: Called before every frame with the world and the time in the clip.
Script = Callable[[mjrig.World, float], None]


@dataclass(frozen=True)
class Clip:
    """A short loop: a scene, what happens in it, how long, and from where it is seen."""

    scene: str
    seconds: float
    script: Script
    azimuth: float = 135.0
    elevation: float = -15.0
    distance: float = 1.8
    follows: str = ""


def stays(world: mjrig.World, time: float) -> None:
    """Nothing but the scene itself."""


def crouches(world: mjrig.World, time: float) -> None:
    """Down and up once, so that the clip ends where it began."""
    depth = 0.5 - 0.5 * np.cos(2.0 * np.pi * time / 3.0)
    quadruped = world["quadruped"]
    quadruped.set_targets({".*_thigh": 0.8 + 0.5 * depth, ".*_calf": -1.6 - 0.8 * depth})


def waves(world: mjrig.World, time: float) -> None:
    """An arm whose joints swing at one rate."""
    phase = 2.0 * np.pi * time / 3.0
    world["arm"].set_targets(
        {"shoulder_pan": 0.6 * np.sin(phase), "elbow": 1.2 + 0.4 * np.cos(phase)}
    )


def pushed(world: mjrig.World, time: float) -> None:
    """A standing robot that gets a knock."""
    if abs(time - 0.5) < 0.5 / RATE:
        world.data.qvel[1] += 0.6


CLIPS = {
    "walk": Clip("quadruped_walk.yaml", 3.0, stays, follows="quadruped"),
    "trot": Clip("quadruped_trot.yaml", 3.0, stays, follows="quadruped", azimuth=90.0),
    "crouch": Clip("quadruped.yaml", 3.0, crouches, follows="quadruped"),
    "arm": Clip("arm.yaml", 3.0, waves, distance=2.2),
    "humanoid": Clip("humanoid.yaml", 2.5, pushed, distance=3.2, follows="humanoid"),
    "workcell": Clip("workcell.yaml", 2.0, stays, distance=3.6, elevation=-25.0),
}


def draw(name: str, clip: Clip) -> int:
    """Draw one clip; returns the size of its file."""
    world = mjrig.World(SCENES / clip.scene)
    frames = [Image.fromarray(pixels) for pixels in _frames(world, clip)]
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.webp"
    frames[0].save(
        path,
        save_all=True,
        append_images=frames[1:],
        duration=round(1000.0 / RATE),
        loop=0,
        quality=55,
        method=6,
    )
    return path.stat().st_size


def _frames(world: mjrig.World, clip: Clip) -> Iterator[Any]:
    camera = mujoco.MjvCamera()
    camera.azimuth, camera.elevation, camera.distance = clip.azimuth, clip.elevation, clip.distance
    camera.lookat[:] = world.model.stat.center if not clip.follows else world.data.qpos[:3]
    steps = round(1.0 / RATE / world.model.opt.timestep)
    with mujoco.Renderer(world.model, SIZE[1], SIZE[0]) as renderer:
        for i in range(round(clip.seconds * RATE)):
            clip.script(world, i / RATE)
            world.step(steps)
            if clip.follows:
                camera.lookat[:2] = world.data.qpos[:2]
            renderer.update_scene(world.data, camera)
            yield renderer.render()


def main() -> int:
    """Draw the clips that are named, or all."""
    for name in sys.argv[1:] or CLIPS:
        print(f"{name}: {draw(name, CLIPS[name]) / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
