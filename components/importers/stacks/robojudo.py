"""RoboJuDo: the `config.json` beside a log, or the settings of one policy as JSON or YAML.

Only policies with one of two known observation layouts are read; BeyondMimic's describe
themselves: give the network alone.
"""

from typing import Any

from mjrig.components.importers.sources.policy_description import (
    FoundPolicy,
    Term,
    TermMaker,
    velocity_command,
)
from mjrig.components.importers.sources.source import PolicySource
from mjrig.components.importers.sources.vendor_file import VendorEntry, VendorFile
from mjrig.components.importers.stacks.unitree_rl_gym import GAIT, command_ranges
from mjrig.core.errors import SceneError
from mjrig.core.names import listed

#: Timestep where the settings of the simulation are missing [s].
TIMESTEP, FREQUENCY = 0.001, 50.0
_LAYOUTS = ("UnitreePolicy", "UnitreeWoGaitPolicy")


def recognises(source: PolicySource) -> bool:
    """By the settings of a policy, in a whole configuration or alone."""
    return any(_policy_of(config) is not None for config in source.configs)


def _policy_of(config: VendorFile) -> VendorEntry | None:
    if config.has("policy_type", "action_dof"):
        return config.root
    if config.has("policy") and "policy_type" in config.root.at("policy"):
        return config.root.at("policy")
    return None


def read(source: PolicySource) -> FoundPolicy:
    """The policy described by the settings.

    Raises:
        SceneError: a key is missing or has a wrong value, or the policy is of an unknown kind.
    """
    config = next(c for c in source.configs if _policy_of(c) is not None)
    policy = _policy_of(config)
    assert policy is not None
    kind = policy.text("policy_type")
    if kind not in _LAYOUTS:
        raise policy.at("policy_type").error(
            f"unknown observation layout of {kind}; known are {listed(_LAYOUTS)}. "
            "A BeyondMimicPolicy is read from its network alone; others need a policy.yaml"
        )
    env = config.root.at("env") if config.has("env") else None
    names = policy.at("action_dof").texts("joint_names", distinct=True)
    _same_joints(policy, names)
    count = len(names)
    timestep = env.number("sim_dt", TIMESTEP, above=0.0) if env else TIMESTEP
    clip = policy.number("action_clip", 0.0)
    return FoundPolicy(
        stack="robojudo",
        robot=policy.text("robot"),
        names=tuple(names),
        timestep=timestep,
        tick=1.0 / policy.number("freq", FREQUENCY, above=0.0),
        kp=_values(policy, env, "stiffness", names),
        kv=_values(policy, env, "damping", names),
        default=policy.at("obs_dof").numbers("default_pos", count),
        terms=_terms(policy, kind, count),
        history={"order": "oldest_first", "fill": "zeros", "by": "term"},
        action={
            "scale": policy.number("action_scale", 1.0),
            "smoothing": policy.number("action_beta", 1.0, above=0.0),
            "last": "smoothed",
            "dtype": "float32",
            **({"clip": clip} if clip else {}),
        },
        command=velocity_command(ranges=command_ranges(policy)),
        limits=_values(policy, env, "torque_limits", names, needed=False),
        notes=(
            "the stack blends from the measured pose to the default pose at first; a run here "
            "begins in the default pose",
            *_rate(timestep, env, policy),
        ),
        assumed=() if env else (f"timestep {TIMESTEP:g} s: the settings of the run are missing",),
    )


def _same_joints(policy: VendorEntry, names: list[str]) -> None:
    seen = policy.at("obs_dof").texts("joint_names", distinct=True)
    if seen != names:
        others = [n for n in seen if n not in names] or seen
        raise policy.at("obs_dof").error(
            f"the policy observes joints it does not move, or in another order: {listed(others)}"
        )


def _values(
    policy: VendorEntry, env: VendorEntry | None, key: str, names: list[str], *, needed: bool = True
) -> Any:
    """Per joint: of the policy, else of the robot by name."""
    dof = policy.at("action_dof")
    if key in dof:
        return dof.numbers(key, len(names))
    if env is not None and "dof" in env and key in env.at("dof"):
        of = env.at("dof")
        known = dict(zip(of.texts("joint_names", distinct=True), of.numbers(key), strict=False))
        lacking = [n for n in names if n not in known]
        if lacking:
            raise of.at(key).error(f"has no entry for {listed(lacking)}")
        return [known[n] for n in names]
    if needed:
        raise SceneError(f"{dof.document.file}: action_dof.{key} is missing, and env.dof's too")
    return None


def _terms(policy: VendorEntry, kind: str, count: int) -> list[Term]:
    scales = policy.at("obs_scales")
    command = scales.numbers("command", 3, "command")
    history = 1 if kind == "UnitreePolicy" else max(1, int(policy.number("history_length", 1)))
    make = TermMaker(count, history=history)
    found = [
        make("BaseAngularVelocity", scales.number("ang_vel")),
        make("ProjectedGravity", scales.number("gravity", 1.0)),
        make("CommandTerm", command),
        make("JointPositions", scales.number("dof_pos", 1.0)),
        make("JointVelocities", scales.number("dof_vel")),
        make("LastAction"),
    ]
    if kind == "UnitreePolicy":
        found.append(make("GaitPhase", period=GAIT, form="sin_cos"))
    return found


def _rate(timestep: float, env: VendorEntry | None, policy: VendorEntry) -> tuple[str, ...]:
    """Check that the two rates agree; the stack itself does not."""
    if env is None or "sim_decimation" not in env:
        return ()
    run, made = timestep * env.whole("sim_decimation"), 1.0 / policy.number("freq", FREQUENCY)
    if abs(run - made) < 1e-9:
        return ()
    return (f"the simulation ticks every {run:g} s, the policy was trained with {made:g} s",)
