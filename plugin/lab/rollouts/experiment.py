"""An experiment as data: a scene, a scenario, variations of them, and what each run resulted in.

    points = [{"dog.PDController.kp": kp} for kp in (20, 40)]
    experiment = Experiment(LocalScene.of(scene), FreeRun(2.0), "dog").with_points(points)
    for rollout in run(experiment):
        print(rollout.values, rollout.metrics["rmse"])

Experiments can be compared, hashed, pickled and written (`experiment_data`); `run` runs them.
"""

import json
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Protocol

from mjrig.core.errors import PropertyError
from mjrig.core.names import suggestion
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.lab.rollouts.hosts import Host
from mjrig.lab.rollouts.randomisation import Randomisation

OK, DIVERGED, FAILED = "ok", "diverged", "failed"
#: A path, then the last bracket that is no list index: `a.clamps[0].max_effort[FL_.*]`.
_NARROWED = re.compile(r"(?P<path>[^\[\]]+(?:\[\d+\][^\[\]]+)*)\[(?P<pattern>.+)\]")


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


@dataclass(frozen=True)
class ParameterTarget:
    """A parsed parameter name: a property path, and a pattern of actuators if it has one."""

    path: str
    pattern: str = ""

    @classmethod
    def of(cls, name: str) -> "ParameterTarget":
        """Read a name."""
        match = _NARROWED.fullmatch(name)
        return cls(match["path"], match["pattern"]) if match else cls(name)


@dataclass(frozen=True)
class Variation:
    """One run of an experiment: property values, a seed, and a case of the scenario.

    Attributes:
        id: hash of everything that decides the result.
        values: property paths and values.
        seed: of the randomisation.
        case: parameter of the scenario, such as the joint that a signal drives; None: it has none.
    """

    id: str = ""
    values: tuple[tuple[str, Any], ...] = ()
    seed: int = 0
    case: Hashable = None

    @classmethod
    def of(
        cls, fingerprint: str, values: Mapping[str, object], seed: int, case: Hashable = None
    ) -> "Variation":
        """A variation with its hash; the order of the values does not matter to it."""
        parts = [fingerprint, seed, dict(sorted(values.items())), *([] if case is None else [case])]
        digest = sha256(json.dumps(parts, default=str).encode()).hexdigest()[:16]
        # A whole property comes before single actuators of it, which it would overwrite.
        ordered = sorted(values.items(), key=lambda pair: bool(ParameterTarget.of(pair[0]).pattern))
        return cls(digest, tuple(ordered), seed, case)

    def __hash__(self) -> int:
        return hash((self.id, repr(self.values), self.seed, self.case))


class Scenario(Protocol):
    """What happens in a run, and what is measured: `FreeRun`, `SignalTest`, `ReplayTest`, …

    `metrics` are names of `mjrig.lab.rollouts.metrics`.
    """

    @property
    def metrics(self) -> tuple[str, ...]: ...
    @property
    def batchable(self) -> bool:
        """Whether many worlds can run it at once."""
        ...

    @property
    def duration(self) -> float:
        """Simulated time, as far as it is known before [s]."""
        ...

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that it reads."""
        ...

    def relocated(self, locate: Callable[[Path], Path]) -> "Scenario":
        """The same on another machine, where `locate` finds the files."""
        ...

    def prepare(self, world: World) -> object:
        """Change a new world once, before all runs in it; hosts have the result as `prepared`."""
        ...

    def run(
        self, host: Host, randomisation: Randomisation, variations: Sequence[Variation]
    ) -> list[dict[str, float]]:
        """The metrics of each world of a host, from its present state, one variation in each.

        Traces, and why a world has no metrics, are put into `host.traces` and `host.problems`.
        """
        ...


class PlainScenario:
    """Defaults of a scenario: it reads no files, changes no world, and runs in one at a time."""

    #: The type of its cases.
    case_type: ClassVar[Any] = None
    batchable: bool = False

    @property
    def duration(self) -> float:
        """Simulated time; 0: unknown before it runs [s]."""
        return 0.0

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that it reads."""
        return ()

    def relocated(self, locate: Callable[[Path], Path]) -> Any:
        """The same on another machine, where `locate` finds the files."""
        return self

    def prepare(self, world: World) -> object:
        """Change a new world once, before all runs in it."""


class SceneSource(Protocol):
    """Where a worker gets the scene from: `LocalScene`, `Bundle` or `LiveWorld`."""

    @property
    def digest(self) -> str: ...
    def load(self) -> Scene: ...
    def locate(self, file: Path) -> Path: ...


@dataclass(frozen=True, eq=False)
class LiveWorld:
    """A world of this process as it is, with all that was changed in it: only for back end inline.

    `prepared` is what the scenario's `prepare` would return, where that is done already.
    """

    world: World
    prepared: object = None
    digest: str = "live"

    def load(self) -> Scene:
        """The scene that the world was made from."""
        return self.world.scene

    def locate(self, file: Path) -> Path:
        """Where a file is."""
        return file


@dataclass(frozen=True)
class Experiment:
    """A scene and what is done with it, in every run of it.

    Attributes:
        scene: where the scene comes from.
        scenario: commands, duration and metrics.
        actor: actor under test; empty: the scenario names it, or it is the only one.
        variations: one run each.
        randomisation: what a seed changes.
        execution: as of `World`.
        live: the parameters that are set in a running world; the others need a new one.
        engine: what computes the physics.
    """

    scene: SceneSource
    scenario: Scenario
    actor: str = ""
    variations: tuple[Variation, ...] = ()
    randomisation: Randomisation = field(default_factory=Randomisation)
    execution: str = "auto"
    live: frozenset[str] = frozenset()
    engine: Engine = Engine.MUJOCO

    @cached_property
    def fingerprint(self) -> str:
        """What the results depend on besides the variations, as a hash."""
        text = (
            f"{self.scene.digest} {self.actor} {self.scenario} {self.randomisation} "
            f"{self.execution}"
        )
        if self.engine is not Engine.MUJOCO:
            text += f" {self.engine.value}"
        return sha256(text.encode()).hexdigest()[:16]

    def vary(
        self, values: Mapping[str, object] | None = None, seed: int = 0, case: Hashable = None
    ) -> Variation:
        """A variation of this experiment."""
        return Variation.of(self.fingerprint, values or {}, seed, case)

    def with_points(
        self, points: Iterable[Mapping[str, object]] = ({},), seeds: Iterable[int] = (0,)
    ) -> "Experiment":
        """The same with a variation for every point and seed, each once."""
        seeds = tuple(seeds)
        variations = dict.fromkeys(self.vary(point, seed) for point in points for seed in seeds)
        return replace(self, variations=tuple(variations))

    def with_cases(self, cases: Iterable[Hashable]) -> "Experiment":
        """The same with a variation for every case of its scenario."""
        return replace(self, variations=tuple(self.vary(case=case) for case in cases))

    def fixed(self, variation: Variation) -> list[tuple[str, object]]:
        """The values of a variation that need a new world."""
        return [pair for pair in variation.values if pair[0] not in self.live]


@dataclass(frozen=True)
class Rollout:
    """Result of one variation.

    Attributes:
        variation: what was run.
        status: `ok`, `diverged` or `failed`.
        metrics: numbers by name; empty where it did not succeed.
        seconds: its share of wall time.
        error: why it failed.
        engine: what computed it.
        traces: what the scenario recorded, such as the `Response` of a joint; None: nothing.
        cause: the exception in a live world; errors of other worlds are texts.
    """

    variation: Variation
    status: str
    metrics: Mapping[str, float]
    seconds: float
    error: str = ""
    engine: Engine = Engine.MUJOCO
    traces: Any = None
    cause: Exception | None = field(default=None, compare=False)

    @property
    def values(self) -> dict[str, Any]:
        """Property values by path."""
        return dict(self.variation.values)

    @property
    def seed(self) -> int:
        """The seed."""
        return self.variation.seed
