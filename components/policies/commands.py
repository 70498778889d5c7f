"""Commands of a policy: fixed values, a schedule, or the default."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray, frozen
from mjrig.attributes import CheckedAttributes
from mjrig.components.policies.policy_parts import CommandInput
from mjrig.control.policy import CommandSpace
from mjrig.errors import PropertyError
from mjrig.names import how_many

#: An entry may start this much early [s]: times are sums of rounded steps.
TOLERANCE = 1e-6


class Commands(CheckedAttributes):
    """The command at a time: a fixed one, else the schedule's, else the default.

    Args:
        said: `command` of the policy file; None: it takes no command.
        who: label for error messages.
    """

    size: Final[int]
    space: Final[CommandSpace]

    def __init__(self, said: CommandInput | None, who: str) -> None:
        said = said if said is not None else CommandInput()
        self.size, self._who = said.size, who
        self._names = said.names
        self._default = said.default if said.default.size else frozen(np.zeros(self.size))
        self._schedule = said.schedule
        self._fixed: FloatArray | None = None
        self.space = CommandSpace(tuple(self._names), self._default, said.ranges)

    def fix(self, values: FloatArray) -> None:
        """Fix these values, overriding the schedule; none: the schedule again.

        Raises:
            PropertyError: another number of values, or no numbers.
        """
        if values.size:
            self._check(values)
            if not np.isfinite(values).all():
                raise PropertyError(
                    f"{self._who}.command: must be numbers, got {values.tolist()}", ("command",)
                )
        self._fixed = values if values.size else None

    def follow(self, schedule: Sequence[tuple[float, Sequence[float]]]) -> None:
        """Take the command from a schedule of (time [s], values); an empty one: the default.

        Raises:
            PropertyError: another number of values, or times that do not ascend.
        """
        rows: list[list[float]] = []
        for time, values in schedule:
            self._check(np.asarray(values, dtype=np.float64))
            rows.append([float(time), *map(float, values)])
        table = np.array(rows).reshape(-1, self.size + 1)
        if not np.isfinite(table).all() or np.any(np.diff(table[:, 0]) <= 0.0):
            raise PropertyError(f"{self._who}: a schedule must be finite and its times ascend")
        self._schedule, self._fixed = frozen(table), None

    def at(self, time: float) -> FloatArray:
        """The command at a time since the policy began [s]."""
        if self._fixed is not None:
            return self._fixed
        if self._schedule.size:
            begun = np.searchsorted(self._schedule[:, 0], time + TOLERANCE, side="right")
            if begun:
                row: FloatArray = self._schedule[begun - 1, 1:]
                return row
        return self._default

    def _check(self, values: npt.NDArray[np.float64]) -> None:
        if values.shape != (self.size,):
            names = f" ({', '.join(self._names)})" if self._names else ""
            raise PropertyError(
                f"{self._who}.command: must have {how_many(self.size, 'value')}{names}, "
                f"got {values.size}",
                ("command",),
            )
