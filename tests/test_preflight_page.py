"""The pre-flight page: its examples do what it says, and it has every finding."""

import re

import pytest

import mjrig
from mjrig.lab.check.preflight import findings
from mjrig.lab.findings.ranking import lines as finding_lines
from mjrig.lab.findings.texts import CHECK
from tests.places import ROOT

PAGE = ROOT / "docs/preflight.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="no checkout beside the tests")


def text() -> str:
    return PAGE.read_text(encoding="utf-8")


def examples() -> list[tuple[str, str]]:
    """Scene and what is said of it."""
    if not PAGE.exists():
        return []
    return re.findall(r"```yaml\n(.*?)```\n```text\n(.*?)\n```", text(), flags=re.DOTALL)


def test_there_are_examples() -> None:
    assert len(examples()) == 4


@pytest.mark.parametrize(("scene", "said"), examples())
def test_each_example_is_told_what_the_page_says(scene: str, said: str) -> None:
    lines = list(finding_lines(findings(mjrig.World(mjrig.Scene.parse(scene)))))
    assert [line.removeprefix("  ") for line in lines] == said.splitlines()


def test_the_page_has_every_code_and_no_other() -> None:
    kinds = {form.partition(" ")[0] for form in CHECK}
    documented = set(re.findall(r"^\| `([a-z-]+)` \|", text(), flags=re.MULTILINE))
    assert kinds == documented
