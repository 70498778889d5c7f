"""What a user would run after one mistake, and what a mistake needs to know of a fixture."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import mjrig
from mjrig.core.sim.plant_parameters import plant_of
from mjrig.data.recording.recording import Recording
from tests.plugin.lab.replay.sabotage.fixtures import Fixture


@dataclass
class Sabotaged:
    """What a user would run after the mistake."""

    recording: Recording
    scene: mjrig.Scene
    policy: Path | None = None
    mode: str = "targets"
    model: Callable[[Any], object] | None = None
    execution: str = "auto"

    def run(self) -> mjrig.Replay:
        world = mjrig.World(self.scene, self.execution)
        if self.model is not None:
            self.model(world.model)
            mujoco.mj_setConst(world.model, mujoco.MjData(world.model))
            world.reset()
        more: dict[str, Any] = {"resample": True}
        if self.mode == "policy":
            schedule = _schedule(self.recording)
            more = {"trials": 0, "policy": self.policy, "schedule": schedule}
        return mjrig.replay(self.recording, world, self.mode, **more)


def _schedule(recording: Recording) -> list[tuple[float, list[float]]] | None:
    actor = next(iter(recording.actors.values()))
    meta = recording.attributes.get("meta", {})
    if meta.get("command_schedule") and actor.policy is not None and actor.policy.command.any():
        return list(meta["command_schedule"])
    ticks = actor.policy
    if ticks is None or not ticks.command.any():
        return None
    return [(0.0, ticks.command[-1].tolist())]


Mistake = Callable[[Fixture, Path], Sabotaged | None]


def plain(fixture: Fixture) -> Sabotaged:
    return Sabotaged(fixture.recording, mjrig.Scene.load(fixture.scene), fixture.policy)


def controller_of(scene: mjrig.Scene) -> Any:
    return next((c for c in scene.actors[0].components if hasattr(c, "kp")), None)


def gains_of(fixture: Fixture, what: str) -> dict[str, float] | None:
    """The gains of the controller here; None: the model's own servos drive it."""

    scene = mjrig.Scene.load(fixture.scene)
    if controller_of(scene) is None:
        return None
    world = mjrig.World(scene)
    robot = world.articulations[fixture.robot]
    found = plant_of(world, robot).joints[what]
    mine = {b.joint for c in robot.controllers for b in c.bindings}
    return {j: v for j, v in found.items() if j in mine}


def busiest(fixture: Fixture) -> tuple[str, float]:
    """The driven joint with the largest recorded effort, and that effort."""
    actor = fixture.actor
    assert actor.efforts is not None
    most = np.abs(actor.efforts.effort).max(axis=0)
    hinges = {j.name for j in actor.joints}
    places = [i for i, n in enumerate(actor.driven) if n in hinges]
    best = max(places, key=lambda i: most[i])
    return actor.driven[best], float(most[best])


def tick_steps(fixture: Fixture) -> int:
    ticks = fixture.actor.policy
    if ticks is not None:
        return int(np.median(np.diff(ticks.step)))
    return max(1, round(0.02 / fixture.recording.timestep))
