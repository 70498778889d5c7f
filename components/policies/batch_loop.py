"""BatchLoop: the control loop of a policy in all worlds of a batch.

The network runs for all worlds in one call where that changes no bit, else one by one.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mjrig.components.laws.onnx_file import OnnxFile, for_worlds
from mjrig.components.policies.network import OnnxNetwork, PolicyNetwork
from mjrig.components.policies.policy_file import PolicyFile, given
from mjrig.components.policies.policy_loop import Commands, LoopParts, check_sizes, load_network
from mjrig.components.policies.terms.view import Float32, Indices
from mjrig.core.arrays import FloatArray, read_only
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.policy import (
    BatchOfWorlds,
    BatchPolicy,
    Counts,
    PolicyDisturbance,
    Worlds,
    chosen_worlds,
)
from mjrig.core.errors import MjrigError, PolicyError, PropertyError

# Network batch ------------------------------------------------------------------------------------

#: Observations on which a call for all worlds is compared with calls for one.
_TRIED = 1024
#: Their sizes: networks are linear for small ones and saturate for large ones.
_SIZES = (0.1, 1.0, 10.0)
#: Largest difference of a call for all worlds, relative to the largest output, that rounding makes.
_ROUNDING = 1e-4


class BatchNetwork:
    """The network of a policy for all worlds of a batch.

    Attributes:
        together: whether one call serves all worlds.
        reason: why not; or by how much the results differ from those of one world.
    """

    together = False

    def __init__(self, reason: str = "") -> None:
        self.reason = reason

    def run(
        self, observations: Float32, ticks: Indices, worlds: Sequence[int], actions: Float32
    ) -> None:
        """Write the actions of some worlds; their recurrent state advances where it is finite."""
        raise NotImplementedError

    def reference(self, tick: int, world: int) -> Mapping[str, npt.NDArray[Any]]:
        """The frame of the motion inside the network."""
        raise NotImplementedError

    def reset(self, worlds: Sequence[int]) -> None:
        """Clear the recurrent state of some worlds."""
        raise NotImplementedError


class OneByOne(BatchNetwork):
    """A call for each world: the bits of a single world, whatever the network is."""

    def __init__(self, network: PolicyNetwork, count: int, reason: str) -> None:
        super().__init__(reason)
        network.reset()
        self._network, self._fresh = network, network.memory()
        self._memories = [self._fresh] * count

    def run(
        self, observations: Float32, ticks: Indices, worlds: Sequence[int], actions: Float32
    ) -> None:
        network = self._network
        for world in worlds:
            if self._fresh:
                network.restore(self._memories[world])
            actions[world] = network.run(observations[world], int(ticks[world]))
            if self._fresh:
                self._memories[world] = network.memory()

    def reference(self, tick: int, world: int) -> Mapping[str, npt.NDArray[Any]]:
        if self._fresh:
            self._network.restore(self._memories[world])
        return self._network.reference(tick)

    def reset(self, worlds: Sequence[int]) -> None:
        for world in worlds:
            self._memories[world] = self._fresh


class _OnnxOfWorlds(OnnxNetwork):
    """An ONNX network that takes the observations of all worlds: (worlds, values)."""

    def __init__(self, path: Path, policy: PolicyFile, count: int) -> None:
        super().__init__(path, policy)
        self._count = count
        carried = {**self._carried, **{v: k for k, v in self._carried.items()}}
        names = [*self._file.inputs, *self._file.outputs]
        deep = any(len(self._file.shape(name)) == 3 for name in self._carried)
        self._axes = {}
        for name in names:
            axis = _axis_of_worlds(self._file.shape(name), deep or name in carried)
            if axis is not None:
                self._axes[name] = axis
        lacking = [name for name in self._file.inputs if name not in self._axes]
        if lacking:
            raise self.error(f"the input {lacking[0]!r} has no axis for several worlds")
        self._file = OnnxFile(path, for_worlds(path.read_bytes(), self._axes))
        self._inputs = {i.name: i for i in self._file.session.get_inputs()}
        self._state = {name: self._zeros(name) for name in self._carried}
        self._tick = self._zeros(self._time) if self._time else None

    def _shape_of(self, name: str) -> list[int]:
        declared = [size if isinstance(size, int) else 1 for size in self._file.shape(name)]
        declared[self._axes[name]] = self._count
        return declared

    def _zeros(self, name: str) -> npt.NDArray[Any]:
        if not hasattr(self, "_axes"):
            return super()._zeros(name)
        return np.zeros(self._shape_of(name), dtype=super()._zeros(name).dtype)

    def _shaped(self, name: str, values: Float32) -> npt.NDArray[Any]:
        sizes, axis = self._shape_of(name)[:-1], self._axes[name]
        kept = [size for i, size in enumerate(sizes) if i != axis]
        kind = super()._zeros(name).dtype
        rows = np.moveaxis(values.reshape(self._count, *kept, -1), 0, axis)
        return np.ascontiguousarray(rows).astype(kind, copy=False)

    def answer(self, observations: Float32, ticks: Indices, worlds: Sequence[int]) -> Float32:
        """The actions of all worlds; the recurrent state of some advances where it is finite."""
        if self._tick is not None:
            own = [-1 if i == self._axes[self._time] else 1 for i in range(self._tick.ndim)]
            ticks = ticks.reshape(own)
        found = self._call(self._names, self._feeds(observations, ticks))
        actions = np.asarray(found[0], dtype=np.float32)
        actions = np.moveaxis(actions, self._axes[self._output], 0).reshape(self._count, -1)
        if self._carried:
            finite: npt.NDArray[np.bool_] = np.all(np.isfinite(actions), axis=1)
            self._carry(found[1:], [world for world in worlds if finite[world]])
        return actions

    def _carry(self, new: Sequence[npt.NDArray[Any]], worlds: Sequence[int]) -> None:
        for name, values in zip(self._carried, new, strict=True):
            own: tuple[Any, ...] = (*[slice(None)] * self._axes[name], list(worlds))
            self._state[name][own] = values[own]

    def clear(self, worlds: Sequence[int]) -> None:
        """Clear the recurrent state of some worlds."""
        self._carry([self._zeros(name) for name in self._carried], worlds)


class Together(BatchNetwork):
    """One call for all worlds."""

    together = True

    def __init__(self, network: _OnnxOfWorlds, reason: str) -> None:
        super().__init__(reason)
        self._network = network

    def run(
        self, observations: Float32, ticks: Indices, worlds: Sequence[int], actions: Float32
    ) -> None:
        found = self._network.answer(observations, ticks, worlds)
        if len(worlds) == len(actions):
            actions[:] = found
        else:
            actions[list(worlds)] = found[list(worlds)]

    def reset(self, worlds: Sequence[int]) -> None:
        self._network.clear(worlds)


def for_batch(
    network: PolicyNetwork,
    policy: PolicyFile,
    places: Mapping[str, Indices],
    shape: tuple[int, int],
    *,
    exact: bool,
) -> BatchNetwork:
    """The network of a policy file for the worlds of a batch.

    Args:
        network: the same for one world.
        places: inputs that terms name → places in the observation.
        shape: worlds, and values of an observation.
        exact: all worlds in one call only if the bits are those of one world.
    """
    count = shape[0]

    def single(reason: str) -> BatchNetwork:
        return OneByOne(network, count, reason)

    if not isinstance(network, OnnxNetwork):
        return single(f"{network.path.name}: only an ONNX file takes several worlds in a call")
    if policy.motion is not None and policy.motion.from_network:
        return single(f"{network.path.name}: the motion is inside the network")
    try:
        many = _OnnxOfWorlds(network.path, policy, count)
        many.feed(places)
        worst = _difference(many, network, shape)
    except (MjrigError, ValueError, IndexError) as error:
        return single(f"{network.path.name}: made for one world: {error}")
    finally:
        network.reset()
    many.clear(range(count))
    if worst == 0.0:
        return Together(many, "")
    if worst > _ROUNDING:
        return single(f"{network.path.name}: made for one world: another result with {count}")
    said_so = f"{network.path.name}: {count} worlds in a call differ from one by {worst:.1g}"
    return single(said_so) if exact else Together(many, said_so)


def _difference(many: _OnnxOfWorlds, one: OnnxNetwork, shape: tuple[int, int]) -> float:
    """Largest difference between both, relative to the largest output; 0: not a bit.

    Raises:
        PolicyError: many worlds cannot be run.
    """
    count = shape[0]
    random, worst = np.random.default_rng(0), 0.0
    memories = [one.memory()] * count
    for tick in range(max(len(_SIZES), -(-_TRIED // count))):
        rows = random.normal(size=shape).astype(np.float32) * _SIZES[tick % len(_SIZES)]
        rows = np.ascontiguousarray(rows, np.float32)
        found = many.answer(rows, np.full(count, tick), range(count))
        alone = np.zeros_like(found)
        for world in range(count):
            one.restore(memories[world])
            action = one.run(rows[world], tick)
            memories[world] = one.memory()
            if action.size != found.shape[1]:
                raise PolicyError("its output does not grow with the worlds")
            alone[world] = action
        if not np.array_equal(found, alone, equal_nan=True):
            apart = np.abs(found.astype(np.float64) - alone)
            worst = max(worst, float(np.nanmax(apart) / max(1e-30, float(np.nanmax(abs(alone))))))
    return worst


def _axis_of_worlds(shape: Sequence[Any], deep: bool) -> int | None:
    """The axis of a tensor that counts worlds: an open one, else one of size 1; never the last.

    With `deep`, tensors of three axes are those of a recurrent layer: steps or layers come first.
    """
    lead = list(shape[:-1])
    for i, size in enumerate(lead):
        if not isinstance(size, int):
            return i
    if deep and len(lead) == 2 and lead[1] == 1:
        return 1
    return lead.index(1) if 1 in lead else None


# Batch loop ---------------------------------------------------------------------------------------


class BatchLoop(LoopParts, BatchPolicy):
    """A policy file on a robot in every world of a batch.

    Worlds tick by their own time. A tick measures all worlds at once, but advances the memory
    (histories, noise, recurrent state, targets) only of those whose time it is.
    """

    commands: Final[list[Commands]]
    together: Final[bool]  # type: ignore[misc]
    reason: Final[str]  # type: ignore[misc]

    def __init__(
        self, policy: PolicyFile, robot: Articulation, who: str, batch: BatchOfWorlds
    ) -> None:
        LoopParts.__init__(self, policy, robot, who, batch.data, batch.setpoints, batch.count)
        count = self._count = batch.count
        self._time = batch.data.time
        self._override_gains = batch.override_gains
        self.commands = [Commands(policy.command, who) for _ in range(count)]
        network = load_network(policy)
        network.feed(self._observer.inputs)
        check_sizes(network, self._observer.parts, len(policy.joints))
        shape = count, self.observation.shape[1]
        self._network = for_batch(network, policy, self._observer.inputs, shape, exact=batch.exact)
        self.together, self.reason = self._network.together, self._network.reason
        self._ticks: Counts = np.zeros(count, np.int64)
        self._bad: Counts = np.zeros(count, np.int64)
        self._disturbances: list[PolicyDisturbance | None] = [None] * count
        self._disturbed = False
        self._late: list[deque[tuple[int, FloatArray]]] = [deque() for _ in range(count)]
        self._some_late = False
        gains = {name: given(policy.start, name) for name in ("kp", "kv")}
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
