"""What the documents show works as printed."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

import mjrig

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(
    not (ROOT / "README.md").exists(), reason="no checkout beside the tests"
)


def blocks(document: str, language: str) -> list[str]:
    """The fenced blocks of one language in a document."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def test_the_readme_example_runs_as_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    (example,) = blocks("README.md", "python")
    assert len(example.splitlines()) == 12
    exec(compile(example, "README.md", "exec"), {})
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("FL_hip")
    assert out[-1].startswith("trunk at 0.2")
    assert out[-1].endswith("after 1 s")


def test_the_extending_example_makes_a_working_class() -> None:
    (example,) = blocks("docs/extending.md", "python")
    names: dict[str, type] = {}
    exec(compile(example, "docs/extending.md", "exec"), names)
    cls = names["SpringController"]
    assert [p.name for p in cls.properties()][-3:] == ["stiffness", "rest", "limit"]  # type: ignore[attr-defined]


def test_the_actuation_examples_run_as_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for example in blocks("docs/actuation.md", "python"):
        exec(compile(example, "docs/actuation.md", "exec"), {})


def test_the_scenes_of_the_page_about_them_are_scenes(tmp_path: Path) -> None:
    variables, include, schema = blocks("docs/scenes.md", "yaml")
    assert mjrig.Scene.parse(variables).variables()["hips"] == {"left_.*_hip": 60, "default": 40}
    assert mjrig.Scene.parse(schema).actors == ()
    (tmp_path / "parts").mkdir()
    (tmp_path / "scenes").mkdir()
    (tmp_path / "parts/lab.yaml").write_text("mjrig: 1\n")
    part = files("mjrig.config").joinpath("parts").joinpath("arm.yaml").read_text("utf-8")
    (tmp_path / "parts/arm.yaml").write_text(part)
    scene = mjrig.Scene.parse("mjrig: 1\n" + include, tmp_path / "scenes")
    assert scene["left_arm"].components[0].authored("kv") == 10


def test_the_reference_page_is_up_to_date() -> None:
    from mjrig.schema import reference_page

    written = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
    assert written == reference_page(), "run: mjrig components --reference > docs/reference.md"
