"""LEAPP bundles for the walker, made here: one network, or an encoder and a policy."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.components.importers.isaac import runs
from tests.networks import onnx, tensor, value

DEFAULT = np.array([-0.2, -0.2, 0.0, 0.4, 0.4], np.float32)
KP, KD = 60.0, 2.0
FILE = "Walk.yaml"
SIZES = {"ang": 3, "quat": 4, "cmd": 3, "q": 5, "v": 5}
COMMANDS = ["lin_vel_x", "lin_vel_y", "ang_vel_z"]
CONNECTIONS = {
    "ang": ("state:robot:root_ang_vel_b", "state/body/angular_velocity", ["x", "y", "z"]),
    "quat": ("state:robot:root_quat_w", "state/body/rotation", ["qx", "qy", "qz", "qw"]),
    "cmd": ("command:base_velocity", "command/body/velocity", COMMANDS),
    "q": ("state:robot:joint_pos", "state/joint/position", list(runs.JOINTS)),
    "v": ("state:robot:joint_vel", "state/joint/velocity", list(runs.JOINTS)),
}  # fmt: skip


def weights() -> dict[str, np.ndarray]:
    """Of the policy: action = W · [ang, quat, cmd, q − default, v, last action]."""
    rng = np.random.default_rng(5)
    return {"w": (0.05 * rng.normal(size=(25, 5))).astype(np.float32)}


def save(path: Path, nodes: list[Any], inputs: dict[str, list[int]], outputs: dict[str, list[int]],
         constants: dict[str, Any]) -> None:  # fmt: skip
    graph = onnx.helper.make_graph(
        nodes, "net", [value(n, s) for n, s in inputs.items()],
        [value(n, s) for n, s in outputs.items()], [tensor(n, v) for n, v in constants.items()],
    )  # fmt: skip
    opset = [onnx.helper.make_opsetid("", 17)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=9), str(path))


def policy_network(path: Path, kp: float = KP, varying: bool = False) -> None:
    """Targets = 0.25 · action + default; the action feeds back; gains are outputs."""
    node = onnx.helper.make_node
    nodes = [
        node("Sub", ["q", "default"], ["rel"]),
        node("Concat", ["ang", "quat", "cmd", "rel", "v", "last_in"], ["all"], axis=1),
        node("MatMul", ["all", "w"], ["last_out"]),
        node("Mul", ["last_out", "scale"], ["scaled"]),
        node("Add", ["scaled", "default"], ["joint_pos"]),
        node("Add", ["ones", "v" if varying else "ones"], ["two"]),
        node("Mul", ["two", "kp"], ["kp_gains"]),
        node("Mul", ["ones", "kd"], ["kd_gains"]),
    ]
    inputs = {name: [1, size] for name, size in SIZES.items()} | {"last_in": [1, 5]}
    outputs = {n: [1, 5] for n in ("joint_pos", "last_out", "kp_gains", "kd_gains")}
    constants = {"default": DEFAULT[None], "scale": [0.25], "ones": np.ones((1, 5)),
                 "kp": [kp / 2.0], "kd": [KD if kp else 0.0], **weights()}  # fmt: skip
    save(path, nodes, inputs, outputs, constants)


def described(name: str, kind: str = "", names: Any = None, connection: str = "") -> dict[str, Any]:
    """A tensor of a description."""
    size = SIZES.get(name, 5)
    found: dict[str, Any] = {"name": name, "dtype": "float32", "shape": [1, size], "type": "tensor"}
    found |= {"kind": kind} if kind else {}
    found |= {"element_names": [list(names)]} if names else {}
    return found | ({"isaaclab_connection": connection} if connection else {})


def description(folder: Path) -> dict[str, Any]:
    """Of the bundle with one network."""
    joints = list(runs.JOINTS)
    inputs = [described(n, kind, names, to) for n, (to, kind, names) in CONNECTIONS.items()]
    outputs = [
        described("joint_pos", "target/joint/position", joints, "write:robot:set_target"),
        described("last_out"),
        described("kp_gains", "kp", joints),
        described("kd_gains", "kd", joints),
    ]
    return {
        "models": {"Walk": {
            "inputs": [*inputs, described("last_in")],
            "outputs": outputs,
            "parameters": {"model_path": "Walk.onnx", "sha256sum": digest(folder / "Walk.onnx"),
                           "backend": "onnx", "warp_segments": 0, "opset_version": 17},
        }},
        "pipeline": {
            "configs": {"frequency": 50.0},
            "data_flow": {},
            "feedback_flow": {"Walk/last_out": ["Walk/last_in"]},
            "initial_values": "Walk_initial_values.safetensors",
            "inputs": {"Walk": list(SIZES)},
            "outputs": {"Walk": ["joint_pos", "kp_gains", "kd_gains"]},
        },
        "system information": {"leapp version": "0.7.2"},
    }  # fmt: skip


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write(folder: Path, **network: Any) -> Path:
    """The bundle with one network; the last action starts at 0.1."""
    policy_network(folder / "Walk.onnx", **network)
    safetensors(folder / "Walk_initial_values.safetensors", {"Walk/last_in": np.full((1, 5), 0.1)})
    return runs.write(folder, description(folder), FILE)


def safetensors(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    """A safetensors file, written by hand."""
    header: dict[str, Any] = {"__metadata__": {"made": "here"}}
    data = b""
    for name, array in arrays.items():
        raw = array.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}  # fmt: skip
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def two_nodes(folder: Path) -> Path:
    """An encoder that doubles the angular velocity, and the policy that takes it."""
    one = onnx.helper.make_node("Add", ["gyro", "gyro"], ["twice"])
    save(folder / "Encoder.onnx", [one], {"gyro": [1, 3]}, {"twice": [1, 3]}, {})
    write(folder)
    data = description(folder)
    to, kind, names = CONNECTIONS["ang"]
    gyro = {**described("ang", kind, names, to), "name": "gyro"}
    encoder = {
        "inputs": [gyro],
        "outputs": [{**described("ang"), "name": "twice"}],
        "parameters": {"model_path": "Encoder.onnx", "backend": "onnx",
                       "sha256sum": digest(folder / "Encoder.onnx")},
    }  # fmt: skip
    data["models"] = {"Encoder": encoder, **data["models"]}
    data["pipeline"]["data_flow"] = {"Encoder/twice": ["Walk/ang"]}
    data["pipeline"]["inputs"] = {"Encoder": ["gyro"], "Walk": ["quat", "cmd", "q", "v"]}
    data["pipeline"]["outputs"] = {"Encoder": [], **data["pipeline"]["outputs"]}
    return runs.write(folder, data, FILE)
