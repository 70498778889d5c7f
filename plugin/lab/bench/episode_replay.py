"""Episodes of a bench run again, bit-identical, for recordings and videos."""

import math
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from mjrig.core.errors import MjrigError
from mjrig.core.sim.rendering import Framing, State, draw_loop, state_of
from mjrig.data.recording.recorder import Recorder
from mjrig.lab.bench.episode_metrics import episode_metrics
from mjrig.lab.bench.runner import Benched, Entrant, Film, TaskResult, task_scene
from mjrig.lab.bench.suite import TaskLevel
from mjrig.lab.bench.trial import PolicyTrial, record_episode
from mjrig.lab.rollouts.experiment import Experiment
from mjrig.lab.rollouts.randomisation import Randomisation
from mjrig.lab.rollouts.results import SweepRow
from mjrig.lab.rollouts.scene_bundle import LocalScene
from mjrig.lab.rollouts.worker import open_host

# Recorded -----------------------------------------------------------------------------------------
# One episode of a bench run again, bit by bit: for a recording of it, or a film.


class Episode:
    """One episode of a policy, the same as in a bench.

    Raises:
        MjrigError: the policy cannot run.
    """

    def __init__(
        self, entrant: Entrant, level: TaskLevel, seed: int, execution: str = "auto"
    ) -> None:
        if entrant.problem:
            raise MjrigError(f"{entrant.path}: {entrant.problem}")
        self._drawn, self._seed = Randomisation.read(level.randomise), seed
        self._trial = PolicyTrial.of(level.task)
        scene = LocalScene.of(task_scene(entrant, level))
        experiment = Experiment(
            scene, self._trial, entrant.actor, randomisation=self._drawn, execution=execution
        )
        self._host = open_host(experiment, experiment.vary(seed=seed))
        self.world = self._host.world

    @property
    def base_body(self) -> str:
        """Name of the body that moves freely; empty: the robot is fixed."""
        body = self._host.base_body
        return "" if body is None else str(self.world.model.body(body).name)

    def run(
        self, path: Path | None = None, watch: Callable[[], object] = lambda: None
    ) -> dict[str, float]:
        """The metrics; with a path, a recording is written to it, and replaced.

        Raises:
            MjrigError: the file cannot be written.
        """
        kept = nullcontext() if path is None else Recorder(self.world, path, overwrite=True)
        with kept:
            log = record_episode(self._host, self._trial.task, self._drawn, self._seed, watch)
        return episode_metrics(log)


def record_one(
    policy: Path,
    level: TaskLevel,
    seed: int,
    path: Path,
    execution: str = "auto",
    *,
    trust: bool = False,
) -> dict[str, float]:
    """The metrics of an episode, the same as in a bench; the file is replaced.

    Raises:
        MjrigError: the policy cannot run, or the file cannot be written.
    """
    entrant = Entrant.load(policy, policy.stem, trust=trust)
    return Episode(entrant, level, seed, execution).run(path)


# Films --------------------------------------------------------------------------------------------
# Films of a bench: the worst, the median and other episodes of each task, run again and drawn.


#: Pictures a second, and their size.
RATE = 12.5
SIZE = (320, 180)
#: How much longer the last picture is shown [s].
HOLD = 1.0
FOLDER = "videos"


def add_films(
    found: Benched,
    folder: Path,
    count: int,
    execution: str = "auto",
    report: Callable[[str], object] = lambda text: None,
) -> None:
    """Film episodes of each policy on each task into `folder/videos`; existing films are kept.

    Args:
        found: gets the films, or the reason why there are none.
        folder: of the bench.
        count: films per policy and task: 1 is the worst episode, 2 the median too, 3 the best.
        execution: as of the bench.
        report: called with a line of text before each film.

    Raises:
        MjrigError: a file cannot be written.
    """
    for entrant in found.entrants:
        for result in found.results.get(entrant.name, {}).values():
            for rank, row in chosen(result, count):
                report(f"{entrant.name}: {result.level.name}: film of seed {row.seed}")
                made = _film(entrant, result, row, folder, rank, execution)
                if isinstance(made, str):
                    found.no_films = made
                    return
                found.films.append(made)


def chosen(result: TaskResult, count: int) -> list[tuple[str, SweepRow]]:
    """Episodes at equal distances from the worst to the best one, each once, with their place.

    Falls come first, the earliest before all; then the largest error of the velocity, or the most
    power where there is none; then the smallest seed.
    """
    rows = [row for row in result.rows if row.seed in result.fell]
    rows.sort(key=lambda row: _place(result, row))
    last = len(rows) - 1
    places = [i * last // max(2, count - 1) for i in range(count)] if rows else []
    words = {last: "best", last // 2: "median", 0: "worst"}
    return [(words.get(i, f"place {i + 1} from the worst"), rows[i]) for i in dict.fromkeys(places)]


def _place(result: TaskResult, row: SweepRow) -> tuple[float, float, int]:
    if result.fell[row.seed]:
        return (0.0, row.metrics.get("survival", 0.0), row.seed)
    error = row.metrics.get("lin_vel_rmse", math.nan)
    error = row.metrics.get("power", 0.0) if math.isnan(error) else error
    return (1.0, -error, row.seed)


def _film(
    entrant: Entrant, result: TaskResult, row: SweepRow, folder: Path, rank: str, execution: str
) -> Film | str:
    """A film, or the reason why nothing can be drawn here."""
    level = result.level
    name = f"{level.name}_{row.seed}_{row.task[:8]}.webp"  # another scene or task: another name
    path = folder / FOLDER / entrant.name / name
    fell = row.metrics.get("survival", math.nan) if result.fell[row.seed] else None
    film = Film(entrant.name, level.name, row.seed, rank, fell, path.relative_to(folder).as_posix())
    if path.is_file():
        return film
    episode = Episode(entrant, level, row.seed, execution)
    camera = _Camera(episode)
    metrics = episode.run(watch=camera.look)
    if not _same(metrics, row.metrics):
        raise MjrigError(
            f"{entrant.name}, {level.name}, seed {row.seed}: the episode went another way when it "
            "was run again for its film: a component is not deterministic"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    look = Framing(SIZE, follow=episode.base_body, hold=HOLD)
    seconds = len(camera.states) / RATE
    return draw_loop(episode.world.model, camera.states, path, seconds, look) or film


def _same(now: Mapping[str, float], then: Mapping[str, float]) -> bool:
    """Whether metrics agree bit by bit; an episode that diverged has none."""
    return all(
        now[name] == value or (math.isnan(now[name]) and math.isnan(value))
        for name, value in then.items()
    )


class _Camera:
    """Keeps states of an episode at the rate of a film."""

    def __init__(self, episode: Episode) -> None:
        self._world = episode.world
        self._begin = self._world.time
        self.states: list[State] = [state_of(self._world.data)]

    def look(self) -> None:
        """Keep the present state if one is due."""
        elapsed = self._world.time - self._begin
        if elapsed < (len(self.states) - 1e-6) / RATE:
            return
        state = state_of(self._world.data)
        if np.isfinite(state["qpos"]).all():
            self.states.append(state)
