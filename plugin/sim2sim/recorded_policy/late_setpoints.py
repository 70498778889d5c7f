"""Setpoints that come some physics steps after, or before, the tick whose actions they follow."""

from collections.abc import Callable

from mjrig.names import how_many
from mjrig.sim2sim.compare.finding import ReplayFinding

#: Ticks by which setpoints may be late or early.
TICKS = 5


def late_setpoints(
    tick_steps: int, joints: int, lines: Callable[[int], int]
) -> ReplayFinding | None:
    """The finding; None: targets follow actions at no such time.

    Args:
        tick_steps: physics steps from tick to tick.
        joints: that the policy moves.
        lines: how many joints' targets are straight lines over the actions, so many physics steps
            after each tick.
    """
    enough = 0.5 * joints
    for steps in range(1, TICKS * tick_steps + 1):
        if lines(steps) > enough:
            return _finding(how_many(steps, "physics step"), "after", "later")
    for steps in range(1, TICKS * tick_steps + 1):
        if lines(-steps) > enough:
            # Held until the next tick's: when they began is not seen here.
            return _finding(f"at least {how_many(steps, 'physics step')}", "before", "earlier")
    return None


def _finding(many: str, side: str, way: str) -> ReplayFinding:
    return ReplayFinding(
        "tick phase",
        "",
        f"{many} {way}",
        "at the tick",
        f"recorded setpoints follow the recorded actions on straight lines, {many} {side} the tick "
        "of those actions",
        1.0,
    )
