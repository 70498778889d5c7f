"""Headless runs: step, measure, summarise, plot (extra `plot`)."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.actor_in_world import free_addresses
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.finite_guard import folded
from mjrig.core.control.sampler import SAMPLE_HZ, SampleLog
from mjrig.core.errors import MissingExtraError, MjrigError
from mjrig.core.names import how_many
from mjrig.core.progress import Progress
from mjrig.core.sim.world import World
from mjrig.lab.report.output import save_figure

if TYPE_CHECKING:
    from mjrig.data.recording.recorder import Recorder


# Plot ---------------------------------------------------------------------------------------------
# Plots of sampled signals (extra `plot`).


#: Curves per panel; more are unreadable.
MOST = 6


def plot_samples(logs: dict[str, SampleLog], path: Path) -> None:
    """Targets against positions, and efforts, one row per robot.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise MissingExtraError("a plot", "plot", error) from error
    shown = {name: log for name, log in logs.items() if log.names and len(log)}
    rows = max(len(shown), 1)
    figure, axes = plt.subplots(rows, 2, figsize=(12, 3.6 * rows), squeeze=False)
    for row, (name, log) in zip(axes, shown.items(), strict=False):
        _draw(row, name, log)
    save_figure(figure, path)


def _draw(axes: Any, name: str, log: SampleLog) -> None:
    time, target = log.time, log.values("target")
    position, effort = log.values("position"), log.values("applied_effort")
    # The joints that move most are the most informative.
    busiest = np.argsort(-np.ptp(position, axis=0), kind="stable")[:MOST]
    for k, i in enumerate(sorted(busiest)):
        axes[0].plot(time, position[:, i], color=f"C{k}", label=log.names[i])
        axes[0].plot(time, target[:, i], color=f"C{k}", linestyle=":", linewidth=1)
        axes[1].plot(time, effort[:, i], color=f"C{k}", label=log.names[i])
    axes[0].set_title(f"{name}: position (dotted: target)")
    axes[0].set_ylabel("rad or m")
    axes[1].set_title(f"{name}: applied effort")
    axes[1].set_ylabel("N·m or N")
    for axis in axes:
        axis.set_xlabel("time [s]")
        axis.grid(alpha=0.3)
    axes[1].legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize="small")


# Run ----------------------------------------------------------------------------------------------
# Headless runs: step, measure, summarise.


#: Free bodies of a model that a summary names.
MOST_BODIES = 8


class UnwrittenError(MjrigError):
    """The run is done, and a picture or plot could not be written; `summary` is the run's."""

    def __init__(self, problem: str, summary: str) -> None:
        super().__init__(problem)
        self.summary = summary


def print_run(world: World, duration: float, **outputs: Any) -> None:
    """`run`, and print its summary, also if an output could not be written."""
    try:
        print(run(world, duration, **outputs))
    except UnwrittenError as error:
        print(error.summary)
        raise


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
        RecordingError: the recording cannot be written, or not any more; the run ended there.
        UnwrittenError: the picture or plot cannot be written; the run is done.
    """
    if record is None:
        return _run(world, duration, picture, plot, None)
    from mjrig.data.recording.recorder import Recorder

    with Recorder(world, record, overwrite=overwrite) as recorder:
        summary = _run(world, duration, picture, plot, recorder)
    return (
        f"{summary}\nrecording: {record}, {how_many(recorder.steps, 'step')}; "
        "while recording, every step is taken separately"
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
    logs = {n: SampleLog(r) for n, r in world.articulations.items()}
    start = {n: _places(r) for n, r in world.articulations.items()}
    began = time.perf_counter()
    with Progress(steps, world.timestep) as progress:
        for done in range(0, steps, every):
            world.step(min(every, steps - done))
            for log in logs.values():
                log.take(world.time)
            progress.update(done + every)
            if recorder is not None and recorder.error is not None:
                raise recorder.error
    lines = [_headline(world, steps, time.perf_counter() - began)]
    for name, robot in world.articulations.items():
        lines += _about(robot, logs[name], start[name])
    lines += _about_events(world)
    problems: list[str] = []
    for path, write in (
        (picture, lambda path: _write_picture(world, path)),
        (plot, lambda path: _write_plot(logs, path)),
    ):
        if path is not None:
            try:
                lines.append(write(path))
            except MjrigError as error:
                problems.append(str(error))
    if problems:
        raise UnwrittenError("; ".join(problems), "\n".join(lines))
    return "\n".join(lines)


def _headline(world: World, steps: int, elapsed: float) -> str:
    """Simulated time, the wall time it took, and their ratio; pictures and plots come after it."""
    name = world.scene.source.name if world.scene.source else "scene"
    simulated = steps * world.timestep
    speed = f"{simulated / elapsed:.3g} × real time" if steps and elapsed > 0 else "no steps"
    return (
        f"{name}: {simulated:.10g} s simulated in {elapsed:.3g} s ({speed}), {steps} steps "
        f"of {world.timestep * 1000:g} ms, execution {world.execution}"
    )


def _places(robot: Articulation) -> dict[str, FloatArray]:
    """Positions of its base and of other free bodies of its model."""
    return {n: robot.data.qpos[k : k + 3].copy() for n, k in free_addresses(robot).items()}


def _moves(robot: Articulation, start: dict[str, FloatArray]) -> list[str]:
    """How far free bodies moved, and where they are."""
    lines = []
    for name, end in list(_places(robot).items())[:MOST_BODIES]:
        moved = ", ".join(f"{d:+.3f}" for d in end - start[name])
        place = ", ".join(f"{x:.3f}" for x in end)
        lines.append(f"{name} moved by ({moved}) to ({place}) m")
    if len(start) > MOST_BODIES:
        lines.append(f"{len(start) - MOST_BODIES} more free bodies")
    return lines


def _about(robot: Articulation, log: SampleLog, start: dict[str, FloatArray]) -> list[str]:
    owned = sum(c.num_bindings for c in robot.controllers if c.enabled)
    actuators = how_many(len(robot.actuators), "actuator")
    moves = _moves(robot, start)
    if not robot.actuators:
        return [f"{robot.name}: {move}" for move in moves]  # none: scenery, such as a table
    lines = [f"{robot.name}: {actuators}, {owned} under a controller"]
    lines += [f"  {move}" for move in moves]
    if len(log) and log.names and owned:
        error = np.sqrt(np.mean((log.values("target") - log.values("position")) ** 2, axis=0))
        worst = int(error.argmax())
        lines.append(
            f"  tracking error rms {np.sqrt(np.mean(error**2)):.4f}, "
            f"worst {log.names[worst]} {error[worst]:.4f}"
        )
        # Clamps of the controllers and limits of the model alike.
        cut = np.abs(log.values("raw_effort") - log.values("applied_effort")) > 1e-6
        share = 100.0 * cut.mean(axis=0)
        worst = int(share.argmax())
        where = f", worst {log.names[worst]} {share[worst]:.1f} %" if share[worst] else ""
        lines.append(f"  effort at its limit {share.mean():.1f} % of the time{where}")
    return lines


def _about_events(world: World) -> list[str]:
    if not world.events:
        return ["events: none"]
    return [f"events: {len(world.events)}", *(f"  {line}" for line in folded(world.events)[:10])]


def _write_picture(world: World, path: Path) -> str:
    from mjrig.core.sim.rendering import draw

    problem = draw(world.model, world.data, path, _own_camera(world))
    if problem is not None:
        raise MjrigError(f"{path}: no picture: {problem}")
    return f"picture: {path}"


def _own_camera(world: World) -> str:
    """The first camera prop of the scene; empty: none."""
    props = {p.name for p in world.placements.actors if p.item.prop is not None}
    names = (str(world.model.camera(i).name) for i in range(world.model.ncam))
    return next((name for name in names if name.partition("/")[0] in props), "")


def _write_plot(logs: dict[str, SampleLog], path: Path) -> str:
    pass

    plot_samples(logs, path)
    return f"plot: {path}"
