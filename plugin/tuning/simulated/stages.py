"""What a fit of motion simulates: windows of recordings, and who runs them."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mjrig.errors import ExecutionError, FitError
from mjrig.scene_edit.scene import Scene
from mjrig.sim.world import World
from mjrig.tuning.simulated.fit_data import RecordedTrack, cut
from mjrig.tuning.simulated.fit_jobs import Simulator, Stage
from mjrig.tuning.simulated.held_out import held_out
from mjrig.tuning.simulated.inertial import factors_of
from mjrig.tuning.simulated.plant import Drives
from mjrig.tuning.simulated.simulators import BatchSimulator, PoolSimulator
from mjrig.tuning.simulated.tangent import Tangent

#: Length of windows where the base is free [s]: contacts make longer ones unpredictable.
WINDOW = 0.04
#: Most numbers in the derivatives; beyond that samples are left out.
ROOM = 1e8

Report = Callable[[str], object]


@dataclass(frozen=True)
class MotionOptions:
    """How motion is fitted.

    Attributes:
        together: include dynamic coupling between joints in the derivatives.
        window: length of the windows [s]; None: see `fit`.
        prior: standard deviation around the scene's values that is assumed, as a share; None: of
            bodies only.
        validate: share of each recording that is held out; None: nothing is.
        report: called with progress messages.
    """

    together: bool = True
    window: float | None = None
    prior: float | None = None
    validate: float | None = None
    report: Report = lambda text: None


def stages_of(
    world: World,
    drives: Drives,
    tracks: list[RecordedTrack],
    fitted: int,
    options: MotionOptions,
    skip: int,
    count: int,
) -> tuple[Stage, Stage | None]:
    """What is fitted to, and what is held out."""
    tangent = Tangent.of(world.model, world[drives.actor].model_map.joint_ids)
    window = options.window
    if window is not None and not window > 0.0:
        raise FitError(f"the length of windows must be above 0 s, got {window:g}")
    if window is None:
        window = WINDOW if tangent.turns and not drives.remembers else math.inf
    length = None if math.isinf(window) else max(round(window / world.timestep), 2)
    if length is not None and drives.remembers:
        raise FitError(
            f"{drives.actor}: its laws have internal state, unknown at the start of a window; "
            "fit whole recordings: window inf"
        )
    multiple = int(np.lcm.reduce(drives.ticks))
    windows = cut(tracks, length, multiple, skip)
    seen = [w for w in windows if w.track < fitted]
    judged = [w for w in windows if w.track >= fitted]
    if options.validate is not None and not drives.remembers:
        seen, inside = held_out(tracks[:fitted], seen, options.validate, multiple)
        judged = [*inside, *judged]
    size = sum(len(w.samples) for w in seen) * 2 * len(tangent) * (count + 2 * len(tangent))
    every = max(1, math.ceil(size / ROOM))
    thin = [replace(w, samples=w.samples[::every], after=w.after[::every]) for w in seen]
    factors = factors_of(world.model, drives.links.values())
    stage = Stage(drives, tracks, thin, tangent, world.timestep, factors)
    return stage, replace(stage, windows=judged) if judged else None


def simulator_of(scene: Scene, stage: Stage) -> Simulator:
    """All cores if MuJoCo runs the laws itself, else processes."""
    try:
        return BatchSimulator(scene, stage)
    except ExecutionError:  # a law that runs in Python
        return PoolSimulator(scene, stage)
