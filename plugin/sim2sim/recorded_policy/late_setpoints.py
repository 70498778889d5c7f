"""Setpoints that come some physics steps after the tick whose actions they follow."""

from collections.abc import Callable

from mjrig.names import how_many
from mjrig.sim2sim.compare.finding import ReplayFinding

#: Ticks by which setpoints may be late.
TICKS = 5


def late_setpoints(
    tick_steps: int, joints: int, lines: Callable[[int], int]
) -> ReplayFinding | None:
    """The finding; None: targets follow actions at no such time.

    Setpoints before their actions are not sought: then it is as likely that actions are late.

    Args:
        tick_steps: physics steps from tick to tick.
        joints: that the policy moves.
        lines: how many joints' targets are straight lines over the actions, so many physics steps
            after each tick.
    """
    steps = next((n for n in range(1, TICKS * tick_steps + 1) if lines(n) > 0.5 * joints), None)
    if steps is None:
        return None
    many = how_many(steps, "physics step")
    return ReplayFinding(
        "tick phase",
        "",
        f"{many} later",
        "at the tick",
        f"recorded setpoints follow the recorded actions on straight lines, {many} after the tick "
        "of those actions",
        1.0,
    )
