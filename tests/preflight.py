"""What the tests of the pre-flight share."""

import mjrig
from mjrig.core.findings import Finding, Level
from mjrig.lab.check.preflight import findings
from tests.worlds import make_world

SOFT = {"kp": 1.0, "kv": 0.1}


def found(world: mjrig.World, code: str) -> list[Finding]:
    """The findings of one code."""
    return [f for f in findings(world) if f.code == code]


def told(code: str, xml: str, *components: mjrig.ActorComponent, **actor: object) -> list[str]:
    """What findings of one code say about a model."""
    return [str(f) for f in found(make_world(xml, components, **actor), code)]  # type: ignore[arg-type]


def warnings(xml: str, *components: mjrig.ActorComponent) -> list[str]:
    """Every warning and error about a model."""
    every = findings(make_world(xml, components))
    return [str(f) for f in every if f.level is not Level.NOTE]
