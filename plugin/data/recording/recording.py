"""Recording: a recorded run in one common form, whatever the file format.

Row k of a physics-rate column is the state before physics step k; ctrl and efforts of row k were
used in step k. Setpoints hold from their step on until the next row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.control.plant import Plant
from mjrig.data.recording.component_memory import StoredMemory

Steps = npt.NDArray[np.int64]


@dataclass(frozen=True)
class JointColumns:
    """Where one joint is in `ActorRecording.qpos` and `.qvel`.

    `kind` is `free` (7, 6), `ball` (4, 3), `slide` or `hinge` (1, 1). Quaternions are wxyz.
    `unit` is the one that its positions were converted from, where that says the kind: deg, mm, …
    """

    name: str
    kind: str
    qpos: slice
    dof: slice
    unit: str = ""


@dataclass(frozen=True)
class RecordedCommands:
    """Setpoints per actuator: row p acts in the steps [step[p], step[p + 1]).

    `inputs` are those of multi-input actuators that take a vector (orientation), by name.
    """

    step: Steps
    position: FloatArray
    velocity: FloatArray
    feedforward: FloatArray
    inputs: Mapping[str, FloatArray] = field(default_factory=dict)


@dataclass(frozen=True)
class Efforts:
    """Efforts per actuator at the joint, used in physics step `step[r]` [N·m or N].

    `raw` is before any clamp; None: not recorded.
    """

    step: Steps
    effort: FloatArray
    raw: FloatArray | None = None


@dataclass(frozen=True)
class PolicyTicks:
    """Observations and actions of a policy per tick; its target acts from `step[p]` on.

    `joints` are the columns of `action`.
    """

    step: Steps
    observation: npt.NDArray[np.float32]
    action: npt.NDArray[np.float32]
    command: FloatArray
    joints: tuple[str, ...] = ()


@dataclass(frozen=True)
class GainChange:
    """From a physics step on, these gains hold: property → values over `actuators`.

    Only properties that differ from the start of the recording are there; not a number: an actuator
    without that gain. No values: those of `plant` again, that is, the gains of the scene.
    """

    step: int
    gains: Mapping[str, FloatArray] | None


@dataclass(frozen=True)
class ActorRecording:
    """One robot's share.

    `step` and `time` are of the state samples: every physics step in mjrig's own files, fewer in
    others. `qvel` is None where the file has no velocities. `actuators` are the columns of
    commands and efforts; `driven` the joint each drives, empty for none. `act` (rows of `step`) and
    `ctrl` (rows of `efforts.step`) are the robot's share of MuJoCo's arrays, in the model that was
    recorded.
    """

    name: str
    joints: tuple[JointColumns, ...]
    step: Steps
    time: FloatArray
    qpos: FloatArray
    qvel: FloatArray | None
    actuators: tuple[str, ...] = ()
    driven: tuple[str, ...] = ()
    commands: RecordedCommands | None = None
    efforts: Efforts | None = None
    policy: PolicyTicks | None = None
    plant: Plant = field(default_factory=Plant)
    gain_changes: Sequence[GainChange] = ()
    act: FloatArray | None = None
    ctrl: FloatArray | None = None


@dataclass(frozen=True)
class IntegrationStates:
    """Full integration states (mjSTATE_INTEGRATION, warm start included) before some steps.

    Only of use in a model with the same `model_hash`.
    """

    step: Steps
    state: FloatArray


@dataclass(frozen=True)
class Recording:
    """A whole file.

    Attributes:
        path: where it came from.
        format: the layout it was read from: `mjrig`, `npz`, `csv`, `urlab`, …
        timestep: physics timestep [s].
        steps: physics steps that were taken: the state after the last is row `steps`, if there.
        actors: by name.
        states: full states for exact seeking, ours only.
        attributes: scene text, model_hash, execution, versions, seed, source: what is known.
        notes: what the file lacks or what was assumed, as text for the user.
        memories: what the components remembered at the start and at segments, ours only.
        segments: first step of each stretch between which the state was reset or restored.
    """

    path: Path
    format: str
    timestep: float
    steps: int
    actors: Mapping[str, ActorRecording]
    states: IntegrationStates | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    segments: tuple[int, ...] = (0,)
    memories: tuple[StoredMemory, ...] = ()

    @property
    def is_measured(self) -> bool:
        """Whether it is of a real robot, by its log: then its numbers contain noise."""
        return "log" in self.attributes

    @property
    def is_simulated_here(self) -> bool:
        """Whether mjrig simulated and recorded it: then times count from a reset."""
        return "requested_execution" in self.attributes

    @property
    def began_mid_run(self) -> bool:
        """Whether mjrig had taken steps before the first; nothing is assumed of other sources."""
        times = [actor.time for actor in self.actors.values()]
        began_later = any(len(time) > 0 and float(time[0]) > 0.0 for time in times)
        return self.is_simulated_here and began_later

    @property
    def duration(self) -> float:
        """Simulated seconds."""
        return self.steps * self.timestep
