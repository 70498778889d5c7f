"""A run without a window: step, measure, tell what happened."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.cli.trace import Trace
from mjrig.control.articulation import Articulation
from mjrig.errors import MissingExtraError, MjrigError
from mjrig.names import how_many
from mjrig.sim.world import World
from mjrig.terminal.progress import Progress

if TYPE_CHECKING:
    from mjrig.recording.recorder import Recorder

#: Samples are taken at about this rate: enough for statistics and plots.
SAMPLE_HZ = 200.0


def run(
    world: World,
    duration: float,
    *,
    picture: Path | None = None,
    plot: Path | None = None,
    record: Path | None = None,
    overwrite: bool = False,
) -> str:
    """Step a world for `duration` simulated seconds; returns the summary.

    Raises:
        MjrigError: a picture, plot or recording cannot be written there; nothing was stepped.
        RecordingError: the recording cannot be written any more; the run ended there.
    """
    for path in (picture, plot):
        if path is not None:
            _prepare(path)
    if record is None:
        return _run(world, duration, picture, plot, None)
    from mjrig.recording.recorder import Recorder

    if record.suffix.lower() not in (".h5", ".hdf5"):
        raise MjrigError(f"{record}: must end in .h5")
    with Recorder(world, record, overwrite=overwrite) as recorder:
        summary = _run(world, duration, picture, plot, recorder)
    return (
        f"{summary}\nrecording: {record}, {how_many(recorder.steps, 'step')}; "
        "recording steps one by one"
    )


def _run(
    world: World,
    duration: float,
    picture: Path | None,
    plot: Path | None,
    recorder: "Recorder | None",
) -> str:
    steps = round(duration / world.timestep)
    every = max(1, round(1.0 / (SAMPLE_HZ * world.timestep)))
    traces = {n: Trace([b.actuator for b in r.bindings]) for n, r in world.articulations.items()}
    start = {n: base_position(world, r) for n, r in world.articulations.items()}
    began = time.perf_counter()
    stepping = 0.0
    with Progress(steps, world.timestep) as progress:
        for done in range(0, steps, every):
            before = time.perf_counter()
            world.step(min(every, steps - done))
            stepping += time.perf_counter() - before
            for name, robot in world.articulations.items():
                traces[name].sample(robot, world.time)
            progress.update(done + every)
            if recorder is not None and recorder.error is not None:
                raise recorder.error
    lines = [_headline(world, duration, steps, stepping, time.perf_counter() - began)]
    for name, robot in world.articulations.items():
        lines += _about(world, robot, traces[name], start[name])
    lines += _about_events(world)
    if picture is not None:
        lines.append(_picture(world, picture))
    if plot is not None:
        lines.append(_plot(traces, plot))
    return "\n".join(lines)


def base_position(world: World, robot: Articulation) -> FloatArray | None:
    """Position of the free base, or None for a robot that is fixed."""
    address = base_address(world, robot)
    return None if address is None else np.array(world.data.qpos[address : address + 3])


def base_address(world: World, robot: Articulation) -> int | None:
    """Where the pose of the free base begins in qpos, or None for a robot that is fixed.

    The base is the model's first body: a cube that lies on its table is none.
    """
    model, prefix = world.model, robot.model_map.prefix
    named = (i for i in range(1, model.nbody) if model.body(i).name.startswith(prefix))
    joint = int(model.body_jntadr[next(named, 0)])
    if joint < 0 or model.jnt_type[joint] != 0:
        return None
    return int(model.jnt_qposadr[joint])


def _headline(world: World, duration: float, steps: int, stepping: float, total: float) -> str:
    name = world.scene.path.name if world.scene.path else "scene"
    speed = f"{duration / stepping:.1f} × real time" if stepping > 0 else "no steps"
    return (
        f"{name}: {duration:g} s simulated in {total:.2f} s ({speed}), {steps} steps "
        f"of {world.timestep * 1000:g} ms, execution {world.execution}"
    )


def _about(world: World, robot: Articulation, trace: Trace, start: FloatArray | None) -> list[str]:
    owned = sum(c.num_bindings for c in robot.controllers if c.enabled)
    actuators = how_many(len(robot.actuators), "actuator")
    lines = [f"{robot.name}: {actuators}, {owned} under a controller"]
    end = base_position(world, robot)
    if start is not None and end is not None:
        moved = "base moved by (" + ", ".join(f"{d:+.3f}" for d in end - start) + ") m"
        if not robot.actuators:
            return [f"{robot.name}: {moved}"]
        lines.append(f"  {moved}")
    elif not robot.actuators:
        return []  # a table or a lamp: it cannot have done anything
    if trace.time and trace.names and owned:
        error = np.sqrt(np.mean((np.array(trace.target) - np.array(trace.position)) ** 2, axis=0))
        worst = int(error.argmax())
        lines.append(
            f"  tracking error rms {np.sqrt(np.mean(error**2)):.4f}, "
            f"worst {trace.names[worst]} {error[worst]:.4f}"
        )
        cut = np.abs(np.array(trace.raw_effort)) > np.abs(np.array(trace.effort)) + 1e-9
        share = 100.0 * cut.mean(axis=0)
        worst = int(share.argmax())
        lines.append(
            f"  effort at its limit {share.mean():.1f} % of the time, "
            f"worst {trace.names[worst]} {share[worst]:.1f} %"
        )
    return lines


def _about_events(world: World) -> list[str]:
    if not world.events:
        return ["events: none"]
    return [f"events: {len(world.events)}", *(f"  {e}" for e in world.events[:10])]


def _prepare(path: Path) -> None:
    """Find out before a long run, not after it."""
    if path.suffix.lower() != ".png":
        raise MjrigError(f"{path}: must end in .png")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MjrigError(f"{path}: cannot be written: {error.strerror}") from error
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise MjrigError(f"{path}: cannot be written")


def _picture(world: World, path: Path) -> str:
    from mjrig.cli.picture import draw

    problem = draw(world.model, world.data, path, _own_camera(world))
    return f"picture: {path}" if problem is None else f"no picture: {problem}"


def _own_camera(world: World) -> str:
    """The first camera that the scene itself puts up, as a prop; empty: none."""
    props = {p.name for p in world.placements.actors if p.item.prop is not None}
    names = (str(world.model.camera(i).name) for i in range(world.model.ncam))
    return next((name for name in names if name.partition("/")[0] in props), "")


def _plot(traces: dict[str, Trace], path: Path) -> str:
    from mjrig.cli.plot import plot_traces

    try:
        plot_traces(traces, path)
    except MissingExtraError as error:
        return f"no plot: {error}"
    return f"plot: {path}"
