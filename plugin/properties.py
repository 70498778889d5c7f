"""Properties: declared once on a class; their kinds, per-actuator values, actions, components.

A custom component needs: `from mjrig.properties import Float, PerActuator`.
"""

from mjrig.core.properties.actions import action
from mjrig.core.properties.collection_kinds import Numbers, Samples, Table, Vector
from mjrig.core.properties.component import ActorComponent, Component
from mjrig.core.properties.declaration import Property
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import Nested, NestedList
from mjrig.core.properties.per_actuator import PatternLists, PatternMap, PerActuator
from mjrig.core.properties.scalar_kinds import (
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
