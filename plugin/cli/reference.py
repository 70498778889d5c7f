"""The reference page of docs/ and the terminal description of a type.

What a base class declares for several types is listed once, in a section of that base; each of its
types links to the section and lists only what it declares itself.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from mjrig.core.control.articulation import Articulation
from mjrig.core.properties import registry
from mjrig.core.properties.actions import Action
from mjrig.core.properties.declaration import Property
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import Nested, NestedList
from mjrig.core.scene.editing.scene import Scene
from mjrig.lab.report.output import format_table

Type = type[HasProperties]

#: Headings of shared sections whose class name is not what a reader would look for.
_HEADINGS = {
    "Transform": "Everything with a pose",
    "ArticulationController": "Every controller",
    "PipelineOwner": "Every controller with a law",
}
_INTRODUCTION = """\
# Reference

Generated from the declarations by `mjrig components --reference`; do not edit.

Properties that several types have in common are listed once, under
[Shared properties](#shared-properties); each type links to the sections that apply to it. Where a
type lists a property that a linked section lists too, the type's own row applies.
"""


def describe(cls: Type) -> list[str]:
    """A type's documentation, properties and actions, as lines for the terminal."""
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


def reference_page() -> str:
    """The reference page of docs/, in Markdown."""
    in_scenes = _with_nested(Scene)
    installed = [registry.get(name, HasProperties) for name in registry.names()]
    components = _unique(c for cls in installed for c in _with_nested(cls))
    page = Page(_unique([*in_scenes, Articulation, *components]))
    groups: dict[str, list[Type]] = {
        "Scene files": in_scenes,
        "The actor in a running world": [Articulation],
        "Shared properties": page.shared,
        "Components": [c for c in components if c not in in_scenes],
    }
    lines = [_INTRODUCTION]
    for heading, classes in groups.items():
        lines += [f"## {heading}", ""]
        for cls in classes:
            lines += page.section(cls)
    return "\n".join(lines).rstrip() + "\n"


class Page:
    """The sections of a set of types and of the base classes they share."""

    def __init__(self, types: list[Type]) -> None:
        self.types = types
        bases = {b for cls in types for b in _bases(cls)} - set(types)
        shared = [b for b in bases if _declares(b) and sum(issubclass(c, b) for c in types) > 1]
        self.shared = sorted(shared, key=_lineage)

    def heading(self, cls: Type) -> str:
        """The heading of a section: the name of a type, or what a shared base stands for."""
        if cls in self.types:
            return cls.__name__
        return _HEADINGS.get(cls.__name__) or f"Every {_words(cls.__name__)}"

    def section(self, cls: Type) -> Iterator[str]:
        """One section in Markdown: documentation, links to shared sections, own rows, actions."""
        yield from (f"### {self.heading(cls)}", "", *_doc_lines(cls), "")
        linked = [b for b in _bases(cls) if (b in self.types or b in self.shared) and _declares(b)]
        if linked:
            yield f"Also: {', '.join(self._link(b) for b in linked)}."
            yield ""
        if rows := [_markdown_row(p) for p in cls.properties() if not _from(linked, p)]:
            yield from (
                "| property | kind | default | unit | range | |",
                "|---|---|---|---|---|---|",
            )
            yield from (*rows, "")
        if actions := [a for a in cls.actions() if not any(a in b.actions() for b in linked)]:
            yield from (*map(_markdown_action, actions), "")

    def _link(self, cls: Type) -> str:
        heading = self.heading(cls)
        return f"[{heading}](#{anchor(heading)})"


def anchor(heading: str) -> str:
    """What a link to a heading ends in, as GitHub and most renderers of Markdown make it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _unique(classes: Iterable[Type]) -> list[Type]:
    return list(dict.fromkeys(classes))


def _with_nested(cls: Type) -> list[Type]:
    """A class and those nested in it that are not chosen by `type`, outermost first."""
    found = [cls]
    for prop in cls.properties():
        if isinstance(prop, Nested | NestedList) and not prop.polymorphic:
            found += [c for c in _with_nested(prop.base) if c not in found]
    return found


def _bases(cls: Type) -> list[Type]:
    """The base classes that may declare properties, nearest first."""
    return [b for b in cls.__mro__[1:] if issubclass(b, HasProperties)]


def _lineage(cls: Type) -> tuple[str, ...]:
    """Sort key that keeps a base class in front of what derives from it, and families together."""
    return tuple(b.__name__ for b in reversed([cls, *_bases(cls)]))


def _declares(cls: Type) -> bool:
    """Whether a class adds properties or actions to those of its bases."""
    return any(p.owner is cls for p in cls.properties()) or len(cls.actions()) > max(
        len(b.actions()) for b in _bases(cls) or [cls]
    )


def _from(bases: list[Type], prop: Property[Any]) -> bool:
    return any(prop in b.properties() for b in bases)


def _words(name: str) -> str:
    """`SolidProp` as `solid prop`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.lstrip("_")).lower()


def _doc_lines(cls: type) -> list[str]:
    return [line.strip() for line in (cls.__doc__ or "").strip().splitlines()]


def _markdown_action(act: Action) -> str:
    return f"- `{act.signature}`: {act.doc.partition(chr(10))[0]}"


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
