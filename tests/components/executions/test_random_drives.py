"""Random actuators under random laws: every execution has the bits of python."""

import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import mjrig
from mjrig.components.controllers.pipeline_controller import PipelineController
from mjrig.errors import ExecutionError
from tests.campaign import Tally
from tests.components.executions.random_drives import Case, case
from tests.components.executions.reference_laws import has_reference, reference
from tests.components.executions.true_reasons import untrue

Array = npt.NDArray[np.float64]

pytest.importorskip("numba", reason="needs the extra 'fast'")


def scene_of(drawn: Case, folder: Path, components: list[dict[str, object]]) -> mjrig.Scene:
    path = folder / "robot.xml"
    path.write_text(drawn.xml)
    scene = mjrig.Scene()
    if drawn.sim:
        scene.assign({"sim": drawn.sim})
    scene.add_actor("robot", model=path, components=components)
    return scene


def worlds_of(drawn: Case, folder: Path) -> dict[str, mjrig.World]:
    """The case under every execution that takes it."""
    scene = scene_of(drawn, folder, drawn.components)
    worlds = {"python": mjrig.World(scene, "python")}
    for name in ("auto", "compiled", "native"):
        try:
            worlds[name] = mjrig.World(scene, name)
        except ExecutionError:
            assert name == "native"
    return worlds


def laws(world: mjrig.World) -> list[PipelineController]:
    return [c for c in world["robot"].controllers if isinstance(c, PipelineController)]


def same_bits(world: mjrig.World) -> bool:
    """Whether an execution has to have the bits of python."""
    for law in laws(world):
        if law.execution.name == "native":
            if not law.supports()["native"].exact:
                return False
            if law.execution.reason == "the scene sets actuation: implicit":
                return False
            if world.requested_execution == "native" and int(world.model.opt.integrator) != 0:
                return False
    return True


def edit(world: mjrig.World, what: str, value: Any, kept: dict[str, Any]) -> None:
    first = laws(world)[0]
    if what in ("kp", "torque_limit"):
        first.assign({what: value})
    elif what == "delay" and first.delay is not None and first.delay.is_authored("steps"):
        first.delay.assign({"steps": value, "max_steps": 0 if value > 6 else 6})
    elif what in ("off", "on"):
        first.enabled = what == "on"
    elif what == "reset":
        world.reset()
    elif what == "keyframe" and world["robot"].keyframes:
        world.reset("bent")
    elif what == "snapshot":
        kept["state"] = world.snapshot()
    elif what == "restore" and "state" in kept:
        world.restore(kept["state"])


def setpoints(seed: float, step: int, size: int) -> tuple[Array, Array, Array]:
    """Setpoints that move: position, velocity and feedforward, out of phase."""
    phase = 0.05 * step + seed + np.arange(size)
    return 0.5 * np.sin(phase), 0.6 * np.cos(1.3 * phase), 0.5 * np.sin(0.7 * phase)


def command(world: mjrig.World, seed: float, step: int) -> None:
    store = world["robot"].setpoints
    given = setpoints(seed, step, len(store.names))
    store.position[:], store.velocity[:], store.feedforward[:] = given


def seen(world: mjrig.World, full: bool) -> dict[str, Any]:
    found = {"qpos": world.data.qpos.copy(), "qvel": world.data.qvel.copy()}
    if full:
        robot = world["robot"]
        found |= {n: getattr(robot, n) for n in ("effort", "raw_effort", "applied_effort")}
        found["events"] = np.array([str(e) for e in world.events])
    return found


def first_difference(drawn: Case, worlds: dict[str, mjrig.World], seed: float) -> str:
    """Where executions differ; empty: nowhere."""
    kept: dict[str, dict[str, Any]] = {name: {} for name in worlds}
    for step in range(drawn.steps):
        for name, world in worlds.items():
            if step in drawn.edits:
                edit(world, *drawn.edits[step], kept[name])
            if step % 7 < 5:
                command(world, seed, step)
            world.step()
        full = step % 8 == 0 or step == drawn.steps - 1
        expected = seen(worlds["python"], full)
        for name, world in worlds.items():
            exact = same_bits(world)
            for what, value in seen(world, full).items():
                if exact and not _equal(value, expected[what]):
                    return f"{name}: {what} at step {step}: {value} for {expected[what]}"
    return ""


def _equal(a: Any, b: Any) -> bool:
    return a.shape == b.shape and bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))


@pytest.mark.campaign
def test_every_execution_has_the_bits_of_python_and_reasons_are_true(
    tally: Tally, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # for MuJoCo's own log
    for rng in tally.cases("actuators and laws, all executions", 60, 100_000):
        drawn, model = case(rng, 30)
        text = f"{drawn.components} {drawn.sim} {drawn.edits}\n{drawn.xml}"
        worlds = worlds_of(drawn, tmp_path)
        for said in untrue(worlds["auto"], model):
            tally.found(f"not true: {said}: {text}")
        found = first_difference(drawn, worlds, rng.uniform(0, math.pi))
        if found:
            tally.found(f"{found}: {text}")


@pytest.mark.campaign
def test_python_does_what_the_equations_say(
    tally: Tally, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for rng in tally.cases("actuators and laws, plain loop", 40, 100_000):
        drawn, model = case(rng, 30)
        seed = rng.uniform(0, math.pi)
        controllers = [c for c in drawn.components if has_reference(c)]
        expected = reference(model, controllers, partial(setpoints, seed), drawn.steps)
        world = mjrig.World(scene_of(drawn, tmp_path, controllers), "python")
        for step, state in enumerate(expected):
            command(world, seed, step)
            world.step()
            if world.events or not np.isfinite(state).all():
                break  # it diverged: mjrig resets the world, MuJoCo its data
            found = np.concatenate([world.data.qpos, world.data.qvel])
            if not np.array_equal(found, state):
                text = f"{controllers}\n{drawn.xml}"
                tally.found(f"at step {step}: {found - state}: {text}")
                break
