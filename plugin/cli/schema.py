"""JSON Schema of scene files and of files that one registered type describes."""

from typing import Any

from mjrig.core.properties import registry
from mjrig.core.properties.component import Component
from mjrig.core.properties.declaration import Property
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.registry import PATTERN
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.motor_file import FORMAT as MOTOR_FORMAT
from mjrig.core.scene.motor_file import MARK, MotorFile
from mjrig.core.scene.scene_text import FORMAT

Schema = dict[str, Any]
#: Accepted in place of any value: a text with a variable in it.
VARIABLE = {"$ref": "#/$defs/variable"}


def scene_schema() -> Schema:
    """JSON Schema of a scene file, with every component type that is installed."""
    definitions: Schema = {
        "variable": {
            "type": "string",
            "pattern": r"(^|[^$])\$\{[^{}]+\}",
            "description": "A text with variables of `vars`: ${name}.",
        }
    }
    schema = _object(Scene, definitions)
    schema["required"] = ["mjrig"]
    schema["properties"]["mjrig"] = {"const": FORMAT, "description": "Format version."}
    definitions["Actor"]["required"] = ["name"]
    definitions["Actor"]["oneOf"] = [{"required": ["model"]}, {"required": ["prop"]}]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mjrig scene",
        **schema,
        "$defs": dict(sorted(definitions.items())),
    }


def file_schema(name: str) -> Schema:
    """JSON Schema of a file that one registered type describes: `PolicyFile`.

    Raises:
        PropertyError: there is no such type.
    """
    cls: type[HasProperties] = registry.get(name, HasProperties)
    definitions: Schema = {}
    schema = _object(cls, definitions)
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"mjrig {name}",
        **schema,
        "$defs": dict(sorted(definitions.items())),
    }
    return dict(_without_variables(whole))


def motor_schema() -> Schema:
    """JSON Schema of a motor's file."""
    schema = file_schema(MotorFile.__name__)
    mark = {"const": MOTOR_FORMAT, "description": "Format version."}
    properties = {MARK: mark, **schema["properties"]}
    return {**schema, "properties": properties, "required": [MARK]}


def _without_variables(schema: Any) -> Any:
    """A schema for files without variables."""
    if isinstance(schema, list):
        return [_without_variables(item) for item in schema if item != VARIABLE]
    if not isinstance(schema, dict):
        return schema
    return {key: _without_variables(value) for key, value in schema.items()}


def _object(cls: type[HasProperties], definitions: Schema, *, typed: bool = False) -> Schema:
    properties: Schema = {}
    if typed:
        properties["type"] = {"const": cls.__name__}
    for prop in cls.properties():
        if prop.stored:
            properties[prop.name] = {**_property(prop, definitions), **_about(prop)}
    doc = (cls.__doc__ or "").strip().partition("\n")[0]
    schema: Schema = {
        "type": "object",
        "description": doc,
        "properties": properties,
        "additionalProperties": False,
    }
    if typed:
        schema["required"] = ["type"]
    return schema


def _about(prop: Property[Any]) -> Schema:
    parts = [prop.doc, f"[{prop.unit}]" if prop.unit else "", f"Default: {prop.default_text()}."]
    return {"description": " ".join(p for p in parts if p)}


def _property(prop: Property[Any], definitions: Schema) -> Schema:
    resolved = _resolve(prop.json_schema(), definitions)
    return _or_variable(resolved)


def _resolve(schema: Any, definitions: Schema) -> Any:
    """Replace references to classes and families by references to definitions."""
    if isinstance(schema, list):
        return [_resolve(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "x-mjrig" in schema:
        ((kind, cls),) = schema["x-mjrig"].items()
        if kind == "class":
            return _reference(cls, definitions)
        found = [registry.get(name, cls) for name in registry.names(cls)]
        if not found:
            return {}
        ways = [VARIABLE, {"type": "string", "pattern": f"^{PATTERN}$"}]
        named = {"type": "object", "properties": {"type": {"anyOf": ways}}, "required": ["type"]}
        return {"oneOf": [*(_reference(c, definitions, typed=True) for c in found), named]}
    return {key: _resolve(value, definitions) for key, value in schema.items()}


def _or_variable(schema: Any) -> Schema:
    """The schema of a value, or of a variable in its place; the same for values inside of it."""
    if not schema:
        return {}  # anything, a variable too
    inner = _values_inside(schema)
    ways = inner.pop("anyOf", None)
    return {**inner, "anyOf": [*ways, VARIABLE]} if ways else {"anyOf": [inner, VARIABLE]}


def _values_inside(schema: Any) -> Any:
    """One way to write a value, whose parts may be variables."""
    if not isinstance(schema, dict):
        return schema
    inner = dict(schema)
    for key in ("items", "additionalProperties"):
        if isinstance(inner.get(key), dict):
            inner[key] = _or_variable(inner[key])
    if "anyOf" in inner:
        inner["anyOf"] = [*map(_values_inside, inner["anyOf"])]
    return inner


def _reference(cls: type[HasProperties], definitions: Schema, *, typed: bool = False) -> Schema:
    """A reference to a definition; where only one class can stand, it needs no `type`."""
    untyped = issubclass(cls, Component) and not typed
    name = f"{cls.__name__} block" if untyped else cls.__name__
    if name not in definitions:
        definitions[name] = {}  # placeholder: types may nest each other
        definitions[name] = _object(cls, definitions, typed=typed)
    return {"$ref": f"#/$defs/{name}"}
