"""Runs variations of an experiment in a worker: in one world, in a batch, or on MuJoCo Warp."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import mujoco.batch
import numpy as np

from mjrig.core.errors import MjrigError
from mjrig.core.properties.per_actuator import patch
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_description import find
from mjrig.core.sim.batch import Batch
from mjrig.core.sim.warp_batch import WarpBatch
from mjrig.core.sim.world import World
from mjrig.lab.rollouts.experiment import (
    DIVERGED,
    FAILED,
    OK,
    Engine,
    Experiment,
    LiveWorld,
    ParameterTarget,
    Rollout,
    Variation,
)
from mjrig.lab.rollouts.hosts import BatchHost, Host, WarpHost, WorldHost, base_of
from mjrig.lab.rollouts.randomisation import Randomisation
from mjrig.lab.rollouts.scene_bundle import Bundle
from mjrig.lab.rollouts.world_copy import WorldCopy

#: What controllers write into their actuators; everything else is restored between two runs.
_GAINS = {
    f"actuator_{name}"
    for name in (
        "biasprm", "gainprm", "dynprm", "forcerange", "forcelimited", "actrange", "actlimited",
    )
}  # fmt: skip
#: Room for contacts on MuJoCo Warp is multiplied until they fit, by so much and up to that.
_MORE_ROOM, _MOST_ROOM = 4, 64
_NEVER = ("opt.", "name", "mesh_", "tex_", "hfield_", "skin_", "plugin", "key_", "cam_", "light_")


Result = tuple[str, dict[str, float], str]


def evaluate(
    experiment: Experiment,
    threads: int,
    report: Callable[[float], object] = lambda share: None,
) -> list[Rollout]:
    """Run all variations: in a batch with `threads` threads, or one by one with 0.

    Variations of a batch differ only in what can be set in a running world. On MuJoCo Warp they
    all run at once. `report` is called with the share that is done, as far as that is known.

    Errors of a run are reported in its rollout. Empty: the bundle is not here; send it.
    """
    source = experiment.scene
    if isinstance(source, Bundle):
        if not source.is_here:
            return []
        source.unpack()
    if experiment.scenario.files:
        experiment = replace(experiment, scenario=experiment.scenario.relocated(source.locate))
    with _quiet():
        if experiment.engine is Engine.WARP:
            return _on_warp(experiment, report)
        if threads:
            try:
                return _together(experiment, threads, report)
            except MjrigError:
                pass  # a value is refused, or it cannot be batched: run one by one to report it
        return [_alone(experiment, variation) for variation in experiment.variations]


def _together(
    experiment: Experiment, threads: int, report: Callable[[float], object]
) -> list[Rollout]:
    began, variations = time.perf_counter(), experiment.variations
    rig = _rig(experiment, variations[0])
    batch = rig.batch(lambda world: Batch(world, len(variations), threads=threads))
    edges = [rig.load_into(batch, i, variation) for i, variation in enumerate(variations)]
    host = BatchHost(batch, experiment.actor, np.array(edges), rig.prepared)
    host.report = report
    return _rollouts(experiment, _run(host, experiment, variations), began, host.traces)


def _on_warp(experiment: Experiment, report: Callable[[float], object]) -> list[Rollout]:
    began, count = time.perf_counter(), len(experiment.variations)
    try:
        rig, room = _rig(experiment, experiment.variations[0]), 1
        results, is_crowded = _in_room(rig, experiment, room, report)
        while is_crowded.any() and room < _MOST_ROOM:
            room *= _MORE_ROOM
            results, is_crowded = _in_room(rig, experiment, room, report)
    except Exception as error:  # any error of a third-party component
        results, is_crowded = [(FAILED, {}, _text(error))] * count, np.zeros(count, bool)
    for i in np.flatnonzero(is_crowded):
        results[i] = FAILED, {}, f"more contacts than MuJoCo Warp has room for, even {room} times"
    return _rollouts(experiment, results, began, [None] * count)


def _rollouts(
    experiment: Experiment, results: Sequence[Result], began: float, traces: Sequence[Any]
) -> list[Rollout]:
    """Rollouts of variations that ran together."""
    share = (time.perf_counter() - began) / len(results)
    return [
        Rollout(variation, status, metrics, share, why, experiment.engine, trace)
        for variation, (status, metrics, why), trace in zip(
            experiment.variations, results, traces, strict=True
        )
    ]


def _in_room(
    rig: "Rig", experiment: Experiment, room: int, report: Callable[[float], object]
) -> tuple[list[Result], Any]:
    """Status, metrics and problem of each run, and which of them had too many contacts."""
    variations = experiment.variations
    batch = rig.batch(lambda world: WarpBatch(world, len(variations), room=room))
    assert isinstance(batch, WarpBatch)
    edges, refused = [], {}
    for i, variation in enumerate(variations):
        try:
            edges.append(rig.load_into(batch, i, variation))
        except MjrigError as error:
            refused[i] = _text(error)
            edges.append(rig.edges())
    host = WarpHost(batch, experiment.actor, np.array(edges), rig.prepared)
    host.report = report
    for i, why in refused.items():
        host.problems[i] = why
    return _run(host, experiment, variations), batch.overflow


def _text(error: Exception) -> str:
    """An error in one line; its kind if it is not one of ours."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, MjrigError) else f"{type(error).__name__}: {text}"


def _alone(experiment: Experiment, variation: Variation) -> Rollout:
    began = time.perf_counter()
    try:
        rig = _rig(experiment, variation)
        rig.configure(variation)
        host = WorldHost(rig.world, experiment.actor, rig.prepared)
        ((status, metrics, why),) = _run(host, experiment, [variation])
        seconds = time.perf_counter() - began
        return Rollout(variation, status, metrics, seconds, why, traces=host.traces[0])
    except Exception as error:  # any error of a third-party component
        cause = error if isinstance(experiment.scene, LiveWorld) else None
        seconds = time.perf_counter() - began
        return Rollout(variation, FAILED, {}, seconds, _text(error), cause=cause)


def _run(host: Host, experiment: Experiment, variations: Sequence[Variation]) -> list[Result]:
    """Status, metrics and problem of each run."""
    random = experiment.randomisation
    _displace(host, random, variations)
    # Values of a diverged world are never used.
    with np.errstate(all="ignore"):
        results = experiment.scenario.run(host, random, variations)
    return [
        _outcome(bool(alive), why, metrics)
        for alive, why, metrics in zip(host.alive, host.problems, results, strict=True)
    ]


def _displace(host: Host, random: Randomisation, variations: Sequence[Variation]) -> None:
    """Move the joints of each world to the initial positions of its seed."""
    if random.start:
        count = len(host.readout.names)
        host.displace([random.start_offsets(variation.seed, count) for variation in variations])


def _outcome(alive: bool, problem: str, metrics: dict[str, float]) -> Result:
    if not alive:
        return DIVERGED, {}, ""
    return (FAILED, {}, problem) if problem else (OK, metrics, "")


class Rig:
    """A world ready for tests, which takes the live values of one variation after the other."""

    def __init__(self, world: World, experiment: Experiment, prepared: object = None) -> None:
        self.world, self._experiment = world, experiment
        self.prepared = experiment.scenario.prepare(world) if prepared is None else prepared
        model = world.model
        names = [f for f in mujoco.batch.MODEL_FIELDS if not f.startswith(_NEVER)]
        if not experiment.randomisation.changes_model:
            names = [f for f in names if f in _GAINS]
        self._base = {name: np.array(getattr(model, name)) for name in names}
        #: What controllers had written when the strength of the motors was changed.
        self._gains: dict[str, Any] = {}

    def configure(self, variation: Variation) -> None:
        """Take the values and the seed of a variation, and start over.

        Raises:
            MjrigError: a value is refused.
        """
        self._put_back()
        for name, value in variation.values:
            if name in self._experiment.live:
                assign(self.world, name, value)
        model, base = self.world.model, base_of(self.world[self._experiment.actor])[0]
        if self._experiment.randomisation.strength is not None:
            self._gains = {name: np.array(getattr(model, name)) for name in _GAINS}
        self._experiment.randomisation.apply(model, self.world.data, variation.seed, base)
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

    def load_into(self, batch: Batch, index: int, variation: Variation) -> Any:
        """Give a world of a batch the values of a variation; returns its limits (n, 2)."""
        self.configure(variation)
        batch.reset([index])
        model = self.world.model
        for name, shared in self._shared.items():
            now = getattr(model, name)
            if not np.array_equal(now, shared):
                batch.expand(name)[index] = now
        return self.edges()

    def edges(self) -> Any:
        """The limits (n, 2) of the actor's actuators now."""
        return WorldHost(self.world, self._experiment.actor).readout.edges(self.world.model)

    def _put_back(self) -> None:
        if self._experiment.randomisation.changes_model:
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


def _rig(experiment: Experiment, variation: Variation) -> Rig:
    """The rig for a variation; the last one is reused unless a new world is needed."""
    source = experiment.scene
    if isinstance(source, LiveWorld):
        return Rig(source.world, experiment, source.prepared)
    key = (
        source.digest,
        experiment.actor,
        experiment.scenario,
        experiment.randomisation,
        experiment.execution,
        experiment.live,
        repr(experiment.fixed(variation)),
    )
    last = getattr(_memory, "last", None)
    if last is not None and last[0] == key and last[1] in (None, variation.seed):
        rig: Rig = last[2]
        return rig
    rig, seed = _new_rig(experiment, variation)
    _memory.last = (key, seed, rig)
    return rig


def _new_rig(experiment: Experiment, variation: Variation) -> tuple[Rig, int | None]:
    """A rig, and the seed it is for; None: any."""
    if isinstance(experiment.scene, WorldCopy):
        return Rig(experiment.scene.build(), experiment), None
    scene = experiment.scene.load()
    for name, value in experiment.fixed(variation):
        scene.set(name, value)
    # The draws of the scene itself happen when a world is built: another seed, another world.
    seed = variation.seed if draws(scene) else None
    return Rig(build_world(scene, experiment.execution, seed), experiment), seed


def open_host(experiment: Experiment, variation: Variation) -> WorldHost:
    """A new world, ready for the run of a variation by the caller; the same as in `run`."""
    rig, _ = _new_rig(experiment, variation)
    rig.configure(variation)
    host = WorldHost(rig.world, experiment.actor, rig.prepared)
    _displace(host, experiment.randomisation, [variation])
    return host


def build_world(scene: Scene, execution: str = "auto", seed: int | None = None) -> World:
    """A world of a scene; `seed` is added to the scene's seed, for other random draws."""
    return World(scene, execution, seed=None if seed is None else scene.seed + seed)


def world_at(experiment: Experiment, values: Mapping[str, Any]) -> World:
    """A world with property values of a variation."""
    variation = experiment.vary(values)
    scene = experiment.scene.load()
    for name, value in experiment.fixed(variation):
        scene.set(name, value)
    world = build_world(scene, experiment.execution)
    for name, value in variation.values:
        if name in experiment.live:
            assign(world, name, value)
    return world


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
