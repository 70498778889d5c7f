"""Isaac Lab and mjlab: `params/env.yaml` of a run, with agent.yaml and IO descriptors beside it.

A run with IO descriptors alone is complete unless the exporter left terms out.
"""

from mjrig.components.importers.isaac.run import read_run
from mjrig.components.importers.isaac.training_files import DESCRIPTOR_KEYS, env_in
from mjrig.components.importers.sources.policy_description import FoundPolicy
from mjrig.components.importers.sources.source import PolicySource

KEYS = (("sim", "scene", "decimation", "observations", "actions"), DESCRIPTOR_KEYS)


def recognises(source: PolicySource) -> bool:
    """By the sections of env.yaml, also of a Direct task, or of IO descriptors."""
    return env_in(source.configs) is not None or source.one(*DESCRIPTOR_KEYS) is not None


def read(source: PolicySource) -> FoundPolicy:
    """The policy and plant of the run.

    Raises:
        SceneError: something is missing, wrong, contradicts itself or cannot be expressed.
    """
    return read_run(source)
