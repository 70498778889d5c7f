"""What the tests of the pre-flight share."""

import mjrig
from mjrig.core.findings import Finding, Level
from mjrig.lab.check.preflight import findings
from tests.worlds import make_world

SOFT = {"kp": 1.0, "kv": 0.1}


def found(world: mjrig.World, code: str) -> list[Finding]:
    """The findings of one code."""
    return [f for f in findings(world) if f.kind == code]


def findings_of(
    kind: str, xml: str, *components: mjrig.ActorComponent, **actor: object
) -> list[Finding]:
    """The findings of one kind about a model."""
    return found(make_world(xml, components, **actor), kind)  # type: ignore[arg-type]


def edits(finding: Finding) -> list[str]:
    """The edits of the first remedy, as text."""
    return [str(edit) for edit in finding.edits]


Facts = tuple[list[str], object, object]


def facts(kind: str, xml: str, *components: mjrig.ActorComponent, **actor: object) -> list[Facts]:
    """Place, value here and expected value of the findings of one kind about a model."""
    return [(f.paths, f.here, f.expected) for f in findings_of(kind, xml, *components, **actor)]


def warnings(xml: str, *components: mjrig.ActorComponent) -> list[Finding]:
    """Every warning and error about a model."""
    every = findings(make_world(xml, components))
    return [f for f in every if f.severity is not Level.NOTE]
