"""Properties: declared once on a class; their kinds, per-actuator values, actions, components.

A custom component needs: `from mjrig.properties import Float, PerActuator`.
"""

from mjrig.properties.actions import action
from mjrig.properties.array_kinds import Samples, Vector
from mjrig.properties.component import ActorComponent, Component
from mjrig.properties.declaration import Property
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.mapping_kinds import Numbers, Table
from mjrig.properties.nested_kinds import Nested, NestedList
from mjrig.properties.per_actuator import PatternLists, PatternMap, PerActuator
from mjrig.properties.scalar_kinds import (
    Bool,
    Choice,
    FilePath,
    Float,
    Int,
    OptionalFloat,
    Patterns,
    Text,
)

__all__ = [
    "ActorComponent",
    "Bool",
    "Choice",
    "Component",
    "FilePath",
    "Float",
    "HasProperties",
    "Int",
    "Nested",
    "NestedList",
    "Numbers",
    "OptionalFloat",
    "PatternLists",
    "PatternMap",
    "Patterns",
    "PerActuator",
    "Property",
    "Samples",
    "Table",
    "Text",
    "Vector",
    "action",
]
