"""Response tests of many joints at once: one process per core, one bench per process."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mjrig.gains.bench import Bench, Response
from mjrig.gains.choice import Tested
from mjrig.gains.response import Signal
from mjrig.gains.stillness import strictest
from mjrig.scene_edit.scene import Scene
from mjrig.sim.world import World
from mjrig.workers.pool import ProcessPool

#: Fewer steps than this finish before a second process has started.
WORTH_A_PROCESS = 20_000


@dataclass(frozen=True)
class _SceneText:
    """Setup of a process: a scene as text, and the test."""

    text: str
    base: Path
    variables: dict[str, object]
    trusted: tuple[Path, ...]
    execution: str
    #: What the robot is to be still for.
    signal: Signal


#: Actor, actuator and signal.
_Task = tuple[str, str, Signal]


class _Follower:
    """A bench in a separate process."""

    def __init__(self, given: _SceneText) -> None:
        scene = Scene.parse(given.text, given.base, vars=given.variables, trust=given.trusted)
        self._bench = Bench(World(scene, given.execution))
        self._rest = self._bench.rest(given.signal)

    def follow(self, task: _Task) -> Response:
        """The response of one actuator of an actor to a signal."""
        actor, actuator, signal = task
        (found,) = self._bench.run(actor, [actuator], signal, rest=self._rest)
        return found


def follow_in_processes(
    scene: Scene,
    bench: Bench,
    chosen: Sequence[Tested],
    signals: Sequence[Signal],
    workers: int,
    report: Callable[[float], object] = lambda share: None,
) -> list[Response]:
    """One response per chosen actuator to its own signal; the signals differ in amplitude only.

    On the bench itself where processes are not worth it.
    """
    steps = len(chosen) * signals[0].duration / bench.world.timestep
    workers = min(workers, len(chosen), int(steps // WORTH_A_PROCESS))
    tasks = [(c.robot.name, c.binding.actuator, s) for c, s in zip(chosen, signals, strict=True)]
    if workers < 2:
        rest = bench.rest(strictest(signals))
        alone = (bench.run(actor, [name], s, rest=rest)[0] for actor, name, s in tasks)
        return _counted(alone, len(tasks), report)
    given = _SceneText(
        scene.to_text(),
        scene.base.absolute(),
        dict(scene.reading.vars),
        scene.reading.trusted,
        bench.world.requested_execution,
        strictest(signals),
    )
    with ProcessPool(workers, _Follower, given) as pool:
        return _counted(pool.map(_Follower.follow, tasks), len(tasks), report)


def _counted(
    found: Iterable[Response], count: int, report: Callable[[float], object]
) -> list[Response]:
    responses = []
    for response in found:
        responses.append(response)
        report(len(responses) / count)
    return responses
