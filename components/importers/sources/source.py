"""Source: the files of one import that belong together, opened before their stack is known."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import Any

from mjrig.components.importers.sources.overrides import Overrides
from mjrig.components.importers.sources.robot import Robot
from mjrig.components.importers.sources.vendor_file import LEGGED_GYM, VendorEntry, VendorFile
from mjrig.components.laws.onnx_file import OnnxFile, OnnxGraph, read_graph
from mjrig.components.policies.checkpoints import is_torchscript, what_else
from mjrig.components.policies.network import carried_output
from mjrig.core.errors import SceneError
from mjrig.core.names import listed, suggestion

# Run folder ---------------------------------------------------------------------------------------

ENV, AGENT, DEPLOY = "env.yaml", "agent.yaml", "deploy.yaml"
_DESCRIPTORS = "*IO_descriptors.yaml"
#: Where the files of a run are, below its folder.
_CONFIGS = (f"params/{ENV}", ENV)
_NETWORKS = ("exported/policy.onnx", "policy.onnx", "exported/policy.pt", "policy.pt")


def expanded(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The files that are meant, and those among them that nobody named.

    A run's folder stands for its files; agent.yaml, deploy.yaml and IO descriptors beside an
    env.yaml are taken too. A folder of another kind is kept as it is.

    Raises:
        SceneError: a folder has several networks to choose from.
    """
    files: list[Path] = []
    for path in paths:
        files += list(_of_folder(path, paths)) if path.is_dir() else [path]
    beside = [near for path in files if path.name == ENV for near in _beside(path)]
    added = [path for path in dict.fromkeys(beside) if not _among(path, files)]
    named = [path for path in files if _among(path, list(paths))]
    return [*files, *added], [path for path in (*files, *added) if path not in named]


def _among(path: Path, others: Sequence[Path]) -> bool:
    return any(path.resolve() == other.resolve() for other in others)


def _of_folder(folder: Path, given: Sequence[Path]) -> Iterator[Path]:
    """The files of a run, or the folder itself where it is none."""
    env = next((folder / name for name in _CONFIGS if (folder / name).is_file()), None)
    if env is None:
        bundles = [p for p in sorted(folder.glob("*.yaml")) if _is_bundle(p)]
        if len(bundles) > 1:
            raise SceneError(f"{folder}: has several bundles: {listed(p.name for p in bundles)}")
        yield from bundles or [folder]
        return
    yield env
    if any(path.suffix.lower() in (".onnx", ".pt") for path in given):
        return
    network = next((folder / name for name in _NETWORKS if (folder / name).is_file()), None)
    if network is not None:
        yield network


def _is_bundle(path: Path) -> bool:
    """Whether a file is the description of a LEAPP bundle, by its top-level keys."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return {"models:", "pipeline:"} <= {line.rstrip() for line in lines}


def _beside(env: Path) -> Iterator[Path]:
    for name in (AGENT, DEPLOY):
        if env.with_name(name).is_file():
            yield env.with_name(name)
    for folder in (env.parent, env.parent.parent / "io_descriptors"):
        found = sorted(folder.glob(_DESCRIPTORS)) if folder.is_dir() else []
        if found:
            yield found[0]
            return


# Source -------------------------------------------------------------------------------------------

NETWORKS = (".onnx", ".pt")


class NetworkFile:
    """A network file; `onnx` is None where it cannot be inspected (TorchScript).

    Raises:
        SceneError: there is none, or it is not a network.
        PropertyError: an ONNX file that cannot be loaded.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            content = path.read_bytes()
        except OSError as error:
            raise SceneError(f"cannot read {path}: {error.strerror or error}") from error
        self.digest = sha256(content).hexdigest()
        scripted = is_torchscript(path)
        if scripted and path.suffix.lower() == ".onnx":
            raise SceneError(f"{path.name}: is TorchScript, not ONNX: call it {path.stem}.pt")
        if not scripted and path.suffix.lower() != ".onnx":
            raise SceneError(f"{path.name}: is neither an ONNX nor a TorchScript file")
        self.onnx = None if scripted else OnnxFile(path)

    @cached_property
    def graph(self) -> OnnxGraph:
        """Its operations; none where it cannot be inspected."""
        return read_graph(self.path) if self.onnx is not None else OnnxGraph()

    @property
    def paths(self) -> list[Path]:
        """All files it consists of: weights of an ONNX file may lie beside it.

        Raises:
            SceneError: one of them would be elsewhere.
        """
        for name in self.graph.beside:
            if Path(name).name != name:
                raise SceneError(f"{self.path.name}: its weights {name!r} do not lie beside it")
        return [self.path, *(self.path.with_name(name) for name in self.graph.beside)]

    @property
    def digests(self) -> dict[str, str]:
        """File name → SHA-256."""
        more = {p.name: sha256(p.read_bytes()).hexdigest() for p in self.paths[1:]}
        return {self.path.name: self.digest, **more}

    @property
    def metadata(self) -> Mapping[str, str]:
        """The texts an ONNX file carries, as they are."""
        if self.onnx is None:
            return {}
        found: Mapping[str, str] = self.onnx.session.get_modelmeta().custom_metadata_map
        return found

    @property
    def inputs(self) -> list[str]:
        """Names of the inputs; none where it cannot be inspected."""
        return self.onnx.inputs if self.onnx else []

    @property
    def outputs(self) -> list[str]:
        """Names of the outputs."""
        return self.onnx.outputs if self.onnx else []

    @property
    def observation(self) -> str:
        """The input that takes the observation: `obs`, or the first."""
        return next((n for n in self.inputs if n.startswith("obs")), (self.inputs or [""])[0])

    @property
    def action(self) -> str:
        """The output that is the action: by its name, or the first."""
        return next((n for n in self.outputs if "action" in n), (self.outputs or [""])[0])

    def width(self, name: str) -> int | None:
        """Size of an input or output; None: not stated."""
        if self.onnx is None or not name:
            return None
        shape: list[Any] = self.onnx.shape(name)
        return shape[-1] if shape and isinstance(shape[-1], int) else None

    def values(self, name: str) -> int | None:
        """Number of values of an input, of one world; None: not stated, or not there."""
        if self.onnx is None or name not in self.inputs:
            return None
        first, *rest = self.onnx.shape(name) or [None]
        sizes = [*([first] if isinstance(first, int) else []), *rest]
        return prod(sizes) if sizes and all(isinstance(s, int) for s in sizes) else None

    def recurrent(self) -> dict[str, str]:
        """Inputs that are outputs of the tick before: `h_in` ← `h_out`."""
        pairs = {}
        for name in self.inputs:
            if name == self.observation or name.startswith("time"):
                continue
            out = carried_output(name, self.outputs)
            if out:
                pairs[name] = out
        return pairs


# Metadata ---------------------------------------------------------------------------------------

_NAMED = ("joint_names", "observation_names", "command_names", "body_names")


class Metadata:
    """Metadata of the exporters of BeyondMimic and mjlab: lists as texts; errors name file and key.

    Entries are separated by commas. A list inside of an entry is `-inf;inf` by the present
    exporter, and Python's `[-inf, inf]` or `(-inf, inf)` by older ones.
    """

    def __init__(self, file: str, texts: Mapping[str, str]) -> None:
        self.file, self.texts = file, texts

    def error(self, key: str, problem: str) -> SceneError:
        """An error about one key."""
        return SceneError(f"{self.file}: metadata {key!r} {problem}")

    def __contains__(self, key: str) -> bool:
        return bool(self.texts.get(key, "").strip())

    def names(self, key: str) -> list[str]:
        """A list of names.

        Raises:
            SceneError: it is missing, or a name is listed twice.
        """
        names = [n.strip("'\" ") for n in self._items(key)]
        for i, name in enumerate(names):
            if name in names[:i]:
                raise self.error(key, f"has the name {name!r} twice")
        return names

    def numbers(self, key: str, size: int, *, finite: bool = True) -> list[float]:
        """One number per entry; a single one stands for all.

        Raises:
            SceneError: it is missing, of the wrong length, or not a list of numbers.
        """
        values = [self._number(key, part) for text in self._items(key) for part in _inner(text)]
        if finite and not all(map(math.isfinite, values)):
            raise self.error(key, f"must be finite, got {self.texts[key]!r}")
        if len(values) == 1:
            return values * size
        if len(values) != size:
            raise self.error(key, f"has {len(values)} values, needs {size}")
        return values

    def lists(self, key: str, size: int) -> list[list[float]]:
        """One list of numbers per entry; empty where the text is None.

        Raises:
            SceneError: it is missing, has another number of entries, or is not of numbers.
        """
        found = [[self._number(key, part) for part in _inner(text)] for text in self._items(key)]
        if len(found) == 1 and size > 1:
            found = [list(found[0]) for _ in range(size)]
        if len(found) != size:
            raise self.error(key, f"has {len(found)} entries, needs {size}")
        return found

    def pairs(self, key: str, size: int) -> list[list[float] | None]:
        """Pairs [low, high]; None where both are infinite or the text is None.

        Raises:
            SceneError: it is missing, has another number of pairs, or is not of pairs.
        """
        entries = [[self._number(key, part) for part in _inner(text)] for text in self._items(key)]
        if len(entries) == 2 * size and all(len(entry) == 1 for entry in entries):
            entries = [[*low, *high] for low, high in zip(entries[::2], entries[1::2], strict=True)]
        if len(entries) != size:
            raise self.error(key, f"has {len(entries)} pairs, needs {size}")
        odd = next((entry for entry in entries if entry and len(entry) != 2), None)
        if odd is not None:
            raise self.error(key, f"must be pairs, got {odd}")
        return [entry if entry and not all(map(math.isinf, entry)) else None for entry in entries]

    def _items(self, key: str) -> list[str]:
        if key not in self:
            raise self.error(key, f"is missing; {suggestion(key, self.texts, label='has')}")
        found = _split(self.texts[key].strip())
        # Names never hold a semicolon: a list without commas has these between its entries.
        return _split(found[0], ";") if len(found) == 1 and key in _NAMED else found

    def _number(self, key: str, text: str) -> float:
        words = {"true": 1.0, "false": 0.0}
        try:
            value = words.get(text.strip().lower())
            value = float(text.strip("[]() ")) if value is None else value
        except ValueError:
            raise self.error(key, f"must be numbers, got {text!r}") from None
        if math.isnan(value):
            raise self.error(key, f"must be numbers, got {text!r}")
        return value


def _inner(text: str) -> list[str]:
    """The numbers of one entry: `2;2;1`, `[2, 2, 1]`, `2`; none for None."""
    inner = text.strip("[]() ")
    if inner in ("None", ""):
        return []
    return _split(inner, ";" if ";" in inner else ",")


def _split(text: str, separator: str = ",") -> list[str]:
    """Items between separators that are not inside brackets; brackets around it all are dropped."""
    if text.startswith("[") and text.endswith("]") and _depth_ends_late(text):
        text = text[1:-1]
    items, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "[(") - (letter in "])")
        if letter == separator and depth == 0:
            items.append(text[start:i].strip())
            start = i + 1
    items.append(text[start:].strip())
    return [item for item in items if item]


def _depth_ends_late(text: str) -> bool:
    """Whether the first bracket is closed by the last one."""
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if depth == 0:
            return i == len(text) - 1
    return False


# Source -------------------------------------------------------------------------------------------


class PolicySource:
    """The input of an import: configurations, a network, the robot, and the user's overrides."""

    def __init__(
        self,
        configs: Sequence[VendorFile],
        network: NetworkFile | None,
        robot: Robot,
        overrides: Overrides,
    ) -> None:
        self.configs, self.network = tuple(configs), network
        self.robot, self.overrides = robot, overrides
        #: Files that were found beside those that were given.
        self.unnamed: tuple[Path, ...] = ()

    @property
    def files(self) -> dict[str, str]:
        """File name → SHA-256 of everything that was read."""
        found = {config.path.name: config.digest for config in self.configs}
        if self.network:
            found |= self.network.digests
        return found

    def root(self, *keys: str) -> VendorEntry:
        """The content of the configuration that has all of these keys at the top.

        Raises:
            SceneError: there is none.
        """
        config = self.one(*keys)
        if config is None:
            raise SceneError(f"{listed(self.files)}: has no {listed(keys)}")
        return config.root

    def one(self, *keys: str) -> VendorFile | None:
        """The configuration that has all of these keys at the top, if there is one."""
        return next((c for c in self.configs if c.has(*keys)), None)


def refuse_weights(path: Path) -> None:
    """Say what to give instead of weights without a network.

    Raises:
        SceneError: the file holds such weights, or is a folder.
    """
    what = what_else(path)
    if what:
        raise SceneError(f"{path.name}: {what}")


def refuse_training(config: VendorFile) -> None:
    """Say what to give instead of a training configuration whose observation is in code.

    Raises:
        SceneError: it is one of legged_gym.
    """
    data = config.data
    sections = set(data) if isinstance(data, dict) else set()
    normal = data.get("normalization") if sections else None
    scales = isinstance(normal, dict) and "obs_scales" in normal
    if scales or {"domain_rand", "rewards", "control", "init_state"} <= sections:
        raise SceneError(f"{config.path.name}: {LEGGED_GYM}")


def open_files(
    paths: Sequence[Path], network: Path | None, robot: Robot, overrides: Overrides
) -> PolicySource:
    """Open the given files; a network may be among the configurations.

    Raises:
        SceneError: a file cannot be read, is a pickle, or there are two networks.
    """
    configs: list[Path] = []
    networks = [network] if network else []
    for path in paths:
        is_network = path.suffix.lower() in NETWORKS or is_torchscript(path)
        (networks if is_network else configs).append(path)
    if len(networks) > 1:
        names = " and ".join(p.name for p in networks)
        raise SceneError(f"one policy has one network, got {names}")
    opened = [VendorFile(path) for path in configs]
    for config in opened:
        refuse_training(config)
    return PolicySource(opened, NetworkFile(networks[0]) if networks else None, robot, overrides)
