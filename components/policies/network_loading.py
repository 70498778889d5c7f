"""Loading of the network that a policy file names, and the check of its sizes."""

from collections.abc import Mapping

import numpy as np

from mjrig.components.policies.leapp_network import LeappNetwork
from mjrig.components.policies.network import OnnxNetwork, PolicyNetwork, TorchNetwork
from mjrig.components.policies.policy_file import PolicyFile
from mjrig.errors import PolicyError, PropertyError
from mjrig.names import how_many

_KINDS: dict[str, type[OnnxNetwork] | type[TorchNetwork] | type[LeappNetwork]] = {
    ".onnx": OnnxNetwork,
    ".pt": TorchNetwork,
    ".yaml": LeappNetwork,
}


def load_network(said: PolicyFile) -> PolicyNetwork:
    """The network of a policy file.

    Raises:
        PolicyError: it is missing, or does not match the file.
    """
    try:
        path = said.network_file()
    except PropertyError as error:
        raise PolicyError(str(error)) from error
    return _KINDS.get(path.suffix.lower(), OnnxNetwork)(path, said)


def check_sizes(network: PolicyNetwork, parts: Mapping[str, int], joints: int) -> None:
    """Run a network once, to check its input and output sizes.

    Args:
        network: as loaded.
        parts: the terms of the observation, with the number of values of each.
        joints: required size of the action.

    Raises:
        PolicyError: it does not fit; the message has the table of terms.
    """
    built = sum(parts.values())
    table = ", ".join(f"{name} {size}" for name, size in parts.items())
    if network.size is not None and network.size != built:
        raise network.error(
            f"takes {how_many(network.size, 'value')}, the observation has {built}: {table}"
        )
    try:
        action = network.run(np.zeros(built, dtype=np.float32), 0)
    except PolicyError as error:
        raise PolicyError(f"{error}; the observation has {built}: {table}") from error
    network.reset()
    if action.size != joints:
        raise network.error(
            f"gives {how_many(action.size, 'value')} but the policy file names "
            f"{how_many(joints, 'joint')}: a policy for another robot?"
        )
