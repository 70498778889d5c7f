"""BenchSuite: the tasks that policies are compared on, and the commands of their episodes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Self
from zlib import crc32

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.policy import CommandSpace
from mjrig.core.errors import MjrigError, PropertyError
from mjrig.core.files.paths import read_limited
from mjrig.core.names import suggestion
from mjrig.core.properties.collection_kinds import Samples, Table, anything
from mjrig.core.properties.component import Component
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import NestedList
from mjrig.core.properties.scalar_kinds import Choice, Float, Int, Patterns, Text
from mjrig.core.yaml_text.yaml_document import MAX_CHARACTERS, Document, format_path
from mjrig.lab.rollouts.randomisation import Randomisation

# Suite --------------------------------------------------------------------------------------------
# BenchSuite: the declaration of a suite file, the tasks that policies are compared on.


class CommandKind(StrEnum):
    """What a task commands."""

    STAND = "stand"
    FORWARD = "forward"
    GRID = "grid"
    STEPS = "steps"
    FLIPS = "flips"


class BenchTask(HasProperties):
    """One task of a suite: commands, disturbances and changes of the scene.

    Draws depend on the name of the task and the seed alone, so that every policy gets the same.
    """

    name = Text("", doc="Name in tables, unique in the suite.")
    duration = Float(6.0, min=0.0, above=True, unit="s", doc="Length of an episode.")
    settle = Float(1.5, min=0.0, unit="s", doc="Start of an episode that metrics leave out.")
    command = Choice(
        CommandKind.FORWARD,
        doc="stand: zeros. forward: the first value. grid: 5 x 3 x 3 over the command ranges of "
        "the policy, one point per seed. steps: a new point every 2 s. flips: from one end of a "
        "range to the other every 2 s, at rest at the end.",
    )
    speed = Float(
        0.6, min=0.0, max=1.0, doc="Share of the policy's command ranges that is commanded."
    )
    randomise = Text("", doc="Draws per seed, as of mjrig sweep --randomise: mass=0.9:1.1,kick=1.")
    vary = Text("", doc="One quantity of randomise that levels give, as kick; empty: no levels.")
    levels = Samples([], min=0.0, rows=False, doc="Levels of vary; each becomes a task.")
    set = Table(
        anything,
        doc="Scene properties by path, robot for the actor under test: robot.PDController.kv.",
    )
    add = Table(anything, doc="Actors by name that are added to the scene, such as terrain.")
    terminate = Patterns(
        (), doc="Bodies of the robot that must not touch the ground; empty: any may."
    )

    def validate(self) -> None:
        if self.settle >= self.duration:
            raise self._refused("settle", f"must be below the duration, {self.duration:g} s")
        if bool(self.vary) != bool(self.levels.size):
            raise self._refused("levels", "must be given with vary, and vary with levels")
        for level in self.ladder():
            try:
                Randomisation.read(level.randomise)
            except PropertyError as error:
                raise self._refused("vary" if self.vary else "randomise", str(error)) from None

    def _refused(self, name: str, why: str) -> PropertyError:
        return PropertyError(f"{self.label}.{name}: {why}", (name,))

    @contextmanager
    def blaming(self, key: str, name: str, scene: Path) -> Iterator[None]:
        """Let what a scene refuses of `set` or `add` be told with its place in the suite file.

        Raises:
            MjrigError: with the place; of a suite made in Python with the task.
        """
        try:
            yield
        except (MjrigError, TypeError) as error:
            said = f"{name}: {error} (in {scene})"
            suite = self._parent
            if not isinstance(suite, BenchSuite) or suite._document is None:
                raise MjrigError(f"task {self.name}: {key}: {said}") from error
            index = next(i for i, task in enumerate(suite.tasks) if task is self)
            place = suite._document.error(("tasks", index, key), said, at=(name,), about_key=True)
            raise MjrigError(str(place)) from error

    def ladder(self) -> "Iterator[TaskLevel]":
        """The task once, or once per level."""
        if not self.vary:
            yield TaskLevel(self, self.name, None, self.randomise)
            return
        for level in self.levels.tolist():
            drawn = f"{level:g}:{level:g}" if self.vary in _FACTORS else f"{level:g}"
            said = ",".join(filter(None, (self.randomise, f"{self.vary}={drawn}")))
            yield TaskLevel(self, f"{self.name}_{level:g}", level, said)


#: Written as a range of factors.
_FACTORS = ("mass", "friction", "armature", "damping", "strength")


@dataclass(frozen=True)
class TaskLevel:
    """A task at one level: the row of a table."""

    task: BenchTask
    name: str
    level: float | None
    randomise: str


class BenchSuite(Component):
    """Tasks on which policies are compared, all with the same seeds."""

    title = Text("", doc="Heading of reports; empty: the name of the file.")
    seeds = Int(20, min=1, max=100_000, doc="Number of seeds per task.")
    tasks = NestedList(BenchTask, polymorphic=False, doc="The tasks.")

    #: The file that it was read from.
    _document: Document | None = None

    @property
    def label(self) -> str:
        return "suite"

    def to_data(self) -> dict[str, object]:
        return HasProperties.to_data(self)  # a file needs no type

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a suite file, or a bundled one by its name: quick, full.

        Raises:
            MjrigError: it cannot be read, or a value is invalid: `file:line:column: path: …`.
        """
        found = _find(path)
        try:
            text = read_limited(found, 4 * MAX_CHARACTERS).decode("utf-8")
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise MjrigError(f"{found}: cannot be read: {why}") from error
        return cls.parse(text, found)

    @classmethod
    def parse(cls, text: str, path: Path) -> Self:
        """Parse a text.

        Raises:
            MjrigError: a value is invalid.
        """
        document = Document(text, str(path))
        if not isinstance(document.data, Mapping):
            raise MjrigError(f"{path}:1:1: must be a mapping, got {document.data!r}")
        made = cls.blank()
        try:
            made.assign({"title": path.stem, **document.data})
            made._check()
        except PropertyError as error:
            text = str(error).removeprefix(f"{made.label}.{format_path(error.keys)}: ")
            said = document.error(error.keys, text, at=error.at, about_key=error.about_key)
            raise MjrigError(str(said)) from error
        made.__dict__["_document"] = document
        return made

    def _check(self) -> None:
        if not self.tasks:
            raise PropertyError("suite.tasks: must have at least one task", ("tasks",))
        seen: dict[str, int] = {}
        for i, task in enumerate(self.tasks):
            for level in task.ladder():
                if not level.name or not level.name.replace("_", "").replace(".", "").isalnum():
                    raise PropertyError(
                        f"suite.tasks[{i}].name: must be letters, digits, _ and ., "
                        f"got {level.name!r}",
                        ("tasks", i, "name"),
                    )
                if level.name in seen:
                    raise PropertyError(
                        f"suite.tasks[{i}].name: {level.name!r} is taken by "
                        f"tasks[{seen[level.name]}]",
                        ("tasks", i, "name"),
                    )
                seen[level.name] = i

    def levels(self, only: tuple[str, ...] = ()) -> list[TaskLevel]:
        """All tasks, level by level; `only`: those of these names.

        Raises:
            PropertyError: there is no task of a name.
        """
        found = [level for task in self.tasks for level in task.ladder()]
        names = [name for level in found for name in (level.name, level.task.name)]
        for name in only:
            if name not in names:
                hint = suggestion(name, names)
                raise PropertyError(f"the suite has no task {name!r}; {hint}")
        return [x for x in found if not only or x.name in only or x.task.name in only]


def bundled_suites() -> dict[str, Path]:
    """The suites that come with mjrig, by name."""
    folder = Path(str(files("mjrig.config").joinpath("suites")))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def _find(path: str | Path) -> Path:
    bundled = bundled_suites()
    if str(path) in bundled and not Path(path).is_file():
        return bundled[str(path)]
    if not Path(path).is_file():
        hint = suggestion(str(path), bundled)
        raise MjrigError(f"{path}: there is no such suite file; a bundled one is named: {hint}")
    return Path(path)


# Command draws ------------------------------------------------------------------------------------
# Commands of a bench's episodes: schedules drawn by task and seed, within a policy's ranges.


Schedule = list[tuple[float, list[float]]]
#: Time between two commands of steps and flips [s].
HOLD = 2.0
#: Points per value of the grid; values from the fourth on stay at zero.
GRID = (5, 3, 3)
#: Values whose lowest and highest command is unknown are commanded up to this.
UNKNOWN = 0.5


def schedule(task: BenchTask, space: CommandSpace, seed: int) -> Schedule:
    """The commands of an episode as shares of the ranges, drawn without regard to the policy."""
    size = int(space.default.size)
    return [
        (time, _command(shares, space, task.speed).tolist() if size else [])
        for time, shares in _shares(task, seed)
    ]


def _shares(task: BenchTask, seed: int) -> list[tuple[float, FloatArray]]:
    """Times and shares: −1 is the lowest command, 1 the highest."""
    kind = task.command
    if kind is CommandKind.STAND:
        return [(0.0, np.zeros(3))]
    if kind is CommandKind.FORWARD:
        return [(0.0, np.array([1.0, 0.0, 0.0]))]
    points = np.array(list(product(*(np.linspace(-1.0, 1.0, n) for n in GRID))))
    # A fixed order of all points, so that consecutive seeds cover the whole grid.
    order = np.random.default_rng(crc32(task.name.encode())).permutation(len(points))
    if kind is CommandKind.GRID:
        return [(0.0, points[order[seed % len(points)]])]
    random = np.random.default_rng((seed, crc32(task.name.encode())))
    times = np.arange(0.0, task.duration, HOLD).tolist()
    if kind is CommandKind.STEPS:
        return [(time, points[random.integers(len(points))]) for time in times]
    axis, sign = random.integers(3), random.choice((-1.0, 1.0))
    flips = [(time, sign * (-1.0) ** k * np.eye(3)[axis]) for k, time in enumerate(times)]
    return [*flips[:-1], (times[-1], np.zeros(3))] if len(flips) > 1 else flips


def _command(shares: FloatArray, space: CommandSpace, speed: float) -> FloatArray:
    """Values between the ends of the ranges; 0 is 0, or the end closest to it."""
    found = np.zeros(space.default.size)
    velocities = velocity_columns(space)
    for share, column in zip(shares, velocities, strict=False):
        low, high = space.ranges[column] if space.ranges.size else (-UNKNOWN, UNKNOWN)
        found[column] = speed * (high if share > 0.0 else -low) * share
        found[column] = np.clip(found[column], low, high)
    others = [i for i in range(found.size) if i not in velocities]
    found[others] = space.default[others]
    return found


def velocity_columns(space: CommandSpace) -> list[int]:
    """Where vx, vy and the yaw rate stand in a command; empty: it has no velocities."""
    names = [name.lower() for name in space.names]
    spelled = (
        ("vx", "lin_vel_x", "x"),
        ("vy", "lin_vel_y", "y"),
        ("wz", "yaw", "yaw_rate", "ang_vel_z", "vyaw"),
    )
    found = [next((names.index(w) for w in words if w in names), -1) for words in spelled]
    if -1 not in found:
        return found
    return [0, 1, 2] if space.default.size == 3 and not names else []
