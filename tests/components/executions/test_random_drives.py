"""Random actuators under random laws: every execution has the bits of python."""

import math
import random
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import mjrig
from mjrig.components.controllers.pipeline_controller import PipelineController
from mjrig.core.errors import ExecutionError
from tests.campaign import CAMPAIGN, Tally
from tests.components.executions.random_drives import Case, cases
from tests.components.executions.reference_laws import has_reference, reference
from tests.components.executions.true_reasons import untrue

Array = npt.NDArray[np.float64]
#: The text of a model and the components on it.
Robot = tuple[str, list[dict[str, object]]]
STEPS = 20

pytest.importorskip("numba", reason="needs the extra 'fast'")


#: Robots in a world: building it takes most of the time.
ROBOTS = 6


def scene_of(folder: Path, sim: dict[str, object], robots: Sequence[Robot]) -> mjrig.Scene:
    scene = mjrig.Scene()
    if sim:
        scene.assign({"sim": sim})
    for k, (xml, components) in enumerate(robots):
        path = folder / f"robot{k}.xml"
        path.write_text(xml)
        scene.add_actor(f"robot{k}", model=path, components=components)
    return scene


def worlds_of(
    drawn: Sequence[Case], folder: Path, also: Sequence[str] = ("compiled", "native")
) -> dict[str, mjrig.World]:
    """The cases under python, auto, and the other executions as far as they take them."""
    scene = scene_of(folder, drawn[0].sim, [(d.xml, d.components) for d in drawn])
    worlds = {name: mjrig.World(scene, name) for name in ("python", "auto")}
    for name in also:
        try:
            worlds[name] = mjrig.World(scene, name)
        except ExecutionError:
            assert name == "native"
    return worlds


def laws(world: mjrig.World, name: str = "") -> list[PipelineController]:
    robots = [r for r in world.articulations.values() if r.name == name or not name]
    return [c for r in robots for c in r.controllers if isinstance(c, PipelineController)]


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


def edit(world: mjrig.World, robot: str, what: str, value: Any, kept: dict[str, Any]) -> None:
    first = laws(world, robot)[0]
    if what in ("kp", "torque_limit"):
        first.assign({what: value})
    elif what == "delay" and first.delay is not None and first.delay.is_authored("steps"):
        first.delay.assign({"steps": value, "max_steps": 0 if value > 6 else 6})
    elif what in ("off", "on"):
        first.enabled = what == "on"
    elif what == "reset":
        world.reset()
    elif what == "keyframe" and world[robot].keyframes:
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
    for robot in world.articulations.values():
        store = robot.setpoints
        given = setpoints(seed, step, len(store.names))
        store.position[:], store.velocity[:], store.feedforward[:] = given


def seen(world: mjrig.World, full: bool) -> dict[str, Any]:
    found = {"qpos": world.data.qpos.copy(), "qvel": world.data.qvel.copy()}
    if full:
        found["qacc"] = world.data.qacc.copy()
        for name, robot in world.articulations.items():
            for what in ("effort", "raw_effort", "applied_effort"):
                found[f"{what} of {name}"] = getattr(robot, what)
        found["events"] = np.array([str(e) for e in world.events])
    return found


def first_difference(drawn: Sequence[Case], worlds: dict[str, mjrig.World], seed: float) -> str:
    """Where executions differ; empty: nowhere."""
    kept: dict[str, dict[str, Any]] = {name: {} for name in worlds}
    for step in range(STEPS):
        edits = {f"robot{k}": one.edits[step] for k, one in enumerate(drawn) if step in one.edits}
        for name, world in worlds.items():
            for robot, change in edits.items():
                edit(world, robot, *change, kept[name])
        only_resets = edits and all(what in ("reset", "keyframe") for what, _ in edits.values())
        if only_resets and worlds["python"].time == 0.0 and step:
            if found := _difference(worlds, full=True):
                return f"{found} after the reset before step {step}"
        for world in worlds.values():
            if step % 7 < 5:
                command(world, seed, step)
            world.step()
        if found := _difference(worlds, full=step % 8 == 0 or step == STEPS - 1):
            return f"{found} at step {step}"
    return ""


def _difference(worlds: dict[str, mjrig.World], *, full: bool) -> str:
    expected = seen(worlds["python"], full)
    for name, world in worlds.items():
        exact = name != "python" and same_bits(world)
        for what, value in seen(world, full).items() if exact else ():
            if not _equal(value, expected[what]):
                return f"{name}: {what}: {value} for {expected[what]}"
    return ""


def _equal(a: Any, b: Any) -> bool:
    return a.shape == b.shape and bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))


def groups(tally: Tally, name: str, usual: int, campaign: int) -> Iterator[list[random.Random]]:
    """The cases of a campaign, as many together as robots fit into a world."""
    together: list[random.Random] = []
    for rng in tally.cases(name, usual, campaign):
        together.append(rng)
        if len(together) == ROBOTS:
            yield together
            together = []


@pytest.mark.campaign
def test_every_execution_has_the_bits_of_python_and_reasons_are_true(
    tally: Tally, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # for MuJoCo's own log
    for rngs in groups(tally, "actuators and laws, all executions", 120, 100_000):
        drawn = cases(rngs, STEPS)
        texts = [f"{d.components} {d.sim} {d.edits}\n{d.xml}" for d, _ in drawn]
        others = ("compiled", "native")
        also = others if CAMPAIGN else (rngs[0].choice(others),)
        worlds = worlds_of([d for d, _ in drawn], tmp_path, also)
        for k, (_, model) in enumerate(drawn):
            for said in untrue(worlds["auto"], f"robot{k}", model):
                tally.found(f"not true: {said}: {texts[k]}")
        found = first_difference([d for d, _ in drawn], worlds, rngs[0].uniform(0, math.pi))
        if found:
            tally.found(f"{found}: {' '.join(texts)}")


@pytest.mark.campaign
def test_python_does_what_the_equations_say(
    tally: Tally, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # One robot in a world: MuJoCo solves the constraints of all robots together.
    for rng in tally.cases("actuators and laws, plain loop", 180, 100_000):
        ((drawn, model),) = cases([rng], STEPS)
        seed = rng.uniform(0, math.pi)
        own = [c for c in drawn.components if has_reference(c)]
        world = mjrig.World(scene_of(tmp_path, {}, [(drawn.xml, own)]), "python")
        for step, state in enumerate(reference(model, own, partial(setpoints, seed), STEPS)):
            command(world, seed, step)
            world.step()
            if world.events or not np.isfinite(state).all():
                break  # it diverged: mjrig resets the world, MuJoCo its data
            found = np.concatenate([world.data.qpos, world.data.qvel])
            if not np.array_equal(found, state):
                tally.found(f"at step {step}: {found - state}: {own}\n{drawn.xml}")
                break


#: Motors that a reset gives something to do: beyond its range, told otherwise, or never at rest.
AT_A_RESET = {
    "outside of its range": ('range="-0.5 0.2"', "", ""),
    "a keyframe with ctrl": ("", "", 'ctrl="0.7"'),
    "a force that is never 0": ("", 'forcerange="0.3 0.6"', ""),
    "a control that is never 0": ("", 'ctrlrange="-2 -1"', 'ctrl="0.7"'),
}


@pytest.mark.parametrize("gear", [1.0, -3.0])
@pytest.mark.parametrize("case", AT_A_RESET)
def test_right_after_a_reset_every_execution_reads_the_same(
    case: str, gear: float, tmp_path: Path
) -> None:
    joint, motor, key = AT_A_RESET[case]
    xml = f"""<mujoco><option timestep="0.004"/><compiler angle="radian"/><worldbody>
      <body><joint name="j" axis="0 1 0" {joint}/><geom size=".1" pos="0 0 -.3"/></body></worldbody>
      <actuator><motor name="m" joint="j" gear="{gear}" {motor}/></actuator>
      <keyframe><key name="bent" qpos="0.4" {key}/></keyframe></mujoco>"""
    law: dict[str, object] = {"type": "PDController", "kp": 5.0, "kv": 0.3, "clamp_targets": True}
    scene = scene_of(tmp_path, {}, [(xml, [law])])
    worlds = {name: mjrig.World(scene, name) for name in ("python", "auto", "compiled")}
    assert laws(worlds["auto"])[0].execution.name == "native"
    for world in worlds.values():
        command(world, 0.3, 1)
        world.step(5)
        world.reset("bent")
    assert _difference(worlds, full=True) == ""
    for world in worlds.values():
        world.step()
    assert _difference(worlds, full=True) == ""
