"""JSON Schema of log.yaml, for editors that complete and check it."""

from typing import Any

from mjrig.robot_logs.mapping.log_map import BASE, FORMAT, KEY, KINDS, ORDERS
from mjrig.robot_logs.mapping.log_units import QUANTITIES, TIMES, constant_unit

Schema = dict[str, Any]


def map_schema() -> Schema:
    """JSON Schema of the mapping of a log."""
    name = {"type": ["string", "integer"]}
    source = _object(
        {
            "from": {"type": "string", "description": "Topic or table."},
            "field": {
                "type": "string",
                "description": "{} stands for the joint; without it, of one joint.",
            },
            "joint": {"type": "string", "description": "Whose a field without {} is."},
            "unit": {"type": ["string", "number"]},
            "order": {"type": "array", "items": {"type": "string"}},
        },
        ["from", "field"],
    )
    joint = _object(
        {
            "id": name,
            "sign": {"enum": [1, -1]},
            "offset": {"type": "number", "description": "Added after the sign [rad or m]."},
            "torque_constant": {
                "type": "number",
                "description": f"{constant_unit(KINDS)}, for currents.",
            },
            "kind": {"enum": list(KINDS)},
            "unit": {"type": "string"},
        },
        ["id"],
    )
    stamp = _object({"stamp": {"type": "string"}, "unit": {"enum": list(TIMES)}}, ["stamp"])
    quantities = {q: {"anyOf": [source, {"type": "array", "items": source}]} for q in QUANTITIES}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mjrig log",
        **_object(
            {
                KEY: {"const": FORMAT, "description": "Format version."},
                "robot": {"type": "string"},
                "joints": {"type": "object", "additionalProperties": {"anyOf": [name, joint]}},
                **quantities,
                "base": _object({part: _base(size) for part, size in BASE.items()}),
                "time": {
                    "type": "object",
                    "additionalProperties": {"anyOf": [{"type": "string"}, stamp]},
                },
                "rate": {"type": "number", "exclusiveMinimum": 0},
                "offset": {"type": "number", "description": "Added to stamps of commands [s]."},
                "unused": {"type": "object"},
            },
            [KEY, "joints", "position"],
        ),
    }


def _base(size: int) -> Schema:
    fields = {"type": "array", "items": {"type": "string"}, "minItems": size, "maxItems": size}
    parts = {"from": {"type": "string"}, "fields": fields, "order": {"enum": list(ORDERS)}}
    return _object(parts, ["from", "fields"])


def _object(properties: Schema, required: list[str] | None = None) -> Schema:
    found = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": required} if required else found
