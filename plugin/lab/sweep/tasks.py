"""Tasks of a sweep, their physics engines, and the code that runs them in a worker."""

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import mujoco.batch
import numpy as np

from mjrig.core.errors import MjrigError, PropertyError
from mjrig.core.names import suggestion
from mjrig.core.properties.per_actuator import patch
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_paths import find
from mjrig.core.sim.batch import Batch
from mjrig.core.sim.warp_batch import WarpBatch
from mjrig.core.sim.world import World
from mjrig.lab.sweep.domain_randomisation import Randomisation
from mjrig.lab.sweep.hosts import BatchHost, Host, WarpHost, WorldHost, base_of
from mjrig.lab.sweep.scene_bundle import Bundle
from mjrig.lab.sweep.search_space import ParameterTarget
from mjrig.lab.sweep.sweep_tests import ReplayTest

# Engine -------------------------------------------------------------------------------------------
# Engines of a sweep: what computes the physics of its tasks.


class Engine(Enum):
    """What computes the physics."""

    MUJOCO = "mujoco"
    WARP = "warp"

    @classmethod
    def read(cls, name: str) -> "Engine":
        """An engine by name.

        Raises:
            PropertyError: there is none of that name.
        """
        names = [engine.value for engine in cls]
        if name not in names:
            raise PropertyError(f"unknown engine {name!r}; {suggestion(name, names)}")
        return cls(name)

    @property
    def width(self) -> str:
        """The width of its numbers."""
        return "float32" if self is Engine.WARP else "float64"

    def __str__(self) -> str:
        return f"{self.value} {self.width}"


# Sweep tasks --------------------------------------------------------------------------------------
# Tasks of a sweep, and the code that runs them in a worker.


OK, DIVERGED, FAILED = "ok", "diverged", "failed"
#: What controllers write into their actuators; everything else is restored between two tasks.
_GAINS = {
    f"actuator_{name}"
    for name in (
        "biasprm", "gainprm", "dynprm", "forcerange", "forcelimited", "actrange", "actlimited",
    )
}  # fmt: skip
#: Room for contacts on MuJoCo Warp is multiplied until they fit, by so much and up to that.
_MORE_ROOM, _MOST_ROOM = 4, 64
_NEVER = ("opt.", "name", "mesh_", "tex_", "hfield_", "skin_", "plugin", "key_", "cam_", "light_")


class Scenario(Protocol):
    """A test: `FreeRun`, `SignalTest`, `ReplayTest`."""

    @property
    def metrics(self) -> tuple[str, ...]: ...
    @property
    def batchable(self) -> bool: ...
    @property
    def duration(self) -> float: ...
    def prepare(self, world: World) -> None: ...
    def run(
        self, host: Host, randomisation: Randomisation, seeds: list[int]
    ) -> list[dict[str, float]]: ...


class SceneSource(Protocol):
    """Where a worker gets the scene from: `LocalScene` or `Bundle`."""

    @property
    def digest(self) -> str: ...
    def load(self) -> Scene: ...
    def locate(self, file: Path) -> Path: ...


@dataclass(frozen=True)
class SweepSetup:
    """What all tasks of a sweep have in common.

    Attributes:
        actor: actor under test.
        scenario: the test.
        randomisation: what a seed changes.
        execution: as of `World`.
        live: the parameters that are set in a running world; the others need a new one.
        engine: what computes the physics.
    """

    actor: str
    scenario: Scenario
    randomisation: Randomisation = field(default_factory=Randomisation)
    execution: str = "auto"
    live: frozenset[str] = frozenset()
    engine: Engine = Engine.MUJOCO

    def fixed(self, task: "SweepTask") -> list[tuple[str, object]]:
        """The values of a task that need a new world."""
        return [pair for pair in task.values if pair[0] not in self.live]

    def fingerprint(self, source: SceneSource) -> str:
        """What the results depend on besides parameters and seed, as a hash."""
        said = f"{source.digest} {self.actor} {self.scenario} {self.randomisation} {self.execution}"
        if self.engine is not Engine.MUJOCO:
            said += f" {self.engine.value}"
        return sha256(said.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class SweepTask:
    """One point of the space with one seed; `id` is a hash of all that decides its result."""

    id: str
    values: tuple[tuple[str, Any], ...]
    seed: int

    @classmethod
    def of(cls, fingerprint: str, values: Mapping[str, object], seed: int) -> "SweepTask":
        """A task with its hash; the order of the values does not matter to it."""
        said = json.dumps([fingerprint, seed, dict(sorted(values.items()))], default=str)
        # A whole property comes before single actuators of it, which it would overwrite.
        ordered = sorted(values.items(), key=lambda pair: bool(ParameterTarget.of(pair[0]).pattern))
        return cls(sha256(said.encode()).hexdigest()[:16], tuple(ordered), seed)


@dataclass(frozen=True)
class TaskOutcome:
    """Outcome of a task; `seconds` is its share of wall time."""

    task: SweepTask
    status: str
    metrics: Mapping[str, float]
    seconds: float
    error: str = ""
    engine: Engine = Engine.MUJOCO


def evaluate(
    source: SceneSource,
    job: SweepSetup,
    tasks: Sequence[SweepTask],
    threads: int,
    tick: Callable[[float], object] | None = None,
) -> list[TaskOutcome]:
    """Run tasks: in a batch with `threads` threads, or one by one with 0.

    Tasks of a batch differ only in what can be set in a running world. On MuJoCo Warp they all run
    at once, and `tick` is called with the simulated time.

    Errors of a task are reported in its outcome. Empty: the bundle is not here; send it.
    """
    if isinstance(source, Bundle):
        if not source.is_here:
            return []
        source.unpack()
    if isinstance(job.scenario, ReplayTest):
        job = replace(job, scenario=job.scenario.moved(source.locate))
    with _quiet():
        if job.engine is Engine.WARP:
            return _on_warp(source, job, tasks, tick)
        if threads:
            try:
                return _together(source, job, tasks, threads)
            except MjrigError:
                pass  # a value is refused, or it cannot be batched: run one by one to report it
        return [_alone(source, job, task) for task in tasks]


def _together(
    source: SceneSource, job: SweepSetup, tasks: Sequence[SweepTask], threads: int
) -> list[TaskOutcome]:
    began = time.perf_counter()
    rig = _rig(source, job, tasks[0])
    batch = rig.batch(lambda world: Batch(world, len(tasks), threads=threads))
    edges = [rig.load_into(batch, i, task) for i, task in enumerate(tasks)]
    host = BatchHost(batch, job.actor, np.array(edges))
    found = _run(host, job, tasks)
    share = (time.perf_counter() - began) / len(tasks)
    return [TaskOutcome(t, s, m, share, why) for t, (s, m, why) in zip(tasks, found, strict=True)]


def _on_warp(
    source: SceneSource,
    job: SweepSetup,
    tasks: Sequence[SweepTask],
    tick: Callable[[float], object] | None,
) -> list[TaskOutcome]:
    began = time.perf_counter()
    try:
        rig, room = _rig(source, job, tasks[0]), 1
        found, is_crowded = _in_room(rig, job, tasks, room, tick)
        while is_crowded.any() and room < _MOST_ROOM:
            room *= _MORE_ROOM
            found, is_crowded = _in_room(rig, job, tasks, room, tick)
    except Exception as error:  # any error of a third-party component
        found, is_crowded = [(FAILED, {}, _text(error))] * len(tasks), np.zeros(len(tasks), bool)
    for i in np.flatnonzero(is_crowded):
        found[i] = FAILED, {}, f"more contacts than MuJoCo Warp has room for, even {room} times"
    share = (time.perf_counter() - began) / len(tasks)
    return [
        TaskOutcome(task, status, metrics, share, why, job.engine)
        for task, (status, metrics, why) in zip(tasks, found, strict=True)
    ]


def _in_room(
    rig: "Rig",
    job: SweepSetup,
    tasks: Sequence[SweepTask],
    room: int,
    tick: Callable[[float], object] | None,
) -> tuple[list[tuple[str, dict[str, float], str]], Any]:
    """Status, metrics and problem of each task, and which of them had too many contacts."""
    batch = rig.batch(lambda world: WarpBatch(world, len(tasks), room=room))
    assert isinstance(batch, WarpBatch)
    edges, refused = [], {}
    for i, task in enumerate(tasks):
        try:
            edges.append(rig.load_into(batch, i, task))
        except MjrigError as error:
            refused[i] = _text(error)
            edges.append(rig.edges())
    host = WarpHost(batch, job.actor, np.array(edges), tick)
    for i, why in refused.items():
        host.problems[i] = why
    return _run(host, job, tasks), batch.overflow


def _text(error: Exception) -> str:
    """An error in one line; its kind if it is not one of ours."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, MjrigError) else f"{type(error).__name__}: {text}"


def _alone(source: SceneSource, job: SweepSetup, task: SweepTask) -> TaskOutcome:
    began = time.perf_counter()
    try:
        rig = _rig(source, job, task)
        rig.configure(task)
        ((status, metrics, why),) = _run(WorldHost(rig.world, job.actor), job, [task])
        return TaskOutcome(task, status, metrics, time.perf_counter() - began, why)
    except Exception as error:  # any error of a third-party component
        return TaskOutcome(task, FAILED, {}, time.perf_counter() - began, _text(error))


def _run(
    host: Host, job: SweepSetup, tasks: Sequence[SweepTask]
) -> list[tuple[str, dict[str, float], str]]:
    """Status, metrics and problem of each task."""
    seeds = [task.seed for task in tasks]
    random = job.randomisation
    if random.start:
        count = len(host.readout.names)
        host.displace([random.start_offsets(seed, count) for seed in seeds])
    # Values of a diverged world are never used.
    with np.errstate(all="ignore"):
        found = job.scenario.run(host, random, seeds)
    return [
        _outcome(bool(alive), why, metrics)
        for alive, why, metrics in zip(host.alive, host.problems, found, strict=True)
    ]


def _outcome(
    alive: bool, problem: str, metrics: dict[str, float]
) -> tuple[str, dict[str, float], str]:
    if not alive:
        return DIVERGED, {}, ""
    return (FAILED, {}, problem) if problem else (OK, metrics, "")


class Rig:
    """A world ready for tests, which takes the live values of one task after the other."""

    def __init__(self, world: World, job: SweepSetup) -> None:
        self.world, self._job = world, job
        job.scenario.prepare(world)
        model = world.model
        names = [f for f in mujoco.batch.MODEL_FIELDS if not f.startswith(_NEVER)]
        if not job.randomisation.changes_model:
            names = [f for f in names if f in _GAINS]
        self._base = {name: np.array(getattr(model, name)) for name in names}
        #: What controllers had written when the strength of the motors was changed.
        self._gains: dict[str, Any] = {}

    def configure(self, task: SweepTask) -> None:
        """Take the values and the seed of a task, and start over.

        Raises:
            MjrigError: a value is refused.
        """
        self._put_back()
        for name, value in task.values:
            if name in self._job.live:
                assign(self.world, name, value)
        model, base = self.world.model, base_of(self.world[self._job.actor])[0]
        if self._job.randomisation.strength is not None:
            self._gains = {name: np.array(getattr(model, name)) for name in _GAINS}
        self._job.randomisation.apply(model, self.world.data, task.seed, base)
        self.world.reset()

    def batch(self, make: Callable[[World], Batch]) -> Batch:
        """Worlds that start as copies of this one, for `load_into`.

        Raises:
            ExecutionError: a component runs in Python.
        """
        self._put_back()
        made = make(self.world)
        model = self.world.model
        self._shared = {name: np.array(getattr(model, name)) for name in self._base}
        return made

    def load_into(self, batch: Batch, index: int, task: SweepTask) -> Any:
        """Give a world of a batch the values of a task; returns its limits (n, 2)."""
        self.configure(task)
        batch.reset([index])
        model = self.world.model
        for name, shared in self._shared.items():
            now = getattr(model, name)
            if not np.array_equal(now, shared):
                batch.expand(name)[index] = now
        return self.edges()

    def edges(self) -> Any:
        """The limits (n, 2) of the actor's actuators now."""
        return WorldHost(self.world, self._job.actor).readout.edges(self.world.model)

    def _put_back(self) -> None:
        if self._job.randomisation.changes_model:
            for name, base in self._base.items():
                if name not in _GAINS:
                    getattr(self.world.model, name)[...] = base
        for name, values in self._gains.items():
            getattr(self.world.model, name)[...] = values


def assign(world: World, name: str, value: object) -> None:
    """Set a property of a running world, of all actuators or those a pattern matches.

    Raises:
        MjrigError: there is no such property, or it refuses the value.
    """
    target = ParameterTarget.of(name)
    obj, prop = find(world, target.path)
    if target.pattern:
        patch(obj, {prop: {target.pattern: value}})
    else:
        obj.property_named(prop).assign(obj, value)


_memory = threading.local()  # kept by a worker between calls


def _rig(source: SceneSource, job: SweepSetup, task: SweepTask) -> Rig:
    """The rig for a task; the last one is reused unless a new world is needed."""
    fixed = job.fixed(task)
    key = (source.digest, job, repr(fixed))
    kept = getattr(_memory, "kept", None)
    if kept is not None and kept[0] == key and kept[1] in (None, task.seed):
        rig: Rig = kept[2]
        return rig
    scene = source.load()
    for name, value in fixed:
        scene.set(name, value)
    # The draws of the scene itself happen when a world is built: another seed, another world.
    seed = task.seed if draws(scene) else None
    world_seed = None if seed is None else scene.seed + seed
    rig = Rig(World(scene, job.execution, seed=world_seed), job)
    _memory.kept = (key, seed, rig)
    return rig


def draws(scene: Scene) -> bool:
    """Whether a scene, or one it includes, has random draws of its own."""
    return bool(scene.randomise) or any(map(draws, scene.included_scenes()))


_this_thread = threading.local()


def _is_loud(record: logging.LogRecord) -> bool:
    return not getattr(_this_thread, "is_quiet", False)


@contextmanager
def _quiet() -> Iterator[None]:
    """Divergence is reported in the table, not in the log as well; other threads still log."""
    logging.getLogger("mjrig").addFilter(_is_loud)  # once, however often
    before = getattr(_this_thread, "is_quiet", False)
    _this_thread.is_quiet = True
    try:
        yield
    finally:
        _this_thread.is_quiet = before
