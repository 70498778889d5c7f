"""Pre-flight: does feedback shake the robot apart, and what would not?"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mjrig.closed_loop import Carrier, Plant, growing_joints, is_stable, largest
from mjrig.controller import ArticulationController
from mjrig.feedback_loops import Drive, Group, groups
from mjrig.findings import Finding, either, error, warning
from mjrig.world import World

#: Gains that may not grow by more than this factor are called close to the bound.
ROOM = 2.0
#: How far down a better timestep or gain is looked for.
FAR = 1e-4


def about_stability(world: World) -> Iterator[Finding]:
    """PD and PID loops that let small motions grow, or would with twice the gains."""
    for group in groups(world):
        case = Case(group)
        if not case.holds():
            yield from case.unstable()
        elif not case.holds(gains=ROOM):
            yield from case.close()


@dataclass(frozen=True)
class Case:
    """One group of joints under judgement: what if its numbers were others?"""

    group: Group

    def holds(
        self,
        *,
        gains: float = 1.0,
        step: float = 1.0,
        kp: float = 1.0,
        kv: float = 1.0,
        only: Sequence[Drive] | None = None,
    ) -> bool:
        """Whether it is stable with the timestep, all gains, or those of some drives scaled."""
        plant = replace(self.group.plant, step=self.group.plant.step * step)
        chosen = np.array([only is None or d in only for d in self.group.drives])
        loops = self.group.loops(
            np.where(chosen, gains * kp, 1.0), np.where(chosen, gains * kv, 1.0)
        )
        return is_stable(plant, loops)

    def culprits(self, gains: float = 1.0) -> list[Drive]:
        """The drives on the joints whose motion grows with so much of the gains."""
        grows = growing_joints(self.group.plant, self.group.loops(gains, gains))
        return [d for d in self.group.drives if d.row[self.group.dofs][grows].any()]

    # Findings -----------------------------------------------------------------------------------

    def unstable(self) -> Iterator[Finding]:
        """Small motions grow."""
        culprits = self.culprits()
        text = f"{_law(culprits)} is unstable: {self._why(culprits)}"
        fix = either(self._remedies(culprits))
        for actor, names in _by_actor(culprits):
            yield error("unstable-pd", actor, names, text, fix)

    def close(self) -> Iterator[Finding]:
        """Small motions would grow with somewhat higher gains."""
        culprits = self.culprits(ROOM)
        numbers = max((_numbers(d, self.group) for d in culprits), default=(0.0, ""))[1]
        room = largest(lambda f: self.holds(gains=f), 1.0, ROOM)
        text = f"{_law(culprits)} is close to its stability bound: {numbers}"
        fix = f"gains may grow by {room:.2g} at most, or {self._longest_step(up=True)}"
        for actor, names in _by_actor(culprits):
            yield warning("close-to-unstable", actor, names, text, fix)

    def _why(self, culprits: Sequence[Drive]) -> str:
        share, numbers = max(_numbers(d, self.group) for d in culprits)
        if share >= 1.0:
            return numbers
        if any(d.every > 1 for d in culprits) and self._from_above(culprits):
            tick = max(d.every for d in culprits) * self.group.plant.step
            return f"too little damping for an effort held over {tick:g} s; {numbers}"
        if any(d.ki for d in culprits):
            return f"the integral gain is too high; {numbers}"
        return f"the joints drive each other, each alone would be stable; {numbers}"

    # Remedies, each of them tried ----------------------------------------------------------------

    def _remedies(self, culprits: Sequence[Drive]) -> list[str]:
        ways = [self._longest_step(), *self._shorter_ticks(culprits), *self._gains(culprits)]
        return [w for w in (*ways, *self._implicitly()) if w]

    def _longest_step(self, up: bool = False) -> str:
        if not up and not self.holds(step=FAR):
            return ""
        low, high = (1.0, 4.0 * ROOM) if up else (FAR, 1.0)
        share = largest(lambda f: self.holds(step=f), low, high)
        return f"timestep: {rounded_down(share * self.group.plant.step):g} at most"

    def _shorter_ticks(self, culprits: Sequence[Drive]) -> Iterator[str]:
        longest = max(d.every for d in culprits)
        for every in range(longest - 1, 0, -1):
            if is_stable(self.group.plant, self.group.loops(every=every)):
                yield f"decimation: {every} at most"
                return

    def _gains(self, culprits: Sequence[Drive]) -> Iterator[str]:
        def on_kv(f: float) -> bool:
            return self.holds(kv=f, only=culprits)

        def on_kp(f: float) -> bool:
            return self.holds(kp=f, only=culprits)

        def on_both(f: float) -> bool:
            return self.holds(kp=f, kv=f, only=culprits)

        kvs, kps = [d.kv for d in culprits], [d.kp for d in culprits]
        found = [
            *_bound("kv", kvs, on_kv),
            *_bound("kp", kps, on_kp),
        ]
        if not found and on_both(FAR):
            found = [f"kp and kv times {rounded_down(largest(on_both, FAR, 1.0)):g}"]
        yield from found

    def _from_above(self, culprits: Sequence[Drive]) -> bool:
        """Whether more damping would do."""
        return any(self.holds(kv=f, only=culprits) for f in _UPWARDS)

    def _implicitly(self) -> Iterator[str]:
        group = self.group
        controllers = {id(c): c for d in group.drives if (c := d.controller) is not None}.values()
        ahead = replace(group.plant, integrator="implicitfast")
        inside = group.loops(carrier=Carrier.ENGINE)
        if all(map(_lowers, controllers)) and is_stable(ahead, inside):
            said = "{integrator: implicitfast, actuation: implicit}"
            yield f"sim: {said if controllers else '{integrator: implicitfast}'}"
        can_solve = controllers and all(hasattr(c, "effort") for c in controllers)
        if can_solve and is_stable(group.plant, group.loops(carrier=Carrier.SOLVED)):
            yield "effort: implicit"


_UPWARDS = tuple(2.0**n for n in range(1, 11))


def _lowers(controller: ArticulationController) -> bool:
    return controller.supports()["native"].available


def _bound(name: str, values: Sequence[float], holds: Callable[[float], bool]) -> Iterator[str]:
    """The gain at which it becomes stable, if one of its own makes it so."""
    if holds(FAR):
        share, word = largest(holds, FAR, 1.0), "at most"
    else:
        enough = [f for f in _UPWARDS if holds(f)]
        if not enough or name == "kp":
            return
        share = enough[0] / largest(lambda f: holds(enough[0] / f), 1.0, enough[0])
        word = "at least"
    value, said = (values[0], f"{name}:") if len(set(values)) == 1 else (1.0, f"{name} times")
    value *= share
    yield f"{said} {rounded_down(value) if word == 'at most' else rounded_up(value):g} {word}"


def rounded_down(value: float) -> float:
    """To two digits, never up: what was stable stays so."""
    if value <= 0.0 or not math.isfinite(value):
        return value
    digit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.floor(value / digit * (1 + 1e-12)) * digit:.2g}")


def rounded_up(value: float) -> float:
    """To two digits, never down."""
    digit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / digit * (1 - 1e-12)) * digit:.3g}")


def _law(culprits: Sequence[Drive]) -> str:
    if all(d.controller is None for d in culprits):
        return "the actuator's own feedback"
    kind = "PID" if any(d.ki for d in culprits) else "PD"
    explicit = all(d.carrier is not Carrier.SOLVED for d in culprits)
    return f"explicit {kind}" if explicit else kind


def _numbers(drive: Drive, group: Group) -> tuple[float, str]:
    """The two numbers of a joint alone, as a share of their bounds; the worse one as text.

    Alone and with an effort held over one step, v⁺ = v − h (D + kv) v / (I + h D) and q⁺ = q + h v⁺
    are stable iff kv·h < 2 I' and kp·h² + 2·kv·h < 4 I', with I' = I + h·D/2.
    """
    plant: Plant = group.plant
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
