"""Runs that are reproduced here, bit for bit: what every mistake starts from."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import mjrig
from mjrig.components.importers.policy_import import import_policy
from mjrig.data.recording.readers import read_recording
from mjrig.data.recording.recording import ActorRecording, Recording
from tests.places import ASSETS, SCENES, SHARED
from tests.test_real_transfer import FIXTURES

ROBOTS = SHARED / "robots"


@dataclass
class Fixture:
    """A recording, the scene that reproduces it and, where there is one, its policy file."""

    name: str
    scene: Path
    recording: Recording
    policy: Path | None = None

    @cached_property
    def actor(self) -> ActorRecording:
        return next(iter(self.recording.actors.values()))

    @cached_property
    def said(self) -> dict[str, Any]:
        """The policy file, its paths absolute."""
        assert self.policy is not None
        data = yaml.safe_load(self.policy.read_text())
        data["network"] = str((self.policy.parent / data["network"]).resolve())
        return dict(data)

    @property
    def robot(self) -> str:
        return mjrig.Scene.load(self.scene).actors[0].name


def shared_fixture(name: str, folder: Path) -> Fixture:
    """One of shared/robots, imported into a folder."""
    about, scene = FIXTURES[name], folder / name / "scene.yaml"
    if not scene.exists():
        scene.parent.mkdir(parents=True, exist_ok=True)
        import_policy(
            [ROBOTS / "configs" / config for config in about.configs],
            ROBOTS / "policies" / f"{name}.onnx",
            ROBOTS / "models" / about.model / "scene.xml",
            scene,
        )
    recording = read_recording(ROBOTS / "recordings" / f"{name}.npz", None)
    return Fixture(name, scene, recording, scene.parent / "policy.yaml")


def walk_fixture() -> Fixture:
    """The bundled quadruped under its bundled policy."""
    recording = read_recording(ASSETS / "walk" / "walk.npz", None)
    return Fixture(
        "walk", SCENES / "quadruped_walk.yaml", recording, ASSETS / "walk" / "policy.yaml"
    )


def driven_fixture(name: str, folder: Path, seconds: float = 2.0) -> Fixture:
    """A bundled robot without a policy, moved by waves, recorded by mjrig itself."""
    scene, path = SCENES / f"{name}.yaml", folder / f"{name}.h5"
    if not path.exists():
        world = mjrig.World(scene)
        robot = next(r for r in world.articulations.values() if r.actuator_names)
        rest = robot.setpoints.values[0].copy()
        n, every = len(rest), max(1, round(0.02 / world.timestep))
        # A tendon is moved by millimetres, a joint by tenths of a radian.
        size = np.array([0.15 if b.on_joint else 0.005 for b in robot.actuators])
        with mjrig.Recorder(world, path, overwrite=True):
            for k in range(round(seconds / world.timestep / every)):
                t = k * every * world.timestep
                turns = (0.6 + 0.13 * np.arange(n)) * t
                robot.set_targets(rest + size * np.sin(2 * np.pi * turns))
                world.step(every)
    return Fixture(name, scene, read_recording(path, None))


#: Every fixture, and how it is made; those of other projects need ../shared.
MAKERS: dict[str, Callable[[Path], Fixture]] = {
    "walk": lambda folder: walk_fixture(),
    "arm": lambda folder: driven_fixture("arm", folder),
    "humanoid": lambda folder: driven_fixture("humanoid", folder),
    **{name: partial(shared_fixture, name) for name in FIXTURES},
}


def available() -> list[str]:
    """The fixtures that can be made here."""
    return [n for n in MAKERS if n not in FIXTURES or ROBOTS.is_dir()]
