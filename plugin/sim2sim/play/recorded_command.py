"""The commands a recorded policy was given, as a schedule for one that runs here."""

from collections.abc import Sequence

import numpy as np

from mjrig.control.policy import PolicyComponent
from mjrig.names import how_many
from mjrig.recording.recording import ActorRecording, Recording

Schedule = Sequence[tuple[float, Sequence[float]]]


def recorded_schedule(
    recorded: ActorRecording, policy: PolicyComponent, timestep: float, began: float = 0.0
) -> tuple[Schedule | None, str]:
    """Times since the policy began and commands, where they change, and a note for the report.

    `began` is the time at which the recording began [s].

    None: there are none, or of another size than the policy takes, which the note says.
    """
    ticks, size = recorded.policy, policy.command_now.size
    if ticks is None or not ticks.command.size or not size:
        return None, ""
    given = ticks.command.shape[1]
    if given != size:
        many = how_many(given, "value")
        return None, f"the recorded commands have {many}, the policy takes {size}: not used"
    before = policy.stand_steps - round(began / timestep)
    after = np.asarray(ticks.step, dtype=np.int64) - before
    rows = np.asarray(ticks.command, dtype=np.float64)
    begun = max(int(np.searchsorted(after, 0, side="right")) - 1, 0)
    after, rows = np.maximum(after[begun:], 0), rows[begun:]
    changes = np.flatnonzero(np.any(np.diff(rows, axis=0) != 0.0, axis=1)) + 1
    schedule = [(float(after[i] * timestep), rows[i].tolist()) for i in (0, *changes)]
    return schedule, "the commands are those of the recording"


def recorded_seed(recording: Recording | None) -> int | None:
    """The random seed a recording was made with; None: it does not say."""
    seed = recording.attributes.get("seed") if recording is not None else None
    return seed if isinstance(seed, int) else None
