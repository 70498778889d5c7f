"""Ways out of an unstable feedback loop, in words and as edits of the scene."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from mjrig.check.feedback_loops import Drive
from mjrig.check.remedy import How, Remedy, SceneEdit
from mjrig.control.controller import ArticulationController


class Lever(Enum):
    """What a way out changes."""

    TIMESTEP = auto()
    DECIMATION = auto()
    GAINS = auto()
    INTEGRATOR = auto()
    EFFORT = auto()


@dataclass(frozen=True)
class WayOut:
    """One way out, the same for all copies of a robot.

    Attributes:
        text: as the fix words it.
        change: what it changes; None: that is for a person to say.
        value: the new value; a factor for gains.
        gains: names of the gains that change.
    """

    text: str
    change: Lever | None = None
    value: float = 0.0
    gains: tuple[str, ...] = ()


def made(
    ways: Sequence[WayOut], culprits: Sequence[Drive], group: Sequence[Drive]
) -> Iterator[Remedy]:
    """The ways out that are edits of a scene, for one robot.

    Args:
        ways: what would be right.
        culprits: the drives it is about.
        group: all drives that are coupled with them.
    """
    for way in ways:
        edits = tuple(_edits(way, culprits, group))
        if edits:
            yield Remedy(way.text, edits)


def _edits(way: WayOut, culprits: Sequence[Drive], group: Sequence[Drive]) -> Iterator[SceneEdit]:
    if way.change is Lever.TIMESTEP:
        yield SceneEdit("sim.timestep", way.value)
    elif way.change is Lever.INTEGRATOR:
        yield SceneEdit("sim.integrator", "implicitfast")
        if way.value:
            yield SceneEdit("sim.actuation", "implicit")
    elif way.change is Lever.DECIMATION:
        for drive, controller in _controllers(group):
            if drive.every > way.value:
                yield SceneEdit(f"{drive.actor}.{controller._role}.decimation", int(way.value))
    elif way.change is Lever.EFFORT:
        for drive, controller in _controllers(group):
            yield SceneEdit(f"{drive.actor}.{controller._role}.effort", "implicit")
    elif way.change is Lever.GAINS and all(_has(drive, way.gains) for drive in culprits):
        for name in way.gains:
            yield from _scaled(name, way.value, culprits)


def _controllers(drives: Sequence[Drive]) -> list[tuple[Drive, ArticulationController]]:
    found = {id(d.controller): (d, d.controller) for d in drives if d.controller is not None}
    return list(found.values())


def _has(drive: Drive, gains: Sequence[str]) -> bool:
    """Whether the gains are properties of a controller, not of the model or of a nested law."""
    controller = drive.controller
    if controller is None:
        return False
    return all(g in controller._properties for g in gains if g in controller.gains())


def _scaled(name: str, factor: float, culprits: Sequence[Drive]) -> Iterator[SceneEdit]:
    """The gain of each culprit times a factor."""
    for drive in culprits:
        controller = drive.controller
        assert controller is not None
        if name not in controller.gains():
            continue
        place = [b.actuator for b in controller.bindings].index(drive.actuator)
        value = float(f"{float(controller.gains()[name][place]) * factor:.6g}")
        path = f"{drive.actor}.{controller._role}.{name}"
        among = tuple(tuple(b.names) for b in controller.bindings)
        yield SceneEdit(path, {drive.actuator: value}, How.PATCH, among)
