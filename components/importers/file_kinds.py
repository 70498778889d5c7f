"""What a file of a training is, in words: `mjrig info` asks before it looks for a recording."""

from collections.abc import Iterator
from pathlib import Path

from mjrig.components.importers.isaac.actuator_groups import kind_of
from mjrig.components.importers.isaac.patterns import python_name
from mjrig.components.importers.isaac.training_files import AGENT_KEYS as AGENT
from mjrig.components.importers.isaac.training_files import DESCRIPTOR_KEYS as DESCRIBED
from mjrig.components.importers.isaac.training_files import (
    DescriptorFile,
    EnvFile,
    agent_in,
    env_of,
)
from mjrig.components.importers.sources.source import NetworkFile, expanded
from mjrig.components.importers.sources.vendor_file import VendorFile
from mjrig.components.importers.stack_registry import keys_of, names, stack_named
from mjrig.components.policies.checkpoints import is_torchscript, what_else
from mjrig.components.policies.leapp import TOP, LeappBundle
from mjrig.core.errors import MjrigError
from mjrig.core.names import how_many, listed

_TEXTS = (".yaml", ".yml")
_NETWORKS = (".onnx", ".pt", ".pth", ".ckpt", ".safetensors")


def describe(path: Path) -> str | None:
    """A few lines about a file or folder of a training; None: it is none.

    Raises:
        MjrigError: it is one, and damaged.
    """
    if path.is_dir():
        files, _ = expanded([path])
        if files == [path]:
            return None
        return "\n".join(text for file in files if (text := describe(file)))
    if path.suffix.lower() in _NETWORKS:
        return "\n".join(_network(path))
    if path.suffix.lower() not in _TEXTS or not path.is_file():
        return None
    try:
        config = VendorFile(path)
    except MjrigError:
        return None
    lines = list(_config(config))
    return "\n".join(lines) or None


def _config(config: VendorFile) -> Iterator[str]:
    name = config.path.name
    env = env_of(config)
    if env is not None:
        yield from _env(env)
    elif config.has(*DESCRIBED):
        yield from _descriptors(DescriptorFile(config))
    elif config.has(*TOP):
        yield from _bundle(LeappBundle(config.path))
    elif config.has(*AGENT):
        agent = agent_in([config])
        normal = {True: "normalised", False: "not normalised", None: "not stated"}
        yield f"{name}: training configuration of rsl_rl; observations {normal[agent.normalised]}"
        yield "  it belongs to the env.yaml beside it: mjrig import params/env.yaml policy.onnx …"
    else:
        for stack in names():
            for keys in keys_of(stack_named(stack)):
                if config.has(*keys):
                    yield f"{name}: configuration of {stack}; mjrig import {name} NETWORK --model …"
                    return


def _env(env: EnvFile) -> Iterator[str]:
    what = {"isaac_lab": "Isaac Lab", "mjlab": "mjlab"}[env.stack]
    work = "Direct workflow: its observation is in code" if env.is_direct else "manager-based"
    yield f"{env.name}: environment of {what}, {work}; {env.timestep:g} s × {env.decimation}"
    for name, entry in env.groups():
        if isinstance(entry.data, dict):
            kind = kind_of(entry)
            told = python_name(entry.text("class_type"))[1] or "an unnamed class"
            yield f"  actuators {name}: {kind or told + ', which is not known'}"
    if not env.is_direct:
        terms = env.observed(())
        yield f"  observation: {listed(f'{t.name} ({t.function})' for t in terms)}"
        actions = [name for name, entry in env.actions() if entry.data is not None]
        yield f"  actions: {listed(actions)}"
    yield f"  mjrig import {env.name} policy.onnx --model ROBOT.xml -o DIR/scene.yaml"


def _descriptors(found: DescriptorFile) -> Iterator[str]:
    terms = found.observed(())
    size = sum((term.size or 0) * term.history for term in terms)
    yield f"{found.name}: IO descriptors of Isaac Lab: {how_many(len(found.joints), 'joint')}"
    yield f"  {how_many(size, 'value')} of the observation: {listed(t.function for t in terms)}"
    yield f"  joints: {listed(found.joints)}"
    yield "  height scans, IMUs and functions of one's own are not in it: give env.yaml too"


def _bundle(bundle: LeappBundle) -> Iterator[str]:
    yield f"{bundle.path.name}: LEAPP bundle, {bundle.frequency:g} Hz"
    for node in bundle.nodes:
        yield f"  {node.name}: {node.path.name}"
    yield f"  takes {listed(f'{t.name} {t.size}' for t in bundle.inputs)}"
    yield f"  gives {listed(f'{t.name} {t.size}' for t in bundle.outputs)}"
    yield f"  mjrig import {bundle.path.name} --model ROBOT.xml -o DIR/scene.yaml"


def _network(path: Path) -> Iterator[str]:
    weights = what_else(path)
    if weights and not is_torchscript(path):
        yield f"{path.name}: {weights}"
        return
    network = NetworkFile(path)
    if network.onnx is None:
        yield f"{path.name}: TorchScript network; what it takes is only known to torch"
        return
    yield f"{path.name}: ONNX network"
    for what, tensors in (("takes", network.inputs), ("gives", network.outputs)):
        yield f"  {what} {listed(f'{n} {network.onnx.shape(n)}' for n in tensors)}"
    if network.metadata:
        yield f"  metadata: {listed(network.metadata)}"
    if network.graph.beside:
        yield f"  its weights are in {listed(network.graph.beside)}"
    if network.graph.normalises(network.observation):
        yield "  it normalises its observation"
