"""Sources of a replay: a recording or a policy, and the scene."""

from pathlib import Path

from mjrig.control.policy import PolicyComponent
from mjrig.errors import RecordingError
from mjrig.recording.reading import read_recording
from mjrig.recording.recording import Recording
from mjrig.sim.world import World


def is_policy(source: object) -> bool:
    """Whether something is a policy, or the file of one."""
    if isinstance(source, str | Path):
        return Path(source).suffix.lower() in (".yaml", ".yml")
    return isinstance(source, PolicyComponent)


def as_recording(
    source: object, hints: dict[str, object] | None = None, timestep: float | None = None
) -> Recording:
    """A recording, read from its file if need be; logs of robots are brought to `timestep` [s].

    Raises:
        RecordingError: it cannot be read.
    """
    if isinstance(source, Recording):
        return source
    if not isinstance(source, str | Path):
        raise RecordingError(f"a recording or a file is needed, got {source!r}")
    return read_recording(Path(source), hints, timestep=timestep)


def scene_name(world: World) -> str:
    """The name of the scene in reports: its file."""
    return str(world.scene.source or "scene")
