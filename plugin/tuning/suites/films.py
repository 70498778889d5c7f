"""Films of a bench: the worst, the median and other episodes of each task, run again and drawn."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from mjrig.errors import MjrigError
from mjrig.sim.picture import Framing, State, draw_loop, state_of
from mjrig.tuning.suites.bench import Benched, Entrant, Film, TaskResult
from mjrig.tuning.suites.recorded import Episode
from mjrig.tuning.sweeps.results import SweepRow

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
