"""Fields of actions and observation terms that no reader knows: they are listed, never dropped."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from mjrig.components.importers.isaac.actions import class_of
from mjrig.components.importers.isaac.env_file import EnvFile
from mjrig.components.importers.sources.vendor_file import VendorEntry

_ACTION = ("class_type", "asset_name", "entity_name", "debug_vis", "clip", "joint_names",
           "actuator_names", "transmission_type", "scale", "offset", "preserve_order",
           "use_default_offset")  # fmt: skip
_OF_CLASS = {
    "JointPositionToLimitsAction": ("rescale_to_limits",),
    "RelativeJointPositionAction": ("use_zero_offset",),
}
#: Noise is of the training; the rest of a delay matters only where there is a lag.
_TERM = ("func", "params", "modifiers", "noise", "clip", "scale", "history_length",
         "flatten_history_dim", "delay_min_lag", "delay_max_lag", "delay_per_env",
         "delay_hold_prob", "delay_update_period", "delay_per_env_phase")  # fmt: skip
#: Values that switch a field off.
_OFF: tuple[Any, ...] = (None, False, 0, "", [], {})


def unread_fields(env: EnvFile, groups: Sequence[str]) -> Iterator[str]:
    """`path value` of every field with a value that nothing here knows."""
    for _, entry in env.actions():
        if entry.data is not None:
            yield from _unread(entry, (*_ACTION, *_OF_CLASS.get(class_of(entry), ())))
    for term in env.observed(groups):
        yield from _unread(term.entry, _TERM)


def _unread(entry: VendorEntry, known: Collection[str]) -> Iterator[str]:
    for key, value in entry.mapping().items():
        if key not in known and value not in _OFF:
            text = str(value)
            brief = text if len(text) <= 40 else f"{text[:39]}…"
            yield f"{'.'.join(map(str, entry.path))}.{key} {brief}"
