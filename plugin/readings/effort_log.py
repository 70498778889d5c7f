"""Effort logs: how the efforts of a controller get into a recording.

A law that runs here leaves its raw effort in a buffer, which is copied before every step. A law
that MuJoCo runs leaves nothing behind: its efforts are computed later, many rows at once, from
the state and the commands that were recorded anyway.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray

Columns = npt.NDArray[np.intp]


@dataclass(frozen=True)
class StepRows:
    """Consecutive steps with unchanged gains, one row each.

    `qpos`, `qvel` before the step, `ctrl` in it, `act` after it. Only the rows from `first` on are
    wanted; the others are its history.
    """

    qpos: FloatArray
    qvel: FloatArray
    ctrl: FloatArray
    act: FloatArray
    first: int


class EffortLog:
    """The efforts of one controller over a stretch with unchanged gains, joint units.

    `columns` are its actuators among the robot's.
    """

    #: Copied before every step; None: nothing is.
    live: npt.NDArray[Any] | None = None
    #: Whether `look` is to be called after every step.
    looks: bool = False

    def __init__(self, columns: Columns) -> None:
        self.columns = columns

    def look(self, noted: FloatArray) -> None:
        """After a step: note raw effort and effort, (2, n)."""

    def efforts(
        self, rows: StepRows, noted: FloatArray, by_ctrl: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Raw effort and effort, (rows, n) each, from what was noted, (rows, 2, n), or recorded.

        `by_ctrl` is the effort from ctrl. Runs in another thread: it uses nothing that may
        change while a simulation runs.
        """
        raise NotImplementedError


class LiveEfforts(EffortLog):
    """A law that runs here: `scale` times its buffer is the raw effort."""

    def __init__(self, columns: Columns, live: npt.NDArray[Any], scale: FloatArray) -> None:
        super().__init__(columns)
        self.live, self._scale = live, scale

    def efforts(
        self, rows: StepRows, noted: FloatArray, by_ctrl: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        return self._scale * noted[:, 0], by_ctrl


class Telling(Protocol):
    """A controller that reports the efforts of the last step."""

    @property
    def raw_effort(self) -> FloatArray | None: ...
    @property
    def native_effort(self) -> FloatArray | None: ...


class SeenEfforts(EffortLog):
    """Efforts read from the controller after every step: slow, but works for any."""

    looks = True

    def __init__(self, controller: Telling, columns: Columns) -> None:
        super().__init__(columns)
        self._controller = controller
        self._tells_raw = self._tells_effort = False

    def look(self, noted: FloatArray) -> None:
        raw, effort = self._controller.raw_effort, self._controller.native_effort
        if raw is not None:
            self._tells_raw = True
            noted[0] = raw
        if effort is not None:
            self._tells_effort = True
            noted[1] = effort

    def efforts(
        self, rows: StepRows, noted: FloatArray, by_ctrl: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        effort = noted[:, 1] if self._tells_effort else by_ctrl
        return (noted[:, 0] if self._tells_raw else effort), effort
