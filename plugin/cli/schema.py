"""JSON Schema and reference page, generated from the property declarations."""

from collections.abc import Iterator
from typing import Any

from mjrig.control.articulation import Articulation
from mjrig.properties import registry
from mjrig.properties.component import Component
from mjrig.properties.declaration import Property
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.module_types import PATTERN
from mjrig.properties.nested_kinds import Nested, NestedList
from mjrig.scene.scene_text import FORMAT
from mjrig.scene_edit.scene import Scene
from mjrig.terminal.table import format_table

Schema = dict[str, Any]
#: Allowed in place of any value: a text with a variable in it.
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


# Descriptions -----------------------------------------------------------------------------------


def describe(cls: type[HasProperties]) -> list[str]:
    """Description, properties and actions of a type, as lines for the terminal."""
    lines = [cls.__name__, *("  " + line for line in _doc_lines(cls)), "", "properties"]
    header = ("name", "kind", "default", "unit", "range", "")
    rows = [
        (p.name, p.kind, p.default_text().strip("`"), p.unit, p.range_text(), p.doc)
        for p in cls.properties()
        if p.shown
    ]
    lines += ["  " + line for line in format_table(header, rows)] if rows else ["  none"]
    if cls.actions():
        lines += ["", "actions"]
        for act in cls.actions():
            lines.append(f"  {act.signature}")
            lines.append(f"      {act.doc.partition(chr(10))[0]}")
    return lines


def _doc_lines(cls: type) -> list[str]:
    return [line.strip() for line in (cls.__doc__ or "").strip().splitlines()]


def reference_page() -> str:
    """The reference page of docs/, in Markdown."""
    lines = [
        "# Reference",
        "",
        "Generated from the declarations by `mjrig components --reference`; do not edit.",
        "",
        "## Scene files",
        "",
    ]
    for cls in _described_with(Scene):
        lines += _section(cls)
    lines += ["## The actor in a running world", "", *_section(Articulation), "## Components", ""]
    names = registry.names()
    for name in names:
        for cls in _described_with(registry.get(name, HasProperties)):
            if cls.__name__ == name or cls.__name__ not in names:
                lines += _section(cls)
    return "\n".join(lines).rstrip() + "\n"


def _described_with(cls: type[HasProperties]) -> list[type[HasProperties]]:
    """A class and those nested in it that have no page of their own, outermost first."""
    found = [cls]
    for prop in cls.properties():
        if isinstance(prop, Nested | NestedList) and not prop.polymorphic:
            found += [c for c in _described_with(prop.base) if c not in found]
    return found


def _section(cls: type[HasProperties]) -> Iterator[str]:
    yield f"### {cls.__name__}"
    yield ""
    yield from _doc_lines(cls)
    yield ""
    if cls.properties():
        yield "| property | kind | default | unit | range | |"
        yield "|---|---|---|---|---|---|"
        for prop in cls.properties():
            yield _markdown_row(prop)
        yield ""
    for act in cls.actions():
        yield f"- `{act.signature}`: {act.doc.partition(chr(10))[0]}"
    if cls.actions():
        yield ""


def _markdown_row(prop: Property[Any]) -> str:
    notes = [prop.doc]
    if prop.edit_if:
        notes.append(f"Needs `{prop.edit_if}`.")
    if prop.structural:
        notes.append("Structural.")
    if prop.read_only:
        notes.append("Read-only.")
    cells = (
        f"`{prop.name}`", prop.kind, prop.default_text(), prop.unit, prop.range_text(),
        " ".join(n for n in notes if n),
    )  # fmt: skip
    return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |"
