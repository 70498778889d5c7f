"""Response tests of many joints at once: one process per core, one bench per process."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mjrig.gains.bench import Bench, Response
from mjrig.gains.choice import Chosen, ChosenServo
from mjrig.gains.response import Signal
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
    signal: Signal


class _Follower:
    """A bench in a separate process."""

    def __init__(self, given: _SceneText) -> None:
        scene = Scene.parse(given.text, given.base, vars=given.variables, trust=given.trusted)
        self._given = given
        self._bench = Bench(World(scene, given.execution))
        self._rest = self._bench.rest(given.signal)

    def follow(self, name: tuple[str, str]) -> Response:
        """The response of one (actor, actuator)."""
        actor, actuator = name
        (found,) = self._bench.run(actor, [actuator], self._given.signal, rest=self._rest)
        return found


def follow_in_processes(
    scene: Scene,
    bench: Bench,
    chosen: Sequence[Chosen | ChosenServo],
    signal: Signal,
    workers: int,
    report: Callable[[float], object] = lambda share: None,
) -> list[Response]:
    """One response per chosen actuator; on the bench itself where processes are not worth it."""
    steps = len(chosen) * signal.duration / bench.world.timestep
    workers = min(workers, len(chosen), int(steps // WORTH_A_PROCESS))
    names = [(c.robot.name, c.binding.actuator) for c in chosen]
    if workers < 2:
        rest = bench.rest(signal)
        alone = (bench.run(actor, [name], signal, rest=rest)[0] for actor, name in names)
        return _counted(alone, len(names), report)
    given = _SceneText(
        scene.to_text(),
        scene.base.absolute(),
        dict(scene.reading.vars),
        scene.reading.trusted,
        bench.world.requested_execution,
        signal,
    )
    with ProcessPool(workers, _Follower, given) as pool:
        return _counted(pool.map(_Follower.follow, names), len(names), report)


def _counted(
    found: Iterable[Response], count: int, report: Callable[[float], object]
) -> list[Response]:
    responses = []
    for response in found:
        responses.append(response)
        report(len(responses) / count)
    return responses
