"""Pre-flight: stability of the feedback loops, and gains or timesteps that would be stable."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any, NamedTuple

import numpy as np

from mjrig.core.control.controller import ArticulationController
from mjrig.core.findings import Finding, How, Remedy, RepairEdit, error, note, warning
from mjrig.core.sim.world import World
from mjrig.lab.check.closed_loop import Carrier, LinearPlant, growing_joints, is_stable, largest
from mjrig.lab.check.feedback_loops import Drive, Group, groups

# Ways out -----------------------------------------------------------------------------------------
# Ways out of an unstable feedback loop, in words and as edits of the scene.


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


def _edits(way: WayOut, culprits: Sequence[Drive], group: Sequence[Drive]) -> Iterator[RepairEdit]:
    if way.change is Lever.TIMESTEP:
        yield RepairEdit("sim.timestep", way.value)
    elif way.change is Lever.INTEGRATOR:
        yield RepairEdit("sim.integrator", "implicitfast")
        if way.value:
            yield RepairEdit("sim.actuation", "implicit")
    elif way.change is Lever.DECIMATION:
        for drive, controller in _controllers(group):
            if drive.every > way.value:
                yield RepairEdit(f"{drive.actor}.{controller._role}.decimation", int(way.value))
    elif way.change is Lever.EFFORT:
        for drive, controller in _controllers(group):
            yield RepairEdit(f"{drive.actor}.{controller._role}.effort", "implicit")
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


def _scaled(name: str, factor: float, culprits: Sequence[Drive]) -> Iterator[RepairEdit]:
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
        yield RepairEdit(path, {drive.actuator: value}, How.PATCH, among)


# Stability ----------------------------------------------------------------------------------------


#: Gains that may not grow by more than this factor are called close to the bound.
ROOM = 2.0
#: Decimations up to this one are tried one by one.
MANY = 64
#: Factors by which a timestep or gain is changed in search of a better one.
_UPWARDS = tuple(2.0 ** (n / 2) for n in range(1, 49))


def about_stability(world: World) -> Iterator[Finding]:
    """PD and PID loops that are unstable, or would be with twice the gains."""
    known: dict[object, list[Verdict]] = {}
    for group in groups(world):
        key = _fingerprint(group)
        if key not in known:  # copies of a robot are checked once
            known[key] = list(StabilityCase(group).verdicts())
        for verdict in known[key]:
            drives = [group.drives[i] for i in verdict.culprits]
            for actor, names in _by_actor(drives):
                yield verdict.make(
                    verdict.kind,
                    actor,
                    names,
                    ways=[way.text for way in verdict.ways],
                    remedies=tuple(made(verdict.ways, drives, group.drives)),
                    **verdict.values,
                )


class Verdict(NamedTuple):
    """A finding about the drives of a group, by their places in it."""

    make: Callable[..., Finding]
    kind: str
    culprits: Sequence[int]
    values: Mapping[str, Any]
    ways: Sequence[WayOut] = ()


def _fingerprint(group: Group) -> object:
    """Equal for equivalent groups; rounded, as a copy elsewhere differs in the last digits."""
    mass = group.plant.mass
    scale = float(np.abs(mass).max())
    rounded = f"{scale:.9e}", np.round(mass / scale, 9).tobytes()
    drives = tuple(
        (d.kp, d.kv, d.ki, d.every, d.carrier, d.row[group.dofs].round(9).tobytes())
        for d in group.drives
    )
    return rounded, group.plant.damping.tobytes(), group.plant.stiffness.tobytes(), drives


@dataclass(frozen=True)
class StabilityCase:
    """One group of joints, and its stability with other timesteps and gains."""

    group: Group

    def holds(
        self,
        *,
        gains: float = 1.0,
        step: float = 1.0,
        kp: float = 1.0,
        kv: float = 1.0,
        ki: float = 1.0,
        only: Sequence[Drive] | None = None,
    ) -> bool:
        """Whether it is stable with the timestep, all gains, or those of some drives scaled."""
        plant = replace(self.group.plant, step=self.group.plant.step * step)
        chosen = np.array([only is None or d in only for d in self.group.drives])
        scales = [np.where(chosen, gains * factor, 1.0) for factor in (kp, kv, ki)]
        return is_stable(plant, self.group.loops(*scales))

    def culprits(self, gains: float = 1.0) -> list[Drive]:
        """The drives that would cause instability if all gains were scaled by this factor.

        Those on the joints whose motion grows; and as long as it grows without them too, those on
        the joints whose motion then does.
        """
        drives, dofs = self.group.drives, self.group.dofs
        share = np.full(len(drives), gains)
        guilty = np.zeros(len(drives), bool)
        while not guilty.all():
            loops = self.group.loops(share, share, share)
            if guilty.any() and is_stable(self.group.plant, loops):
                break
            grows = growing_joints(self.group.plant, loops)
            more = np.array([bool(d.row[dofs][grows].any()) for d in drives]) & ~guilty
            guilty |= more if more.any() else ~guilty
            share[guilty] = 0.0
        return [d for d, found in zip(drives, guilty, strict=True) if found]

    # Verdicts -----------------------------------------------------------------------------------

    def verdicts(self) -> Iterator[Verdict]:
        """The findings about the group."""
        if not self.holds():
            yield self._unstable()
        elif not self.holds(gains=ROOM):
            yield self._close()
        undamped = [i for i, d in enumerate(self.group.drives) if self._swings(d)]
        if undamped:
            yield Verdict(note, "undamped", undamped, {"here": 0.0})

    def _unstable(self) -> Verdict:
        """The group is unstable."""
        culprits = self.culprits()
        values = {"law": _law(culprits), **self._causes(culprits)}
        ways = self._remedies(culprits)
        return Verdict(error, "unstable-pd", self._places(culprits), values, ways)

    def _close(self) -> Verdict:
        """The group would be unstable with slightly higher gains."""
        culprits = self.culprits(ROOM)
        numbers = max(_numbers(d, self.group) for d in culprits)[1]
        room = largest(lambda f: self.holds(gains=f), 1.0, ROOM)
        share = nearest_below(lambda f: self.holds(step=f, gains=ROOM)) or 1.0
        values = {"law": _law(culprits), "here": room, "expected": ROOM, "numbers": numbers}
        step = rounded_down(share * self.group.plant.step)
        way = WayOut(f"timestep: {step:g} doubles the margin", Lever.TIMESTEP, step)
        return Verdict(warning, "close-to-unstable", self._places(culprits), values, [way])

    def _swings(self, drive: Drive) -> bool:
        """Whether nothing takes energy out of a joint that is held by a spring."""
        row = drive.row[self.group.dofs]
        return bool(drive.kp and not drive.kv and not row @ self.group.plant.damping @ row)

    def _places(self, drives: Sequence[Drive]) -> list[int]:
        return [i for i, d in enumerate(self.group.drives) if d in drives]

    def _causes(self, culprits: Sequence[Drive]) -> dict[str, Any]:
        share, numbers = max(_numbers(d, self.group) for d in culprits)
        tick, integral, coupled = 0.0, False, False
        if share < 1.0:
            if any(d.every > 1 for d in culprits) and self._from_above(culprits):
                tick = max(d.every for d in culprits) * self.group.plant.step
            else:
                integral = any(d.ki for d in culprits)
                coupled = not integral
        return {
            "here": share, "expected": 1.0, "numbers": numbers, "tick": tick,
            "integral": integral, "coupled": coupled,
        }  # fmt: skip

    # Remedies, each of them tried ----------------------------------------------------------------

    def _remedies(self, culprits: Sequence[Drive]) -> list[WayOut]:
        return [
            *self._longest_step(),
            *self._shorter_ticks(culprits),
            *self._gains(culprits),
            *self._implicitly(),
        ]

    def _longest_step(self) -> Iterator[WayOut]:
        share = nearest_below(lambda f: self.holds(step=f))
        if share is not None:
            step = rounded_down(share * self.group.plant.step)
            yield WayOut(f"timestep: {step:g} at most", Lever.TIMESTEP, step)

    def _shorter_ticks(self, culprits: Sequence[Drive]) -> Iterator[WayOut]:
        longest = max(d.every for d in culprits)
        every = highest_below(
            lambda n: is_stable(self.group.plant, self.group.loops(every=n)), longest
        )
        if every:
            yield WayOut(f"decimation: {every} at most", Lever.DECIMATION, every)

    def _gains(self, culprits: Sequence[Drive]) -> Iterator[WayOut]:
        found: list[WayOut] = []
        for name in ("kv", "kp", "ki"):
            values = [getattr(d, name) for d in culprits]
            if any(values):
                found += _bound(name, values, self._holds_with(name, culprits))
        if not found:
            share = nearest_below(lambda f: self.holds(gains=f, only=culprits))
            if share is not None:
                text = f"all gains times {rounded_down(share):g}"
                found = [WayOut(text, Lever.GAINS, rounded_down(share), ("kp", "kv", "ki"))]
        yield from found

    def _holds_with(self, name: str, culprits: Sequence[Drive]) -> Callable[[float], bool]:
        def holds(factor: float) -> bool:
            return self.holds(**{name: factor}, only=culprits)

        return holds

    def _from_above(self, culprits: Sequence[Drive]) -> bool:
        """Whether more damping would be enough."""
        return any(self.holds(kv=f, only=culprits) for f in _UPWARDS)

    def _implicitly(self) -> Iterator[WayOut]:
        group = self.group
        controllers = {id(c): c for d in group.drives if (c := d.controller) is not None}.values()
        ahead = replace(group.plant, integrator="implicitfast")
        inside = group.loops(carrier=Carrier.ENGINE)
        if all(map(_lowers, controllers)) and is_stable(ahead, inside):
            said = "{integrator: implicitfast, actuation: implicit}"
            text = f"sim: {said if controllers else '{integrator: implicitfast}'}"
            yield WayOut(text, Lever.INTEGRATOR, bool(controllers))
        can_solve = controllers and all(hasattr(c, "effort") for c in controllers)
        if can_solve and is_stable(group.plant, group.loops(carrier=Carrier.SOLVED)):
            yield WayOut("effort: implicit", Lever.EFFORT)


def nearest_below(holds: Callable[[float], bool]) -> float | None:
    """The largest stable factor below 1, to 1 %; None: none within the range searched."""
    above = 1.0
    for up in _UPWARDS:
        if holds(1.0 / up):
            return largest(holds, 1.0 / up, above)
        above = 1.0 / up
    return None


def highest_below(holds: Callable[[int], bool], top: int) -> int:
    """The highest stable number below `top`, which is not; 0: none.

    From `MANY` on it is searched by halves.
    """
    above = top
    while above > MANY and not holds(above // 2):
        above //= 2
    low = above // 2 if above > MANY else 0
    while low and above - low > 1:
        middle = (low + above) // 2
        low, above = (middle, above) if holds(middle) else (low, middle)
    return low or next((n for n in range(above - 1, 0, -1) if holds(n)), 0)


def nearest_above(holds: Callable[[float], bool]) -> float | None:
    """The smallest stable factor above 1, to 1 %."""
    found = nearest_below(lambda f: holds(1.0 / f))
    return None if found is None else 1.0 / found


def _lowers(controller: ArticulationController) -> bool:
    return controller.supports()["native"].available


def _bound(name: str, values: Sequence[float], holds: Callable[[float], bool]) -> Iterator[WayOut]:
    """The gain at which it becomes stable, if changing a single gain is enough."""
    one = len(set(values)) == 1
    said, value = (f"{name}:", values[0]) if one else (f"{name} times", 1.0)
    if (share := nearest_below(holds)) is not None:
        bound = rounded_down(share * value)
        yield WayOut(f"{said} {bound:g} at most", Lever.GAINS, bound / value, (name,))
    elif name == "kv" and (share := nearest_above(holds)) is not None:
        bound = rounded_up(share * value)
        yield WayOut(f"{said} {bound:g} at least", Lever.GAINS, bound / value, (name,))


def rounded_down(value: float) -> float:
    """Rounded down to two digits, so that a stable value stays stable."""
    if value <= 0.0 or not math.isfinite(value):
        return value
    digit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.floor(value / digit * (1 + 1e-12)) * digit:.2g}")


def rounded_up(value: float) -> float:
    """Rounded up to two digits."""
    digit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / digit * (1 - 1e-12)) * digit:.3g}")


def _law(culprits: Sequence[Drive]) -> str:
    if all(d.controller is None for d in culprits):
        return "the actuator's own feedback"
    kind = "PID" if any(d.ki for d in culprits) else "PD"
    explicit = all(d.carrier is not Carrier.SOLVED for d in culprits)
    return f"explicit {kind}" if explicit else kind


def _numbers(drive: Drive, group: Group) -> tuple[float, str]:
    """The two stability numbers of an isolated joint over their bounds; the worse one as text.

    Alone and with an effort held over one step, v⁺ = v − h (D + kv) v / (I + h D) and q⁺ = q + h v⁺
    are stable iff kv·h < 2 I' and kp·h² + 2·kv·h < 4 I', with I' = I + h·D/2.
    """
    plant: LinearPlant = group.plant
    row = drive.row[group.dofs]
    inertia = 1.0 / float(row @ np.linalg.solve(plant.mass, row))
    scale = float(row @ row) or 1.0
    inertia += plant.step / 2.0 * float(row @ plant.damping @ row) / scale**2
    tick = drive.every * plant.step
    damping = drive.kv * tick / inertia
    stiffness = drive.kp * tick * plant.step / inertia + 2.0 * damping
    dt = "dt" if drive.every == 1 else f"tick ({drive.every} steps)"
    square = "dt²" if drive.every == 1 else "tick·dt"
    return max(
        (damping / 2.0, f"kv·{dt}/I = {damping:.2g}, bound 2"),
        (stiffness / 4.0, f"kp·{square}/I + 2·kv·{dt}/I = {stiffness:.2g}, bound 4"),
    )


def _by_actor(drives: Sequence[Drive]) -> Iterator[tuple[str, list[str]]]:
    for actor in dict.fromkeys(d.actor for d in drives):
        yield actor, [d.actuator for d in drives if d.actor == actor]
