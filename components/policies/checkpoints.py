"""Weights that are no network: checkpoints recognised by their content, never loaded.

A checkpoint holds numbers for a program to load; only ONNX and TorchScript hold the network too.
"""

import json
import re
import zipfile
from pathlib import Path

#: How to make a network of a PyTorch module.
EXPORT = 'torch.onnx.export(policy, torch.zeros(1, SIZE), "policy.onnx", input_names=["obs"])'
_ZIP, _HDF5, _FLAT = b"PK\x03\x04", b"\x89HDF\r\n", b"TFL3"
_PROTOCOLS = tuple(bytes([0x80, version]) for version in range(2, 6))
_SUFFIXES = (".pkl", ".pickle", ".joblib", ".pth", ".ckpt")
#: How much of a pickle is searched for the names of what it holds [bytes].
_LOOKED_AT = 4_000_000
#: Longest header of a safetensors file [bytes], as the format has it.
_HEADER = 100_000_000
_PICKLE = (
    "is a pickle, which runs code when it is loaded and is not read; "
    "save what it holds as .npz or .onnx where it was made"
)
_STACKS = {
    "rsl_rl": (
        (b"model_state_dict", b"actor_state_dict", b"optimizer_state_dict"),
        "is a checkpoint of rsl_rl: weights without a network. Export it where it was trained: the "
        "play script of Isaac Lab and mjlab writes exported/policy.onnx, that of legged_gym "
        "exported/policies/policy_1.pt (TorchScript); give one of these",
    ),
    "rl_games": (
        (b"running_mean_std", b"a2c_network"),
        "is a checkpoint of rl_games: weights without a network. Load it with its player, and "
        f"export the actor with its normaliser: {EXPORT}",
    ),
    "skrl": (
        (b"state_preprocessor", b"value_preprocessor"),
        "is a checkpoint of skrl: weights without a network. Load it into its agent, and export "
        f"the policy with its preprocessor: {EXPORT}",
    ),
    "brax": (
        (b"brax", b"RunningStatisticsState", b"jaxlib", b"flax"),
        "holds parameters of brax: weights without a network, in a pickle that is not read. "
        "Rebuild the network where it was trained and export it as ONNX, as the notebook "
        "brax_network_to_onnx of mujoco_playground does",
    ),
}


def is_torchscript(path: Path) -> bool:
    """Whether a file is a TorchScript archive: it has code besides its weights."""
    names = _members(path)
    return any(re.search(r"(^|/)code/", n) for n in names) and any(
        n.endswith(("data.pkl", "constants.pkl")) for n in names
    )


def what_else(path: Path) -> str:
    """What a file or folder is that holds weights but no network, and what to give instead.

    Empty: none of that; it may be a configuration or a network.
    """
    if path.is_dir():
        return _folder(path)
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError:
        return ""
    if head.startswith(_ZIP):
        return "" if is_torchscript(path) else _archive(path)
    if head.startswith(_PROTOCOLS):
        return _of_names(_beginning(path)) or _PICKLE
    return _other_format(path, head) or (_PICKLE if path.suffix.lower() in _SUFFIXES else "")


def _other_format(path: Path, head: bytes) -> str:
    if _is_safetensors(path, head):
        return (
            "is a safetensors file: weights without a network. Load them into the module they are "
            f"of, and export that: {EXPORT}"
        )
    if head.startswith(_HDF5):
        return (
            "is an HDF5 file: as a Keras model export it with tf2onnx; a recording is replayed, "
            "not imported"
        )
    if head[4:8] == _FLAT:
        return "is a TensorFlow Lite model: convert it to ONNX with tf2onnx --tflite"
    return ""


def _members(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except (OSError, zipfile.BadZipFile, ValueError):
        return []


def _archive(path: Path) -> str:
    """A zip that is not TorchScript."""
    names = _members(path)
    if not names:
        return "is a damaged archive: neither TorchScript nor any other zip"
    if {"policy.pth", "_stable_baselines3_version"} & set(names):
        return (
            "is a model of Stable-Baselines3: weights without a network. Load it with the class it "
            "was saved by, and export its policy with the deterministic action, for PPO "
            "policy.mlp_extractor.policy_net and policy.action_net one after the other: "
            f"{EXPORT}"
        )
    pickled = next((n for n in names if n.endswith("data.pkl")), "")
    if pickled:
        return _of_names(_beginning(path, pickled)) or (
            "is a checkpoint of PyTorch (torch.save), not TorchScript: a pickle with weights, "
            f"without a network. Load it where it was made, and export the module: {EXPORT}"
        )
    if all(name.endswith(".npy") for name in names):
        return (
            "is a numpy archive: weights without a network, or a recording, which is replayed; "
            "give the network as ONNX"
        )
    shown = ", ".join(names[:3]) + ("…" if len(names) > 3 else "")
    return f"is a zip archive and no network: it has {shown}"


def _of_names(content: bytes) -> str:
    """The stack whose names stand in a pickle; names only, nothing is loaded."""
    for names, text in _STACKS.values():
        if any(name in content for name in names):
            return text
    return ""


def _beginning(path: Path, member: str = "") -> bytes:
    try:
        if not member:
            with path.open("rb") as file:
                return file.read(_LOOKED_AT)
        with zipfile.ZipFile(path) as archive, archive.open(member) as inner:
            return inner.read(_LOOKED_AT)
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError, EOFError):
        return b""


def _is_safetensors(path: Path, head: bytes) -> bool:
    """Eight bytes with the length of a JSON header, then the header."""
    size = int.from_bytes(head[:8], "little")
    if head[8:9] != b"{" or not 2 <= size <= min(_HEADER, path.stat().st_size - 8):
        return False
    with path.open("rb") as file:
        file.seek(8)
        try:
            return isinstance(json.loads(file.read(size)), dict)
        except (ValueError, RecursionError):
            return False


def _folder(path: Path) -> str:
    entries = sorted(path.iterdir())
    names = [p.name for p in entries]
    if any(n in names for n in ("manifest.ocdbt", "_METADATA", "_CHECKPOINT_METADATA")):
        return (
            "is a checkpoint folder of orbax (brax, mujoco_playground): weights without a network. "
            "Rebuild the network where it was trained and export it as ONNX, as the notebook "
            "brax_network_to_onnx of mujoco_playground does"
        )
    shown = [p for p in entries if not p.name.startswith(".")]
    files = [p.name for p in shown if p.is_file()]
    folders = [p.name for p in shown if p.is_dir()]
    if files:
        return f"is a folder; give its files: {_some(files)}"
    if folders:
        return f"is a folder without files; give the files of one of its folders: {_some(folders)}"
    return "is an empty folder"


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + ("…" if len(names) > 5 else "")
