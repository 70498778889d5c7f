"""BatchLoop: the control loop of a policy in all worlds of a batch."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray, read_only
from mjrig.components.policies.commands import Commands
from mjrig.components.policies.loop_parts import LoopParts
from mjrig.components.policies.network_batch import for_batch
from mjrig.components.policies.network_loading import check_sizes, load_network
from mjrig.components.policies.policy_file import PolicyFile
from mjrig.components.policies.policy_parts import given
from mjrig.control.articulation import Articulation
from mjrig.control.policy import (
    BatchOfWorlds,
    BatchPolicy,
    Counts,
    PolicyDisturbance,
    Worlds,
    chosen_worlds,
)
from mjrig.errors import PropertyError


class BatchLoop(LoopParts, BatchPolicy):
    """A policy file on a robot in every world of a batch.

    Worlds tick by their own time. A tick measures all worlds at once, but advances the memory
    (histories, noise, recurrent state, targets) only of those whose time it is.
    """

    commands: Final[list[Commands]]
    together: Final[bool]  # type: ignore[misc]
    reason: Final[str]  # type: ignore[misc]

    def __init__(
        self, said: PolicyFile, robot: Articulation, who: str, batch: BatchOfWorlds
    ) -> None:
        LoopParts.__init__(self, said, robot, who, batch.data, batch.setpoints, batch.count)
        count = self._count = batch.count
        self._time = batch.data.time
        self._override_gains = batch.override_gains
        self.commands = [Commands(said.command, who) for _ in range(count)]
        network = load_network(said)
        network.feed(self._observer.inputs)
        check_sizes(network, self._observer.parts, len(said.joints))
        shape = count, self.observation.shape[1]
        self._network = for_batch(network, said, self._observer.inputs, shape, exact=batch.exact)
        self.together, self.reason = self._network.together, self._network.reason
        self._ticks: Counts = np.zeros(count, np.int64)
        self._bad: Counts = np.zeros(count, np.int64)
        self._disturbances: list[PolicyDisturbance | None] = [None] * count
        self._disturbed = False
        self._late: list[deque[tuple[int, FloatArray]]] = [deque() for _ in range(count)]
        self._some_late = False
        gains = {name: given(said.start, name) for name in ("kp", "kv")}
        self._start_gains = {
            name: {b.actuator_id: float(v) for b, v in zip(self.bindings, values, strict=True)}
            for name, values in gains.items()
            if values is not None and self.start_steps
        }
        self._standing: npt.NDArray[np.bool_] = np.zeros(count, np.bool_)

    # What users set -----------------------------------------------------------------------------

    def _chosen(self, worlds: Worlds) -> Iterator[tuple[int, int]]:
        """Place in the choice, and number of each world."""
        return enumerate(chosen_worlds(worlds, self._count).tolist())

    def set_command(self, values: npt.ArrayLike, *, worlds: Worlds = None) -> None:
        chosen = list(self._chosen(worlds))
        try:
            array = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise PropertyError(f"{self._who}.command: must be numbers, got {values!r}") from None
        if array.ndim > 1 and len(array) != len(chosen):
            raise PropertyError(
                f"{self._who}.command: must have a row for each of {len(chosen)} worlds, "
                f"got {len(array)}"
            )
        for place, world in chosen:
            self.commands[world].fix((array[place] if array.ndim > 1 else array).copy())

    def follow(
        self, schedule: Sequence[tuple[float, Sequence[float]]], *, worlds: Worlds = None
    ) -> None:
        for _, world in self._chosen(worlds):
            self.commands[world].follow(schedule)

    def set_seed(self, seed: npt.ArrayLike, *, worlds: Worlds = None) -> None:
        chosen = list(self._chosen(worlds))
        try:
            seeds = np.broadcast_to(seed, len(chosen))
        except ValueError:
            raise PropertyError(
                f"{self._who}.seed: must be one number, or one for each of {len(chosen)} worlds"
            ) from None
        if seeds.dtype.kind not in "iu" or (seeds < 0).any():
            raise PropertyError(f"{self._who}.seed: must be whole numbers >= 0, got {seed!r}")
        for place, world in chosen:
            self._observer.seeds[world] = int(seeds[place])

    def disturb(self, disturbance: PolicyDisturbance | None, *, worlds: Worlds = None) -> None:
        for _, world in self._chosen(worlds):
            self._disturbances[world] = disturbance
        self._disturbed = any(d is not None for d in self._disturbances)

    # What users see -----------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._who}; {self._count} worlds)"

    @property
    def joints(self) -> tuple[str, ...]:
        return tuple(b.joint or b.actuator for b in self.bindings)

    @property
    def tick_steps(self) -> int:
        return self._every

    @property
    def stand_steps(self) -> int:
        return self.start_steps

    @property
    def ticks(self) -> Counts:
        return self._ticks

    @property
    def bad_actions(self) -> Counts:
        return self._bad

    @property
    def command_now(self) -> FloatArray:
        times = np.maximum(self._steps(), 0) * self.timestep
        pairs = zip(self.commands, times.tolist(), strict=True)
        return read_only(np.array([c.at(t) for c, t in pairs]))

    # Time ---------------------------------------------------------------------------------------

    def _steps(self) -> Counts:
        """Physics steps of each world since the policy began; negative: in the start phase."""
        steps: Counts = np.rint(self._time / self.timestep).astype(np.int64)
        return steps - self.start_steps

    def due(self) -> list[int]:
        return self._due(self._steps())

    def _due(self, steps: Counts) -> list[int]:
        ticks = (steps + self._shift) % self._every == 0
        found: list[int] = np.flatnonzero(ticks & (steps >= self._first)).tolist()
        return found

    def quiet_steps(self) -> int:
        steps = self._steps()
        left = self._every - (steps + self._shift) % self._every
        left[steps < 0] = -steps[steps < 0]
        quiet = int(left.min())
        if self._some_late:
            waiting = [(late[0][0] - int(steps[w])) for w, late in enumerate(self._late) if late]
            quiet = min([quiet, *waiting])
        return max(quiet, 1) - 1

    def reset(self, worlds: Sequence[int]) -> None:
        self._ticks[worlds], self._bad[worlds] = 0, 0
        for world in worlds:
            self._late[world].clear()
        self.action[worlds] = 0.0
        with self.view.only(worlds):
            self._observer.reset()
            self.observation[worlds] = 0.0
            self._network.reset(worlds)
            self.targets.find_rows()
            self.targets.restart()
        self._stand()

    def _stand(self) -> None:
        """Give the worlds of the start phase its gains, and the others their own."""
        if not self._start_gains:
            return
        standing = self._steps() < 0
        if not np.array_equal(standing, self._standing):
            self._standing[:] = standing
            for name, values in self._start_gains.items():
                self._override_gains(name, values, standing)

    def step(self) -> None:
        steps = self._steps()
        if self._standing.any():
            self._stand()
        due = self._due(steps)
        if due:
            with self.view.only(due):
                self._tick(steps, due)
        if self._some_late:
            self._command_late(steps)

    def _tick(self, steps: Counts, due: list[int]) -> None:
        view, motion = self.view, self.view.motion
        view.steps[:] = steps
        self._measure()
        for world in due:
            view.command[world] = self.commands[world].at(float(steps[world] * self.timestep))
            if motion is not None:
                motion.take(self._frame(world), world)
        if self._disturbed:
            self._disturb(due)
        # Overflow of float32 is found below; worlds that do not tick hold meaningless values.
        with np.errstate(over="ignore", invalid="ignore"):
            seen = self._observer.look()
            self._network.run(seen, self._ticks, due, self.action)
        self._ticks[due] += 1
        good: npt.NDArray[np.bool_] = np.all(np.isfinite(self.action[due]), axis=1)
        if not good.all():
            self._bad[due] += ~good
            due = [world for world, fine in zip(due, good, strict=True) if fine]
        if due:
            with view.only(due):
                self._command(due, steps)

    def _frame(self, world: int) -> Any:
        tick, clip = int(self._ticks[world]), self._clip
        return self._network.reference(tick, world) if clip is None else clip.frame(tick)

    def _disturb(self, due: list[int]) -> None:
        for world in due:
            found = self._disturbances[world]
            if found is not None:
                row = found.offsets[int(self._ticks[world]) % len(found.offsets)]
                self.view.position[world, : self.view.moved] += row

    def _command(self, due: list[int], steps: Counts) -> None:
        targets = self.targets.act(self.action)
        late = [w for w in due if self._latency(w)] if self._disturbed else []
        if not late:
            self.targets.command(targets)
            return
        for world in late:
            when = int(steps[world]) + self._latency(world)
            self._late[world].append((when, targets[world].copy()))
        self._some_late = True
        at_once = [world for world in due if world not in late]
        for world in at_once:
            self.targets.command(targets[world], world)

    def _latency(self, world: int) -> int:
        found = self._disturbances[world]
        return found.latency if found is not None else 0

    def _command_late(self, steps: Counts) -> None:
        for world, late in enumerate(self._late):
            while late and late[0][0] <= steps[world]:
                self.targets.command(late.popleft()[1], world)
        self._some_late = any(self._late)
