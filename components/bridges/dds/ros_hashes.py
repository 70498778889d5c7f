"""Hashes of ROS 2 message types (RIHS01), which nodes compare and recorders write down."""

import hashlib
import json
from typing import Any

from mjrig.components.bridges.dds.ros_types import FIELDS

#: Numbers of the kinds of a field in type_description_interfaces.
_NESTED, _KINDS = 1, {"int32": 6, "uint32": 7, "float64": 11, "str": 17}
#: Added for an array of a fixed length, and for a sequence of any.
_ARRAY, _SEQUENCE = 48, 144


def type_hash(name: str) -> str:
    """The hash of a message type: `sensor_msgs/JointState` → `RIHS01_…`."""
    description = {
        "type_description": _described(name),
        "referenced_type_descriptions": [_described(other) for other in _referenced(name)],
    }
    text = json.dumps(description, separators=(", ", ": "))
    return "RIHS01_" + hashlib.sha256(text.encode()).hexdigest()


def _full(name: str) -> str:
    package, short = name.split("/")
    return f"{package}/msg/{short}"


def _described(name: str) -> dict[str, Any]:
    return {
        "type_name": _full(name),
        "fields": [
            {"name": field, "type": _field_type(kind)} for field, kind in FIELDS[name].items()
        ],
    }


def _field_type(kind: str) -> dict[str, Any]:
    base, _, count = kind.partition("[")
    number, length = _KINDS.get(base, _NESTED), count.rstrip("]")
    if count:
        number += _ARRAY if length else _SEQUENCE
    return {
        "type_id": number,
        "capacity": int(length) if length else 0,
        "string_capacity": 0,
        "nested_type_name": "" if base in _KINDS else _full(base),
    }


def _referenced(name: str) -> list[str]:
    """All types below one, sorted."""
    found: set[str] = set()
    open_ends = [name]
    while open_ends:
        for kind in FIELDS[open_ends.pop()].values():
            base = kind.partition("[")[0]
            if base not in _KINDS and base not in found:
                found.add(base)
                open_ends.append(base)
    return sorted(found, key=_full)
