"""Agreement of env.yaml with IO descriptors of the same run."""

from collections.abc import Iterator, Mapping, Sequence

from mjrig.components.importers.isaac.actions import ActionTerm
from mjrig.components.importers.isaac.descriptors import DescriptorFile
from mjrig.components.importers.isaac.env_file import EnvFile
from mjrig.components.importers.isaac.joint_order import JointOrder
from mjrig.errors import SceneError

#: Descriptors are float32: a relative difference up to this is rounding.
ROUNDING = 1e-5


def check_agreement(
    env: EnvFile,
    described: DescriptorFile,
    order: JointOrder,
    default: Mapping[str, float],
    actions: Sequence[ActionTerm],
    groups: Sequence[str],
) -> None:
    """Compare what both files state.

    Raises:
        SceneError: they contradict each other; both are named.
    """
    problems = [
        *_timing(env, described),
        *_poses(described, default),
        *_actions(described, actions),
        *_terms(env, described, groups),
    ]
    if problems:
        files = f"{env.name} and {described.name}"
        raise SceneError(f"{files} contradict each other: {'; '.join(problems)}. Of one run?")


def _differ(one: float, other: float) -> bool:
    return abs(one - other) > ROUNDING * max(1e-3, abs(one), abs(other))


def _timing(env: EnvFile, described: DescriptorFile) -> Iterator[str]:
    if _differ(env.timestep, described.timestep):
        yield f"timestep {env.timestep:g} s and {described.timestep:g} s"
    tick = env.timestep * env.decimation
    if _differ(tick, described.tick):
        yield f"time from tick to tick {tick:g} s and {described.tick:g} s"


def _poses(described: DescriptorFile, default: Mapping[str, float]) -> Iterator[str]:
    for joint, value in described.values("default_joint_pos").items():
        if joint in default and _differ(default[joint], value):
            yield f"default position of {joint} {default[joint]:g} and {value:g}"


def _actions(described: DescriptorFile, actions: Sequence[ActionTerm]) -> Iterator[str]:
    theirs = described.actions()
    ours = [joint for term in actions for joint in term.joints]
    other = [joint for term in theirs for joint in term.joints]
    if ours != other:
        yield f"joints of the action {', '.join(ours)} and {', '.join(other)}"
        return
    for name in ("scale", "offset"):
        one = [v for term in actions for v in getattr(term, name)]
        two = [v for term in theirs for v in getattr(term, name)]
        for joint, a, b in zip(ours, one, two, strict=True):
            if _differ(a, b):
                yield f"action {name} of {joint} {a:g} and {b:g}"
                break


def _terms(env: EnvFile, described: DescriptorFile, groups: Sequence[str]) -> Iterator[str]:
    """Histories of the terms that both have, in order; descriptors leave some out."""
    rest = iter(env.observed(groups))
    for theirs in described.terms():
        ours = next((term for term in rest if term.function == theirs.function), None)
        if ours is None:
            yield f"the term {theirs.function} is only in {described.name}, or in another order"
            return
        if ours.history != theirs.history:
            yield f"history of {ours.name} {ours.history} and {theirs.history}"
