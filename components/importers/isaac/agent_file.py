"""agent.yaml: what rsl_rl says of the network."""

from collections.abc import Sequence
from dataclasses import dataclass

from mjrig.components.importers.sources.vendor_file import VendorEntry, VendorFile

KEYS = ("algorithm", "num_steps_per_env")


@dataclass(frozen=True)
class AgentFile:
    """What matters of agent.yaml.

    Attributes:
        groups: observation groups of the policy, in order; none: the usual one.
        clip: bound of the actions; None: none.
        normalised: whether the observation is normalised; None: not stated.
        recurrent: whether the network has a memory.
    """

    file: str = ""
    groups: tuple[str, ...] = ()
    clip: float | None = None
    normalised: bool | None = None
    recurrent: bool = False


def agent_in(configs: Sequence[VendorFile]) -> AgentFile:
    """The agent.yaml among some files; an empty one where there is none.

    Raises:
        SceneError: a value is wrong.
    """
    for config in configs:
        if config.has(*KEYS) or config.has("clip_actions", "policy"):
            return _read(config.path.name, config.root)
    return AgentFile()


def _read(file: str, root: VendorEntry) -> AgentFile:
    clip = root.number("clip_actions", above=0.0) if "clip_actions" in root else None
    policy = next((root.at(k) for k in ("policy", "actor") if k in root), None)
    settings = policy if policy is not None and isinstance(policy.data, dict) else None
    said = [root.mapping().get("empirical_normalization")]
    kind = ""
    if settings is not None:
        said += [
            settings.mapping().get(k) for k in ("actor_obs_normalization", "obs_normalization")
        ]
        kind = settings.text("class_name")
    known = [value for value in said if isinstance(value, bool)]
    return AgentFile(
        file,
        _groups(root),
        clip,
        any(known) if known else None,
        "Recurrent" in kind or (settings is not None and "rnn_type" in settings),
    )


def _groups(root: VendorEntry) -> tuple[str, ...]:
    if "obs_groups" not in root or not isinstance(root.at("obs_groups").data, dict):
        return ()
    groups = root.at("obs_groups")
    for key in ("policy", "actor"):
        if key in groups:
            return tuple(groups.texts(key))
    return ()
