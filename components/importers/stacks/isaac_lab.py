"""Isaac Lab and mjlab: `params/env.yaml` of a run, with agent.yaml and IO descriptors beside it."""

from mjrig.components.importers.isaac.described_run import read_described
from mjrig.components.importers.isaac.descriptors import KEYS as DESCRIBED
from mjrig.components.importers.isaac.descriptors import descriptors_in
from mjrig.components.importers.isaac.env_file import env_in
from mjrig.components.importers.isaac.run import read_run
from mjrig.components.importers.sources.found import FoundPolicy
from mjrig.components.importers.sources.source import PolicySource

KEYS = (("sim", "scene", "decimation", "observations", "actions"), DESCRIBED)


def recognises(source: PolicySource) -> bool:
    """By the sections of env.yaml, or of IO descriptors."""
    return env_in(source.configs) is not None or source.one(*DESCRIBED) is not None


def read(source: PolicySource) -> FoundPolicy:
    """The policy and plant of the run.

    Raises:
        SceneError: something is missing, wrong, contradicts itself or cannot be expressed.
    """
    env = env_in(source.configs)
    if env is not None:
        return read_run(source, env)
    described = descriptors_in(source.configs)
    assert described is not None
    return read_described(source, described)
