"""What a command writes is checked before its work begins: every option of every command."""

import os
from pathlib import Path
from typing import Any

import pytest

import mjrig
from mjrig.cli.command_options import OutputFile
from mjrig.cli.main import main
from tests.command_lines import ARM, COMMANDS, READ, SCENE, line, outputs
from tests.wording import mentions

OUTPUTS = [
    pytest.param(command, output, id=f"{command} {output.name}")
    for command, parser in COMMANDS.items()
    for output in outputs(parser)
]


def test_every_path_is_read_or_declared_as_written() -> None:
    for command, parser in COMMANDS.items():
        written = {o.name for o in outputs(parser)}
        paths = {a.dest for a in parser._actions if a.type is Path}
        assert paths == written | (paths & READ), command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("arm.xml").write_text(ARM)
    Path("s.yaml").write_text(SCENE)
    Path("run.h5").write_text("no recording")
    Path("file").write_text("")
    return tmp_path


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a command begins to work."""

    def work(*given: object, **more: object) -> Any:
        raise AssertionError("the work began")

    monkeypatch.setattr(mjrig.World, "__init__", work)
    monkeypatch.setattr(mjrig.Scene, "load", work)


@pytest.mark.parametrize(("command", "output"), OUTPUTS)
def test_what_cannot_be_written_is_refused_before_the_work(
    command: str,
    output: OutputFile,
    folder: Path,
    no_work: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    suffix = output.suffixes[0] if output.suffixes else ".yaml"
    Path(f"dir{suffix}").mkdir()
    targets = ["file/x" + suffix] if not output.folder else ["file", "file/x"]
    if not output.folder:
        targets.append(f"dir{suffix}")
    if output.suffixes:
        targets.append("a.wrong")
    for target in targets:
        assert main(line(command, {output.name: target})) == 1
        said = capsys.readouterr().err
        assert said.startswith(f"mjrig: {target}: ") and said.count("\n") == 1, said


@pytest.mark.parametrize(("command", "output"), OUTPUTS)
def test_what_is_read_is_not_written(
    command: str,
    output: OutputFile,
    folder: Path,
    no_work: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if output.folder or output.may_be_input:
        return
    for action in COMMANDS[command]._actions:
        if action.dest not in READ or not (action.required or not action.option_strings):
            continue
        suffix = output.suffixes[0] if output.suffixes else ".yaml"
        same = Path(f"same{suffix}")
        same.unlink(missing_ok=True)
        os.link("s.yaml" if action.dest == "scene" else "run.h5", same)
        words = [
            w if w not in ("s.yaml", "run.h5", "arm.xml") else str(same)
            for w in line(command, {output.name: str(same)})
        ]
        assert main(words) == 1
        assert (
            mentions(said := capsys.readouterr().err, "is what the command …") or "exists" in said
        )


def test_folders_are_made_and_said_and_not_left_behind(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["run", "s.yaml", "--duration", "0.01", "--record", "a/b/run.h5"]
    assert main([*run, "--set", "arm.nope=1"]) == 1
    assert not Path("a").exists()
    assert "made" not in capsys.readouterr().err
    assert main(run) == 0
    assert Path("a/b/run.h5").is_file()
    assert capsys.readouterr().err == "mjrig: made the folder a/b\n"


# What only the scene tells ----------------------------------------------------------------------


@pytest.mark.parametrize("command", ["sweep", "optimise"])
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--best-scene", "other/b.yaml"], "must be in the …"),
        (["--best", "b.yaml", "--range", "sim.timestep=0.001:0.002"], "is not a gain"),
    ],
)
def test_the_best_is_refused_before_the_work(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    options: list[str],
    problem: str,
) -> None:
    def work(*given: object, **more: object) -> Any:
        raise AssertionError("the work began")

    monkeypatch.setattr("mjrig.lab.sweep.runner.sweep", work)
    monkeypatch.setattr("mjrig.lab.sweep.optimisation.optimise", work)
    if "--range" not in options:
        options = [*options, "--range", "arm.PDController.kp=1:2"]
    sample = ["--sample", "2"] if command == "sweep" else []
    words = [command, "s.yaml", *options, *sample, "--actor", "arm", "-o", "results"]
    assert main(words) == 1
    assert mentions(capsys.readouterr().err, problem)
    assert not Path("other").exists() and not Path("results").exists()


@pytest.mark.parametrize("job", ["assign", "fit"])
def test_gains_are_not_written_into_a_model(
    folder: Path, capsys: pytest.CaptureFixture[str], job: str
) -> None:
    more = ["--frequency", "5"] if job == "assign" else ["run.h5"]
    assert main(["tune", job, "arm.xml", *more, "--write"]) == 1
    assert capsys.readouterr().err == (
        "mjrig: arm.xml: is a model, and --write puts gains into a scene; --preset F.yaml writes "
        "them to a file of their own\n"
    )


def test_an_export_does_not_replace_a_file_of_the_scene(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "s.yaml", "-o", "./arm.xml"]) == 1
    assert capsys.readouterr().err == (
        "mjrig: arm.xml: is a file of the scene itself; write another one\n"
    )
    assert Path("arm.xml").read_text() == ARM
