"""Inside lab only rollouts builds or steps worlds; fits are excepted."""

import ast
from pathlib import Path

import pytest

import mjrig.lab

LAB = Path(next(iter(mjrig.lab.__path__)))
#: May build and step worlds.
EXPERIMENTS = ("rollouts", "fit")
BUILDERS = {"World", "Batch", "PolicyBatch", "WarpBatch"}
#: Names of variables that hold a world or a batch.
HOLDERS = {"world", "worlds", "batch", "template"}


def uses_of_worlds(source: str) -> list[tuple[int, str]]:
    """Line and text of everything that builds or steps a world or a batch."""
    uses = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and last_name(node.func) in BUILDERS:
            uses.append((node.lineno, ast.unparse(node.func)))
        if isinstance(node, ast.Attribute) and node.attr == "step":
            if last_name(node.value).lstrip("_") in HOLDERS:
                uses.append((node.lineno, ast.unparse(node)))
        if isinstance(node, ast.Attribute) and node.attr.startswith("mj_step"):
            uses.append((node.lineno, ast.unparse(node)))
    return sorted(uses)


def last_name(node: ast.expr) -> str:
    """`batch` of `self.batch`, and of `batch`."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def modules() -> list[Path]:
    return [p for p in sorted(LAB.rglob("*.py")) if p.relative_to(LAB).parts[0] not in EXPERIMENTS]


def test_only_rollouts_builds_and_steps_worlds() -> None:
    assert len(modules()) > 50
    uses = {p: uses_of_worlds(p.read_text("utf-8")) for p in modules()}
    assert {str(p.relative_to(LAB)): lines for p, lines in uses.items() if lines} == {}


@pytest.mark.parametrize(
    "line",
    [
        "World(scene)",
        "sim.Batch(scene, 3)",
        "WarpBatch(world, 1).step",
        "world.step()",
        "self._world.step(2)",
        "advance = host.world.step",
        "self.batch.step(1)",
        "mujoco.mj_step(model, data)",
    ],
)
def test_uses_are_recognised(line: str) -> None:
    assert len(uses_of_worlds(line)) == 1


def test_other_steps_are_not_taken_for_one() -> None:
    assert uses_of_worlds("host.step()\nrecorded.step[3]\nbuild_world(scene)\njudge.step(r)") == []
