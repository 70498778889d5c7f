"""Follow a signal with many joints at once: one process per core, one bench per process."""

import multiprocessing
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mjrig.gains.bench import Bench, Response
from mjrig.gains.choice import Chosen
from mjrig.gains.response import Signal
from mjrig.scene.scene import Scene
from mjrig.sim.world import World

#: Fewer steps than this are done before a second process has begun.
WORTH_A_PROCESS = 20_000


@dataclass(frozen=True)
class _Task:
    """What a process needs to know: a scene as text, and what to do in it."""

    text: str
    base: Path
    variables: dict[str, object]
    trusted: tuple[Path, ...]
    execution: str
    settle: float
    signal: Signal
    after: float

    def bench(self) -> Bench:
        scene = Scene.parse(self.text, self.base, vars=self.variables, trust=self.trusted)
        return Bench(World(scene, self.execution), settle=self.settle)


def follow_in_processes(
    scene: Scene,
    bench: Bench,
    chosen: Sequence[Chosen],
    signal: Signal,
    after: float,
    workers: int,
    report: Callable[[float], object] = lambda share: None,
) -> list[Response]:
    """One response per chosen actuator; on the bench itself where processes are not worth it."""
    steps = len(chosen) * (signal.duration + after) / bench.world.timestep
    workers = min(workers, len(chosen), int(steps // WORTH_A_PROCESS))
    names = [(c.robot.name, c.binding.actuator) for c in chosen]
    if workers < 2:
        alone = (bench.run(actor, [name], signal, after=after)[0] for actor, name in names)
        return _counted(alone, len(names), report)
    task = _Task(
        scene.to_text(),
        scene.base.absolute(),
        dict(scene.reading.vars),
        scene.reading.trusted,
        bench.world.requested_execution,
        bench.settle,
        signal,
        after,
    )
    spawn = multiprocessing.get_context("spawn")  # a fork would copy locks that others hold
    with ProcessPoolExecutor(workers, spawn, _begin, (task,)) as pool:
        return _counted(pool.map(_follow, names), len(names), report)


def _counted(
    found: Iterable[Response], count: int, report: Callable[[float], object]
) -> list[Response]:
    responses = []
    for response in found:
        responses.append(response)
        report(len(responses) / count)
    return responses


_BENCH: list[tuple[Bench, _Task]] = []


def _begin(task: _Task) -> None:
    """Build the bench of a process."""
    _BENCH.append((task.bench(), task))


def _follow(name: tuple[str, str]) -> Response:
    bench, task = _BENCH[0]
    actor, actuator = name
    (found,) = bench.run(actor, [actuator], task.signal, after=task.after)
    return found
