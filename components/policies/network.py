"""Network: maps observations to actions, from an ONNX or a TorchScript file."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mjrig.components.laws.onnx_file import OnnxFile
from mjrig.components.policies.checkpoints import is_torchscript, what_else
from mjrig.components.policies.policy_file import PolicyFile
from mjrig.components.policies.terms.view import MOTION_SHAPES, Float32, Indices
from mjrig.core.errors import PolicyError, PropertyError
from mjrig.core.files.decoding import reason
from mjrig.core.names import how_many, listed, suggestion
from mjrig.core.properties.memory import DeclaredMemory

# Input shapes -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Image:
    """What a term gives that is a picture: frames of rows and columns."""

    frames: int
    rows: int
    columns: int

    def __str__(self) -> str:
        frames = f"{self.frames} frames of " if self.frames > 1 else ""
        return f"{frames}{self.rows} rows and {self.columns} columns"


@dataclass(frozen=True)
class InputShape:
    """How the values of an input become its array; `frames_last`: frames are the last axis."""

    sizes: tuple[int, ...]
    frames_last: bool = False

    def of(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The array that the network takes."""
        if not self.frames_last:
            return values.reshape(self.sizes)
        *_, rows, columns, frames = self.sizes
        turned = np.moveaxis(values.reshape(frames, rows, columns), 0, -1)
        return np.ascontiguousarray(turned).reshape(self.sizes)


def images_of(policy: PolicyFile) -> dict[str, Image]:
    """The images of a policy file by the input that each feeds alone."""
    length = 1 if policy.observation is None else policy.observation.kept.length
    found: dict[str, Image] = {}
    for term in policy.terms:
        alone = [other.input for other in policy.terms].count(term.input) == 1
        size = term.image_size()
        if size is not None and term.input and alone:
            found[term.input] = Image(term.history or length, *size)
    return found


def input_shape(declared: Sequence[Any], count: int, image: Image | None) -> InputShape | None:
    """How `count` values fill an input; None: they do not.

    Sizes that are not numbers are free: the first stands for one world, another one for whatever
    is left. An image must be given as such, or flat.

    Args:
        declared: shape in the file.
        count: number of values.
        image: what they are, if they are one.
    """
    free = [i for i, size in enumerate(declared) if not isinstance(size, int)]
    for sizes, last in _candidates(declared, count, image, free):
        fits = len(sizes) == len(declared) and prod(sizes) == count
        if fits and all(i in free or declared[i] == size for i, size in enumerate(sizes)):
            return InputShape(sizes, last)
    return None


def _candidates(
    declared: Sequence[Any], count: int, image: Image | None, free: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], bool]]:
    if image is not None:
        frames, rows, columns = image.frames, image.rows, image.columns
        yield (1, frames, rows, columns), False
        yield (frames, rows, columns), False
        yield (1, frames, 1, rows, columns), False
        yield (1, rows, columns, frames), True
        if frames == 1:
            yield (1, rows, columns), False
            yield (rows, columns), False
        yield (1, count), False
        yield (count,), False
        return
    sizes = [1 if i in free else int(size) for i, size in enumerate(declared)]
    yield tuple(sizes), False
    # One size may be inferred: the last free one, since the first is the number of worlds.
    if free and count % max(prod(sizes), 1) == 0 and prod(sizes):
        sizes[free[-1]] = count // prod(sizes)
        yield tuple(sizes), False


# Network ------------------------------------------------------------------------------------------

_DTYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}


class PolicyNetwork(DeclaredMemory):
    """A loaded network with its recurrent state.

    Attributes:
        size: size of the observation, None where the file leaves it open.
    """

    size: int | None = None

    def __init__(self, path: Path) -> None:
        self.path = path

    def error(self, problem: str) -> PolicyError:
        """A PolicyError that names the file."""
        return PolicyError(f"{self.path.name}: {problem}")

    def run(self, observation: Float32, tick: int) -> Float32:
        """The action; the recurrent state advances unless the action is not finite."""
        raise NotImplementedError

    def prepared(self, observation: Float32, action: Float32) -> Callable[[int], None]:
        """A call that writes the action of what is in `observation` at that tick.

        It may be quicker than `run`, since both arrays are the same every time.
        """

        def call(tick: int) -> None:
            action[:] = self.run(observation, tick)

        return call

    def feed(self, places: Mapping[str, Indices]) -> None:
        """Take the inputs that terms name from these places of the observation.

        Raises:
            PolicyError: there is no such input, or it has another size.
        """
        if places:
            raise self.error(
                f"takes one observation; a term names the input {next(iter(places))!r}"
            )

    def reference(self, tick: int) -> Mapping[str, npt.NDArray[Any]]:
        """The frame of the motion inside the network at a tick, without side effects."""
        raise self.error("gives no motion")

    def reset(self) -> None:
        """Clear the recurrent state."""


class OnnxNetwork(PolicyNetwork):
    """A network run by onnxruntime, its recurrent state kept outside of it.

    Raises:
        PolicyError: inputs or outputs do not match the policy file.
        MissingExtraError: onnxruntime is not installed.
    """

    _remembered: ClassVar[tuple[str, ...]] = ("_state",)

    def __init__(self, path: Path, policy: PolicyFile) -> None:
        super().__init__(path)
        try:
            self._file = OnnxFile(path)
        except PropertyError as error:
            raise PolicyError(str(error)) from error
        self._inputs = {i.name: i for i in self._file.session.get_inputs()}
        self._time = self._named(policy.time_step, "time_step", self._file.inputs)
        own = dict.fromkeys(term.input for term in policy.terms if term.input)
        self._places: Mapping[str, Indices] = {}
        self._own = [self._named(name, "input of a term", self._file.inputs) for name in own]
        self._images = images_of(policy)
        self._shapes: dict[str, InputShape] = {}
        self._carried = self._find_recurrent(policy)
        taken = (*self._carried, self._time, *self._own)
        free = [n for n in self._file.inputs if n not in taken]
        rest = (free or self._own or [""])[0]
        self._input = self._named(policy.input, "input", self._file.inputs) or rest
        self._check_inputs(free)
        rest = [n for n in self._file.outputs if n not in self._carried.values()]
        self._output = self._named(policy.output, "output", self._file.outputs) or (rest or [""])[0]
        if not self._output:
            raise self.error("has no output that could be the action")
        shape = self._file.shape(self._input)
        whole = shape and isinstance(shape[-1], int) and not self._own
        self.size = shape[-1] if whole else None
        if policy.motion is not None and policy.motion.from_network:
            self._check_motion(policy)
        self._names = [self._output, *self._carried.values()]
        self._state = {name: self._zeros(name) for name in self._carried}
        self._tick = self._zeros(self._time) if self._time else None
        #: The inputs made of an observation, which is the same array in every tick.
        self._ready: dict[str, npt.NDArray[Any]] = {}
        self._ready_for: Float32 | None = None

    def _named(self, name: str, key: str, there: list[str]) -> str:
        if name and name not in there:
            raise self.error(f"has no {name!r}, which the policy file names as {key}; "
                             f"{suggestion(name, there)}")  # fmt: skip
        return name

    def _find_recurrent(self, policy: PolicyFile) -> dict[str, str]:
        """Input → output of the previous tick: as declared, or if names and shapes are clear."""
        for source, target in policy.recurrent.items():
            self._named(source, "recurrent", self._file.inputs)
            self._named(str(target), "recurrent", self._file.outputs)
        if policy.recurrent:
            return {k: str(v) for k, v in policy.recurrent.items()}
        found: dict[str, str] = {}
        for name in self._file.inputs:
            twin = carried_output(name, self._file.outputs)
            if twin and name not in self._own and name not in (policy.input, policy.time_step):
                found[name] = twin
        return found

    def _check_inputs(self, free: list[str]) -> None:
        if not self._input:
            raise self.error("has no input that could be the observation")
        unknown = [name for name in free if name != self._input]
        if unknown:
            raise self.error(
                f"also takes {listed(unknown)}, which nothing feeds: give terms "
                f"input: {unknown[0]}, or declare recurrent: {{{unknown[0]}: …}} with one of the "
                f"outputs {listed(self._file.outputs)}, or time_step: {unknown[0]}"
            )
        for name, target in self._carried.items():
            mine, theirs = self._file.shape(name), self._file.shape(target)
            if [_size(s) for s in mine] != [_size(s) for s in theirs]:
                raise self.error(
                    f"recurrent: {name!r} has shape {mine} but {target!r} has {theirs}"
                )
        for name in self._inputs:
            if self._inputs[name].type not in _DTYPES:
                raise self.error(f"input {name!r} takes {self._inputs[name].type}, not numbers")

    def _check_motion(self, policy: PolicyFile) -> None:
        lacking = [key for key in MOTION_SHAPES if key not in self._file.outputs]
        if lacking:
            raise self.error(
                f"gives no motion: has no output {listed(lacking)}; has: "
                f"{listed(self._file.outputs)}"
            )
        bodies = policy.motion.bodies if policy.motion is not None else ()
        wanted = {"joint_pos": (-1, len(policy.joints)), "body_pos_w": (-2, len(bodies))}
        for key, (axis, size) in wanted.items():
            shape = self._file.shape(key)
            if size and len(shape) >= -axis and shape[axis] not in (size, None):
                raise self.error(f"the motion's {key} has shape {shape}, the policy file has "
                                 f"{size} {'joints' if axis == -1 else 'bodies'}")  # fmt: skip

    def _zeros(self, name: str) -> npt.NDArray[Any]:
        shape = [_size(s) for s in self._file.shape(name)]
        return np.zeros(shape, dtype=_DTYPES[self._inputs[name].type])

    def feed(self, places: Mapping[str, Indices]) -> None:
        self._places = places

    def _feeds(self, observation: Float32, tick: Any) -> dict[str, npt.NDArray[Any]]:
        if observation is not self._ready_for:
            self._ready, self._ready_for = self._made_of(observation), observation
            if any(not np.may_share_memory(a, observation) for a in self._ready.values()):
                self._ready_for = None  # copies, which have to be made again
        feeds = self._ready
        if self._state:
            feeds.update(self._state)
        if self._tick is not None:
            self._tick[...] = tick
            feeds[self._time] = self._tick
        return feeds

    def _made_of(self, observation: Float32) -> dict[str, npt.NDArray[Any]]:
        """The inputs that an observation feeds."""
        if not self._places:
            return {self._input: self._shaped(self._input, observation)}
        named = np.concatenate(list(self._places.values()))
        rest = np.delete(observation, named, axis=-1)
        feeds = {n: self._shaped(n, observation[..., at]) for n, at in self._places.items()}
        return feeds | ({self._input: self._shaped(self._input, rest)} if rest.size else {})

    def _shaped(self, name: str, values: Float32) -> npt.NDArray[Any]:
        """Values as an input takes them."""
        kind = _DTYPES[self._inputs[name].type]
        shape = self._shapes.get(name)
        if shape is None:
            image = self._images.get(name)
            shape = input_shape(self._file.shape(name), values.size, image)
            if shape is None:
                what = f"an image of {image}" if image else how_many(values.size, "value")
                raise self.error(
                    f"takes {name!r} of shape {self._file.shape(name)}, and the observation has "
                    f"{what} for it"
                )
            self._shapes[name] = shape
        return shape.of(values).astype(kind, copy=False)

    def run(self, observation: Float32, tick: int) -> Float32:
        found = self._call(self._names, self._feeds(observation, tick))
        self._action_shape = found[0].shape
        action = np.asarray(found[0], dtype=np.float32).reshape(-1)
        if self._carried and np.isfinite(action).all():
            self._state = dict(zip(self._carried, found[1:], strict=True))
        return action

    def prepared(self, observation: Float32, action: Float32) -> Callable[[int], None]:
        memory = self._state or self._tick is not None or self._places
        kinds = self._inputs[self._input].type, self._file.output_type(self._output)
        if memory or kinds != ("tensor(float)", "tensor(float)"):
            return super().prepared(observation, action)
        # Nothing but one array in and one out: onnxruntime reads and writes them in place.
        session = self._file.session
        binding = session.io_binding()
        shapes = self._shaped(self._input, observation).shape, self._action_shape
        places = observation.ctypes.data, action.ctypes.data
        binding.bind_input(self._input, "cpu", 0, np.float32, shapes[0], places[0])
        binding.bind_output(self._output, "cpu", 0, np.float32, shapes[1], places[1])
        kept = observation, action  # their memory must stay

        def call(tick: int) -> None:
            try:
                session.run_with_iobinding(binding)
            except Exception as error:  # onnxruntime has no common base class
                problem = f"cannot be run with {kept[0].size} values: {reason(error)}"
                raise self.error(problem) from error

        return call

    def reference(self, tick: int) -> Mapping[str, npt.NDArray[Any]]:
        feeds = {name: self._zeros(name) for name in self._inputs}
        if self._tick is not None:
            self._tick[...] = tick
            feeds[self._time] = self._tick
        keys = list(MOTION_SHAPES)
        return dict(zip(keys, self._call(keys, feeds), strict=True))

    def _call(self, names: list[str], feeds: dict[str, npt.NDArray[Any]]) -> list[Any]:
        try:
            found: list[Any] = self._file.session.run(names, feeds)
        except Exception as error:  # onnxruntime has no common base class
            raise self.error(f"cannot be run: {reason(error)}") from error
        return found

    def reset(self) -> None:
        self._state = {name: self._zeros(name) for name in self._carried}


class TorchNetwork(PolicyNetwork):
    """A TorchScript module; its buffers are its memory.

    Raises:
        PolicyError: PyTorch is not installed, or it is not a TorchScript file.
    """

    def __init__(self, path: Path, policy: PolicyFile) -> None:
        super().__init__(path)
        try:
            self._torch: Any = import_module("torch")
        except ImportError as error:
            raise self.error(
                "needs PyTorch, which is not installed (pip install torch); "
                "or export the network as ONNX"
            ) from error
        if policy.recurrent or policy.time_step or (policy.motion and policy.motion.from_network):
            raise self.error("recurrent, time_step and from_network need an ONNX file")
        if not is_torchscript(path):
            raise self.error(what_else(path) or "not a TorchScript file")
        try:
            with warnings.catch_warnings():  # PyTorch warns in favour of its newer format
                warnings.simplefilter("ignore", DeprecationWarning)
                self._module = self._torch.jit.load(str(path), map_location="cpu").eval()
        except Exception as error:  # a damaged archive makes PyTorch raise anything
            raise self.error(f"not a TorchScript file: {reason(error)}") from error
        self._fresh = self.memory()

    def run(self, observation: Float32, tick: int) -> Float32:
        before = self.memory()
        with self._torch.no_grad():
            try:
                found = self._module(self._torch.from_numpy(observation[None, :].copy()))
            except RuntimeError as error:
                last = str(error).strip().splitlines()[-1]
                raise self.error(f"cannot be run: {last}") from error
        action = np.asarray(found.numpy(), dtype=np.float32).reshape(-1)
        if not np.isfinite(action).all():
            self.restore(before)
        return action

    def reset(self) -> None:
        self.restore(self._fresh)

    def memory(self) -> Any:
        return {name: values.numpy().copy() for name, values in self._module.named_buffers()}

    def restore(self, memory: Any) -> None:
        for name, values in self._module.named_buffers():
            values.copy_(self._torch.from_numpy(memory[name]))


def carried_output(name: str, outputs: Sequence[str]) -> str:
    """Output with the next value of an input: `h_in` → `h_out`, `h0` → `hn`; empty: none."""
    stem = name.removesuffix("_in").removesuffix(".in")
    tries = (
        name.replace("_in", "_out"), name.replace("in_", "out_"), f"{stem}_out", f"{stem}n",
        name.replace("0", "n"), f"next_{name}", f"{name}_next",
    )  # fmt: skip
    return next((t for t in tries if t != name and t in outputs), "")


def _size(dimension: Any) -> int:
    return dimension if isinstance(dimension, int) else 1
