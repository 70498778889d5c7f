"""Registry of the stacks whose files can be read, built-in and third-party, by entry point.

A stack is a module with `read(source) -> FoundPolicy`, registered in the group `mjrig.stacks`.
`KEYS` are the top-level keys of its files, by which they are recognised: one tuple for each kind of
file. Where keys are not enough, `recognises(source) -> bool` decides.
"""

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol

from mjrig.components.importers.sources.policy_description import FoundPolicy
from mjrig.components.importers.sources.source import PolicySource
from mjrig.core.errors import SceneError
from mjrig.core.names import listed, suggestion

GROUP = "mjrig.stacks"
#: Tried first: files that say more of a run than its network does.
FIRST = ("leapp", "isaac_lab")
#: Tried last: a network that nothing else describes.
LAST = "mujoco_playground"
#: Files of other tools by their keys, and what to give instead.
OTHER_KINDS: dict[tuple[str, ...], str] = {
    ("algorithm", "num_steps_per_env"): "a training configuration of rsl_rl",
}
INSTEAD = (
    "give the deploy.yaml of unitree_rl_lab, a network with metadata (mjlab, BeyondMimic), or a "
    "policy.yaml written by hand (docs/policies.md)"
)


class Stack(Protocol):
    """Reader for the files of one stack."""

    @staticmethod
    def read(source: PolicySource) -> FoundPolicy:
        """The policy they describe."""
        ...


@cache
def _points() -> dict[str, EntryPoint]:
    """The entry points by name; looking for them reads the metadata of all that is installed."""
    return {point.name: point for point in entry_points(group=GROUP)}


def names() -> list[str]:
    """All registered stacks."""
    found = sorted(_points())
    return [*(n for n in FIRST if n in found), *(n for n in found if n not in (*FIRST, LAST)),
            *(n for n in found if n == LAST)]  # fmt: skip


def stack_named(name: str) -> Stack:
    """One of them.

    Raises:
        SceneError: there is none of that name.
    """
    points = _points()
    if name not in points:
        raise SceneError(f"unknown stack {name!r}; {suggestion(name, names())}")
    stack: Stack = points[name].load()
    return stack


def recognised(source: PolicySource, wanted: str = "") -> str:
    """The stack of the files; with `wanted` only that one is tried.

    Raises:
        SceneError: no stack, or not the wanted one, recognises them.
    """
    for name in [wanted] if wanted else names():
        if _is_of(source, stack_named(name)):
            return name
    known = wanted or f"a known stack ({listed(names())})"
    why = _nearly(source, [wanted] if wanted else names()) or _other_kind(source)
    raise SceneError(f"{listed(source.files)}: not a configuration of {known}{why}")


def keys_of(stack: Stack) -> tuple[tuple[str, ...], ...]:
    """The top-level keys of its files, one tuple for each kind of file."""
    keys: tuple[tuple[str, ...], ...] = getattr(stack, "KEYS", ())
    return keys


def _is_of(source: PolicySource, stack: Stack) -> bool:
    recognises = getattr(stack, "recognises", None)
    if recognises is not None:
        return bool(recognises(source))
    return any(source.one(*keys) is not None for keys in keys_of(stack))


def _nearly(source: PolicySource, stacks: list[str]) -> str:
    """The stack that lacks least, where most of what it is recognised by is there."""
    lacks: list[tuple[int, str]] = []
    for name in stacks:
        for keys in keys_of(stack_named(name)):
            for config in source.configs:
                missing = [k for k in keys if not config.has(k)]
                if len(keys) > 2 and 0 < len(missing) < len(keys) / 2:
                    text = f"; {config.path.name} would be of {name}, but lacks {listed(missing)}"
                    lacks.append((len(missing), text))
    return min(lacks, default=(0, ""))[1]


def _other_kind(source: PolicySource) -> str:
    """What a file is that describes a training, not a policy that runs."""
    for config in source.configs:
        for keys, kind in OTHER_KINDS.items():
            if config.has(*keys):
                return f"; {config.path.name} is {kind}, which is not imported: {INSTEAD}"
    return ""
