"""Networks of a batch: all worlds in one call where that changes no bit, else one by one."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.components.laws.onnx_file import OnnxFile
from mjrig.components.laws.onnx_worlds import for_worlds
from mjrig.components.policies.network import OnnxNetwork, PolicyNetwork
from mjrig.components.policies.policy_file import PolicyFile
from mjrig.components.policies.terms.view import Float32, Indices
from mjrig.errors import MjrigError, PolicyError

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

    def __init__(self, path: Path, said: PolicyFile, count: int) -> None:
        super().__init__(path, said)
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
    said: PolicyFile,
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
    if said.motion is not None and said.motion.from_network:
        return single(f"{network.path.name}: the motion is inside the network")
    try:
        many = _OnnxOfWorlds(network.path, said, count)
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
