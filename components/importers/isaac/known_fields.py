"""Fields of actions and observation terms in env.yaml that are read, or matter to a training."""

from collections.abc import Collection, Iterator, Sequence

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


def known_fields(
    env: EnvFile, groups: Sequence[str]
) -> Iterator[tuple[VendorEntry, Collection[str]]]:
    """Every action and observation term, with the fields of it that are known."""
    for _, entry in env.actions():
        if entry.data is not None:
            yield entry, (*_ACTION, *_OF_CLASS.get(class_of(entry), ()))
    for term in env.observed(groups):
        yield term.entry, _TERM
