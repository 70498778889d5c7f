"""The files around the code say what is true of it."""

import re
import tomllib

import pytest
import yaml

from tests.places import ROOT

pytestmark = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").is_file(), reason="there is no checkout beside the tests"
)


def project() -> dict[str, object]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return dict(settings["project"])


def test_the_citation_names_the_version_and_licence() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == project()["version"]
    assert citation["license"] == project()["license"]


def test_the_changelog_has_the_version_with_its_date() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    heading = f"## {citation['version']} ({citation['date-released']})"
    assert heading in (ROOT / "CHANGELOG.md").read_text().splitlines()


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda p: p.name)
def test_workflows_and_templates_are_yaml(path: object) -> None:
    with open(str(path), encoding="utf-8") as file:
        assert yaml.safe_load(file)


def test_workflows_run_targets_and_extras_that_exist() -> None:
    text = "".join(p.read_text() for p in (ROOT / ".github" / "workflows").glob("*.yml"))
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    assert set(re.findall(r"run: make ([a-z-]+)", text)) <= set(targets)
    extras: dict[str, object] = dict(project()["optional-dependencies"])  # type: ignore[call-overload]
    asked = re.findall(r"\.\[([a-z,]+)\]", text)
    assert asked and all(name in extras for group in asked for name in group.split(","))


def test_contributing_names_files_and_commands_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for name in re.findall(r"`((?:tools|tests|components|docs|benchmarks)/[\w/.]*)`?", text):
        assert (ROOT / name).exists(), name
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.M))
    assert named <= set(targets)
