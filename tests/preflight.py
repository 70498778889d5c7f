"""What the tests of the pre-flight share."""

import mjrig
from mjrig.core.findings import Finding, Level
from mjrig.lab.check.preflight import findings
from tests.worlds import make_world

SOFT = {"kp": 1.0, "kv": 0.1}


def found(world: mjrig.World, code: str) -> list[Finding]:
    """The findings of one code."""
    return [f for f in findings(world) if f.kind == code]


def told(code: str, xml: str, *components: mjrig.ActorComponent, **actor: object) -> list[str]:
    """What findings of one code say about a model."""
    return [str(f) for f in found(make_world(xml, components, **actor), code)]  # type: ignore[arg-type]


Facts = tuple[list[str], object, object]


def facts(kind: str, xml: str, *components: mjrig.ActorComponent, **actor: object) -> list[Facts]:
    """Place, value here and expected value of the findings of one kind about a model."""
    every = found(make_world(xml, components, **actor), kind)  # type: ignore[arg-type]
    return [(f.paths, f.here, f.expected) for f in every]


def warnings(xml: str, *components: mjrig.ActorComponent) -> list[str]:
    """Every warning and error about a model."""
    every = findings(make_world(xml, components))
    return [str(f) for f in every if f.severity is not Level.NOTE]
