"""What is wrong on a command line is an error at the flag: every command, every such flag."""

import argparse
import os
import re
import signal
from pathlib import Path

import pytest

from mjrig.cli.main import main
from mjrig.cli.options import OverrideOptions
from tests.command_lines import COMMANDS, READ, SCENE, line
from tests.wording import mentions

for package in ("h5py", "optuna"):
    pytest.importorskip(package)
Output = pytest.CaptureFixture[str]
SETTING = [
    command
    for command, parser in COMMANDS.items()
    if issubclass(parser.get_default("options"), OverrideOptions)
]
#: Wrong in what is set, in its value, and in what it names, which only the model knows.
USUAL = ("amr.PDController.kp=3", "arm.PDController.kp=[1, 2", "arm.PDController.kp={q: 3}")
MORE = (
    *USUAL,
    "arm.PDController.kd=3",
    "arm.PDController.kp=stiff",
    "arm.joints={q: 3}",
    "arm.keyframe=q",
    "arm.model=q.xml",
    "sim.timestep=-1",
)
NAMED = [
    pytest.param(command, action.dest, id=f"{command} {action.dest}")
    for command, parser in COMMANDS.items()
    for action in parser._actions
    if action.type is Path and action.dest in READ
]
#: What the search of a sweep needs besides a folder.
_MORE = {
    "sweep": ["--grid", "arm.PDController.kp=1,2"],
    "optimise": ["--range", "arm.PDController.kp=1:2"],
}


@pytest.fixture(autouse=True)
def folder(recorded: Path) -> None:
    Path("all.yaml").write_text("mjrig: 1\ninclude: [s.yaml]\n")


def _is_at_the_flag(setting: str, said: str) -> None:
    assert said.startswith(f"mjrig: --set {setting}: "), said
    path = setting.partition("=")[0]
    assert said.count("\n") == said.count(path) == 1, said
    assert ".yaml:" not in said and "arm.xml:" not in said


@pytest.mark.parametrize("command", SETTING)
def test_an_error_of_set_is_at_the_flag(command: str, capsys: Output) -> None:
    for setting in USUAL:
        assert main([*line(command, {"set": setting}), *_MORE.get(command, ())]) == 1
        _is_at_the_flag(setting, capsys.readouterr().err)


@pytest.mark.parametrize("scene", ["s.yaml", "all.yaml", "arm.xml"])
def test_whatever_is_set_wrongly_is_at_the_flag(scene: str, capsys: Output) -> None:
    """In a scene, in an included one, and in a model that stands for one."""
    for setting in MORE:
        if scene != "arm.xml" or "PDController" not in setting:
            assert main(["check", scene, "--set", setting]) == 1
            _is_at_the_flag(setting, capsys.readouterr().err)


def test_a_sweep_names_the_place_in_the_scene(capsys: Output) -> None:
    """It runs a copy, which has no file."""
    Path("s.yaml").write_text(SCENE.replace("kp: 20", "kp: {q: 3}"))
    assert main(["sweep", "s.yaml", "--grid", "arm.PDController.kv=1,2", "-o", "o"]) == 1
    assert capsys.readouterr().err.startswith("mjrig: s.yaml:3:")


@pytest.mark.parametrize("command", SETTING)
def test_a_variable_that_a_scene_has_not_is_at_the_flag(command: str, capsys: Output) -> None:
    words = [*line(command, {"var": "kp=1"}), *_MORE.get(command, ())]
    assert main(words) == 1
    said = capsys.readouterr().err
    assert said == "mjrig: --var kp=1: the scene has no variable 'kp'; available: none\n"


def test_what_was_set_last_is_the_culprit(capsys: Output) -> None:
    first, then = "arm.PDController.kp={q: 3}", "arm.PDController.kp={r: 3}"
    assert main(["check", "s.yaml", "--set", first, "--set", then]) == 1
    assert capsys.readouterr().err.startswith(f"mjrig: --set {then}: 'r' matches no")
    assert main(["check", "s.yaml", "--set", "arm.joints={j: 1}", "--set", first]) == 1
    assert capsys.readouterr().err.startswith(f"mjrig: --set {first}: 'q' matches no")
    Path("s.yaml").write_text(SCENE.replace("kp: 20", "kp: {q: 3}"))
    assert main(["check", "s.yaml", "--set", "arm.PDController.kv=3"]) == 1
    assert re.match(r"mjrig: s\.yaml:3:\d+: ", capsys.readouterr().err)


@pytest.mark.parametrize(("command", "dest"), NAMED)
def test_a_file_that_is_not_there_names_the_nearest(
    command: str, dest: str, capsys: Output
) -> None:
    """One letter is missing."""
    if command == "schema":  # its --policy is a switch
        return
    action = next(a for a in COMMANDS[command]._actions if a.dest == dest)
    assert isinstance(action, argparse.Action)
    for name in ("robot.yaml", "robot.xml", "robot.h5", "robot.npz"):
        Path(name).write_text("")
        assert main(line(command, {dest: name.replace("b", "")})) == 1
        assert mentions(capsys.readouterr().err, f": there is no such … '{name}'?")
        Path(name).unlink()
    assert main(line(command, {dest: "gone/robot.xml"})) == 1
    assert mentions(capsys.readouterr().err, "; the folder 'gone' does not …")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize(("command", "dest"), NAMED)
def test_no_command_waits_for_a_pipe(command: str, dest: str, capsys: Output) -> None:
    if command == "schema":
        return

    def stop(number: int, frame: object) -> None:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    try:
        for name in ("pipe.yaml", "pipe.xml", "pipe.h5"):
            os.mkfifo(name)
            for place in (name, "/dev/zero"):
                assert main(line(command, {dest: place})) == 1
                assert capsys.readouterr().err == f"mjrig: {place}: is not a regular file\n"
            os.unlink(name)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
