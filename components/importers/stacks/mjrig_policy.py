"""mjrig's own policy.yaml as the configuration: only the scene is new."""

from typing import Any

from mjrig.components.importers.sources.policy_description import (
    Begin,
    FoundPolicy,
    Start,
    Term,
    term_size,
)
from mjrig.components.importers.sources.source import NetworkFile, PolicySource
from mjrig.components.policies.policy_file import PolicyFile, given
from mjrig.core.errors import SceneError

#: Keys that are taken over as they are.
_NETWORK = ("time_step", "motion")


def recognises(source: PolicySource) -> bool:
    """By the keys of every policy.yaml."""
    config = source.one("joints", "observation")
    return config is not None and isinstance(config.data["observation"], dict)


def read(source: PolicySource) -> FoundPolicy:
    """The policy described by the file.

    Raises:
        PolicyError: a value is invalid.
        SceneError: it lacks what a scene needs.
    """
    config = source.one("joints", "observation")
    assert config is not None
    policy = PolicyFile.load(config.path)
    if source.network is None:
        source.network = NetworkFile(policy.network_file())
    data: dict[str, Any] = policy.to_data()
    kept = data["observation"].get("history", {})
    count = len(policy.joints)
    timestep = policy.timestep or source.robot.timestep
    command = policy.command
    start = policy.start
    kp, kv = (given(policy.trained, which) for which in ("kp", "kv"))
    if (kp is None or kv is None) and not source.robot.is_servo:
        raise SceneError(
            f"{config.path.name}: {source.robot.label} has motors, which need gains: "
            "give trained.kp and trained.kv"
        )
    stand = None
    if start is not None and start.duration > 0.0 and kp is not None and kv is not None:
        own = [given(start, which) for which in ("kp", "kv")]
        gains = [g if o is None else o for o, g in zip(own, (kp, kv), strict=True)]
        stand = Start(start.duration, gains[0].tolist(), gains[1].tolist())
    return FoundPolicy(
        stack="mjrig",
        names=policy.joints,
        timestep=timestep,
        tick=timestep * policy.decimation,
        phase=str(policy.phase),
        state=str(policy.state),
        kp=None if kp is None else kp.tolist(),
        kv=None if kv is None else kv.tolist(),
        default=policy.default.tolist(),
        start=stand,
        terms=_terms(data["observation"], count, command.size if command is not None else 0),
        clip=data["observation"].get("clip"),
        history={k: v for k, v in kept.items() if k != "length"},
        action={k: v for k, v in data.get("action", {}).items() if k != "targets"},
        kinds=[str(kind) for kind in policy.target_kinds],
        command=data.get("command", {}),
        begin=Begin.DEFAULT,
        network={**{key: data[key] for key in _NETWORK if key in data}, **_motion(policy)},
    )


def _motion(policy: PolicyFile) -> dict[str, Any]:
    """Its motion; a clip stays where it is."""
    motion = policy.motion
    if motion is None or motion.file is None:
        return {}
    return {"motion": {**motion.to_data(), "file": str(policy.find_file(motion.file).resolve())}}


def _terms(observation: dict[str, Any], count: int, commands: int) -> list[Term]:
    length = observation.get("history", {}).get("length", 1)
    return [
        Term(
            item,
            term_size(item, count, commands) or 0,
            item.get("history") or length,
        )
        for item in observation["terms"]
    ]
