"""The reference page and the terminal description of a type."""

import re
from collections import Counter

import pytest

from mjrig.cli.reference import Page, anchor, describe, reference_page
from mjrig.components.controllers.feedback_controllers import PDController
from mjrig.core.properties import registry
from mjrig.core.properties.actions import action
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.scalar_kinds import Bool, Float
from mjrig.core.scene.editing.scene import Actor, Scene
from mjrig.core.scene.mujoco_options import SimOptions
from mjrig.core.scene.pose import Pose
from tests.wording import matches

# The reference page -----------------------------------------------------------------------------


def sections() -> dict[str, str]:
    """The text of each section on the reference page, by anchor."""
    found = reference_page().split("\n### ")[1:]
    return {anchor(text.partition("\n")[0]): text.partition("\n## ")[0] for text in found}


def reachable(name: str) -> str:
    """A section and those it links to."""
    known = sections()
    links = re.findall(r"\]\(#([\w-]+)\)", known[anchor(name)])
    return "\n".join(known[n] for n in (anchor(name), *links))


@pytest.mark.parametrize("name", registry.names())
def test_every_property_and_action_of_a_component_is_reachable_from_its_section(name: str) -> None:
    cls = registry.get(name, HasProperties)
    text = reachable(name)
    for prop in cls.properties():
        assert f"| `{prop.name}` | {prop.kind} | {prop.default_text()} |" in text
    for act in cls.actions():
        assert f"- `{act.signature}`: " in text


@pytest.mark.parametrize("cls", [Scene, Actor, Pose, SimOptions])
def test_every_property_of_a_scene_file_is_reachable(cls: type[HasProperties]) -> None:
    for prop in cls.properties():
        assert f"| `{prop.name}` | {prop.kind} |" in reachable(cls.__name__)


def test_no_row_stands_twice() -> None:
    lines = [line for line in reference_page().splitlines() if line.startswith("| `")]
    rows = [re.split(r"(?<!\\)\|", line) for line in lines]
    found = Counter((name, kind, default, doc) for _, name, kind, default, _, _, doc, _ in rows)
    assert len(found) > 300
    assert [row for row, times in found.items() if times > 1] == []


def test_shared_properties_are_listed_with_their_base() -> None:
    known = sections()
    assert "| `gear` |" in known["every-actuator"]
    assert "| `gear` |" not in known["motoractuator"]
    assert "[Every actuator](#every-actuator)" in known["motoractuator"]
    assert "[Every controller with a law](#every-controller-with-a-law)" in known["pidcontroller"]


def test_a_row_has_everything_about_a_property() -> None:
    assert (
        "| `kp` | per_actuator | `default_kp` | N·m/rad | >= 0 N·m/rad | Stiffness per actuator. |"
    ) in sections()["pdcontroller"]


def test_every_table_has_six_cells_in_each_row() -> None:
    rows = [line for line in reference_page().splitlines() if line.startswith(("| ", "|-"))]
    assert {line.replace("\\|", "").count("|") for line in rows} == {7}


class Shape(HasProperties):
    """Has a size."""

    size = Float(1.0, doc="Edge length.")

    @action
    def grow(self) -> None:
        """Double the size."""


class Cube(Shape):
    """Adds nothing."""


class BigCube(Shape):
    """Starts larger."""

    size = Float(9.0, doc="Edge length.")


def test_a_default_that_a_subclass_overrides_is_listed_with_the_subclass() -> None:
    page = Page([Cube, BigCube])
    assert page.shared == [Shape]
    link = "Also: [Every shape](#every-shape)."
    row = "| `size` | float | {} |  |  | Edge length. |"
    shared = list(page.section(Shape))
    assert row.format(1) in shared
    assert "- `grow()`: Double the size." in shared
    assert list(page.section(Cube)) == ["### Cube", "", "Adds nothing.", "", link, ""]
    big = list(page.section(BigCube))
    assert link in big
    assert row.format(9) in big


def test_what_only_one_type_inherits_is_listed_with_it() -> None:
    page = Page([Cube])
    assert page.shared == []
    assert "| `size` | float | 1 |  |  | Edge length. |" in page.section(Cube)


# Descriptions -----------------------------------------------------------------------------------


def test_a_type_is_described_in_lines() -> None:
    lines = [" ".join(line.split()) for line in describe(PDController)]
    assert lines[0] == "PDController"
    assert matches(lines[1], "τ = ff + kp (q* − q) + kv (v* − … ±torque_limit [N·m … N].")
    doc = "Stiffness of actuators that kp does not name."
    assert f"default_kp float 100 N·m/rad >= 0 N·m/rad {doc}" in lines
    assert lines[-2] == PDController.actions()[0].signature


def test_a_hidden_property_is_not_described() -> None:
    class Shy(HasProperties):
        """Has nothing to show."""

        secret = Bool(True, shown=False)

    assert describe(Shy) == ["Shy", "  Has nothing to show.", "", "properties", "  none"]
