"""The command line: what it prints, and its exit codes."""

import json
import re
import subprocess
import sys
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import pytest

from mjrig.cli.main import main
from mjrig.core.control.finite_guard import Event, folded
from mjrig.core.errors import SceneError
from tests.patience import PATIENCE
from tests.wording import matches, mentions

SCENE = """\
mjrig: 1
actors:
  - name: dog
    model: legs.xml
    keyframe: home
    components:
      - type: PDController
        kp: 10
"""
Output = pytest.CaptureFixture[str]


@pytest.fixture
def scene(models: Path) -> str:
    (models / "s.yaml").write_text(SCENE)
    return str(models / "s.yaml")


def bundled(name: str) -> str:
    return str(files("mjrig.config").joinpath("scenes").joinpath(f"{name}.yaml"))


def failure(capsys: Output, *arguments: str) -> str:
    """The one line on stderr of a command that exits with 1."""
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("mjrig: ")
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("mjrig: ").rstrip("\n")


def misuse(capsys: Output, *arguments: str) -> str:
    """The last line on stderr of a command that exits with 2."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


def run(capsys: Output, scene: str, *arguments: str) -> str:
    assert main(["run", scene, "--duration", "0.02", *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def mjrig(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mjrig", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


# run --------------------------------------------------------------------------------------------


def test_run_prints_a_summary(capsys: Output, scene: str) -> None:
    lines = run(capsys, scene).splitlines()
    assert lines[0].startswith("s.yaml: 0.02 s simulated in ")
    assert ", 10 steps of 2 ms, execution " in lines[0]
    assert lines[1] == "dog: 5 actuators, 4 under a controller"
    assert lines[-1] == "events: none"


def test_a_run_of_no_duration_takes_no_steps(capsys: Output, scene: str) -> None:
    assert main(["run", scene, "--duration", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert ", 0 steps of 2 ms, " in lines[0]
    assert lines[1:] == ["dog: 5 actuators, 4 under a controller", "events: none"]


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "soon"])
def test_a_duration_that_is_none_is_wrong_usage(capsys: Output, scene: str, text: str) -> None:
    assert matches(
        misuse(capsys, "run", scene, "--duration", text),
        f"mjrig run: error: argument --duration: … >= 0, … {text}",
    )


def test_set_changes_properties_before_the_run(capsys: Output, scene: str) -> None:
    settings = ["dog.pd.kp=1e3", "sim.timestep=1e-3", "dog.pose.position=[0, 0, 1]"]
    out = run(capsys, scene, *(a for s in settings for a in ("--set", s)))
    assert ", 20 steps of 1 ms, " in out
    assert main(["check", scene, "--set", "dog.pd.kp={.*_hip: 7, default: 8}"]) == 0
    rows = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines() if line}
    assert [rows[name][4] for name in ("left_hip", "left_knee")] == ["7", "8"]
    assert Path(scene).read_text() == SCENE


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("dog.pd.kpp=40", "PDController has no property 'kpp'; did … 'kp'?"),
        ("dgo.pd.kp=40", "the scene has no … 'dgo'; … 'dog'?"),
        ("dog.PDController.kp=stiff", "must be a number, got 'stiff'"),
        ("dog.pd.kp=010", "value:1:1: 010 is not a decimal …"),
        (
            "dog.pd.kp=[1",
            "value:1:3: not valid YAML: expected ',' or ']', … '<stream end>', …",
        ),
        ("=5", "'' is not a path; … actor.component.property"),
    ],
)
def test_a_setting_that_is_wrong_is_one_line(
    capsys: Output, scene: str, setting: str, expected: str
) -> None:
    assert matches(failure(capsys, "run", scene, "--set", setting), f"--set {setting}: {expected}")


@pytest.mark.parametrize(
    "call",
    [
        "dog.hold=home",
        "dog.release_hold",
        "dog.pd.set_gains=[40, [1, 2, 3, 4], 30]",
        "dog.PDController.set_gains={kp: 40, kv: [1, 2, 3, 4], torque_limits: 30}",
    ],
)
def test_call_calls_an_action_before_the_run(capsys: Output, scene: str, call: str) -> None:
    assert run(capsys, scene, "--call", call).endswith("events: none\n")


def test_a_called_action_acts_on_the_run(capsys: Output, scene: str) -> None:
    limited = run(capsys, scene, "--call", "dog.pd.set_gains=[1000, 0, 0]")
    assert mentions(limited, "effort at its limit 100.0 % …")
    assert mentions(run(capsys, scene), "effort at its limit 0.0 % …")


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("dog.hodl=home", "dog has no action 'hodl'; … 'hold'?"),
        ("dog.hold", "dog.hold(keyframe: str): missing keyframe"),
        ("dog.hold=hoem", "dog has no keyframe 'hoem'; … 'home'?"),
        ("dgo.hold=home", "the world has no … 'dgo'; … 'dog'?"),
        ("hold", "'hold' is not a path; … actor.component.property"),
        (
            "dog.pd.set_gains=[[1, 2], 1, 1]",
            "dog.PDController.kp: must have 4 values, one … 2",
        ),
    ],
)
def test_a_call_that_is_wrong_is_one_line(
    capsys: Output, scene: str, call: str, expected: str
) -> None:
    assert matches(failure(capsys, "run", scene, "--call", call), expected)


def test_an_unknown_execution_is_wrong_usage(capsys: Output, scene: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["run", scene, "--execution", "pyton"])
    assert caught.value.code == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("mjrig run: error: argument --execution: invalid choice: 'pyton'")


# check ------------------------------------------------------------------------------------------


def test_check_shows_who_drives_what_and_why(capsys: Output) -> None:
    assert main(["check", bundled("arm")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Check of arm.yaml: findings: none"
    assert matches(lines[2], "arm: 7 actuators, 6 bound to a …")
    gripper = next(line for line in lines if line.startswith("  gripper"))
    assert gripper.split()[:4] == ["gripper", "tendon", "grip", "position"]
    assert "setpoint, directly" in gripper
    assert any(matches(line, "  gripper: drives the tendon 'grip', not …") for line in lines)


def test_check_warns_of_gains_that_explode(capsys: Output, scene: str) -> None:
    assert main(["check", scene, "--set", "dog.pd.kv=1e6"]) == 1
    assert mentions(capsys.readouterr().out, "explicit PD is unstable in … ")


def test_check_strict_counts_warnings(capsys: Output, scene: str) -> None:
    warned = ["check", scene, "--set", "dog.pd.torque_limit=.inf"]
    assert main(warned) == 0
    assert "warning [no-limit]" in capsys.readouterr().out
    assert main([*warned, "--strict"]) == 1
    assert main(["check", bundled("arm"), "--strict"]) == 0


def test_check_as_json(capsys: Output, scene: str) -> None:
    assert main(["check", scene, "--set", "dog.pd.kv=1e6", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert list(data) == ["actors", "executions", "findings"]
    worst = data["findings"][0]
    assert (worst["severity"], worst["kind"]) == ("error", "unstable-pd")
    assert "dog.left_hip" in worst["where"]


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_scene_that_is_wrong_is_one_line_with_its_place(
    capsys: Output, scene: str, command: str
) -> None:
    Path(scene).write_text(SCENE.replace("kp:", "kpp:"))
    assert matches(
        failure(capsys, command, scene),
        f"{scene}:8:9: actors[0].components[0].kpp: PDController has no property 'kpp'; did … "
        "'kp'?",
    )


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_missing_scene_is_one_line(capsys: Output, scene: str, command: str) -> None:
    missing = scene.replace("s.yaml", "t.yaml")
    assert matches(failure(capsys, command, missing), f"{missing}: there is no such … 's.yaml'?")


def test_debug_shows_the_traceback(scene: str) -> None:
    wrong = ["check", scene, "--set", "cat.pd.kp=1", "--debug"]
    with pytest.raises(SceneError):
        main(wrong)
    done = mjrig(*wrong)
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback (most recent call last):")


# components and schema --------------------------------------------------------------------------


def test_components_lists_every_type_with_its_home(capsys: Output) -> None:
    assert main(["components"]) == 0
    rows = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines()}
    assert (
        rows["PDController"][2] == "mjrig.components.controllers.feedback_controllers:PDController"
    )
    assert {"type", "PassthroughController", "TrotGait"} <= set(rows)


def test_components_shows_one_type_in_full(capsys: Output) -> None:
    assert main(["components", "PDController"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "PDController"
    assert {"properties", "actions"} <= set(lines)
    assert any(line.startswith("  torque_limit ") for line in lines)
    assert any(line.startswith("  set_gains(") for line in lines)


def test_components_names_the_nearest_type(capsys: Output) -> None:
    assert failure(capsys, "components", "pdcontroller").endswith("; did you mean 'PDController'?")


def test_components_prints_the_reference_page(capsys: Output) -> None:
    assert main(["components", "--reference"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("# Reference\n")
    assert {"### Scene", "### Actor", "### Articulation", "### PDController"} <= set(
        page.splitlines()
    )


def test_schema_prints_json_schema(capsys: Output) -> None:
    assert main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["required"] == ["mjrig"]
    assert schema["$defs"]["PDController"]["properties"]["type"] == {"const": "PDController"}


@pytest.mark.parametrize("name", ["arm", "humanoid", "pendulum", "quadruped", "quadruped_trot"])
def test_the_bundled_scenes_fit_the_schema(capsys: Output, name: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    main(["schema"])
    from mjrig.core.scene.editing.scene import Scene

    schema = json.loads(capsys.readouterr().out)  # a valid one: test_schema.py
    jsonschema.Draft202012Validator(schema).validate(Scene.load(bundled(name)).to_data())


# Usage ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [[], ["run"], ["check"], ["components"], ["schema"]])
def test_every_command_has_help(capsys: Output, command: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*command, "--help"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: {' '.join(['mjrig', *command])} ")


def test_version_is_the_installed_one(capsys: Output) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"mjrig {version('mjrig')}\n"


@pytest.mark.parametrize(
    "arguments", [["walk"], ["run"], ["check"], ["schema", "x"], ["run", "s", "--fast"]]
)
def test_wrong_usage_exits_with_2(capsys: Output, arguments: list[str]) -> None:
    assert "error: " in misuse(capsys, *arguments)


# As a process -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_process_exits_with_the_code_and_one_line(scene: str) -> None:
    assert mjrig("check", scene).returncode == 0
    wrong = mjrig("check", scene + "x")
    assert (wrong.returncode, wrong.stdout, wrong.stderr.count("\n")) == (1, "", 1)
    assert mjrig("walk").returncode == 2


@pytest.mark.parametrize("reader", [["head", "-1"], ["true"]])
def test_a_reader_that_leaves_early_is_no_error(scene: str, reader: list[str]) -> None:
    command = [sys.executable, "-m", "mjrig", "check", scene]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as check,
        subprocess.Popen(reader, stdin=check.stdout, stdout=subprocess.PIPE) as head,
    ):
        assert check.stdout is not None
        assert check.stderr is not None
        check.stdout.close()
        out, _ = head.communicate(timeout=PATIENCE)
        assert check.stderr.read() == b""
        assert check.wait(timeout=PATIENCE) == 0
    assert out in (b"", b"Check of s.yaml: findings: 2 notes\n")


def test_a_setting_without_a_value_is_wrong_usage(
    scene: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["check", scene, "--set", "dog.pd.kp"])
    assert caught.value.code == 2
    assert (
        capsys.readouterr()
        .err.splitlines()[-1]
        .endswith("argument --set: write PATH=VALUE, as in dog.PDController.kp=40")
    )


# Variables, differences, watching ---------------------------------------------------------------


@pytest.fixture
def flexible(models: Path) -> str:
    text = SCENE.replace("kp: 10", "kp: ${kp}").replace("mjrig: 1\n", "mjrig: 1\nvars: {kp: 10}\n")
    (models / "v.yaml").write_text(text)
    return str(models / "v.yaml")


def test_a_variable_gets_another_value(capsys: Output, flexible: str) -> None:
    assert main(["check", flexible, "--var", "kp=77"]) == 0
    assert " 77 " in capsys.readouterr().out
    run(capsys, flexible, "--var", "kp=77")
    assert failure(capsys, "run", flexible, "--var", "kp=-1") == (
        f"{flexible}:9:13: actors[0].components[0].kp: "
        "dog.PDController.kp: must be >= 0 N·m/rad, got -1"
    )
    assert matches(
        failure(capsys, "check", flexible, "--var", "pk=1"),
        "--var pk=1: the scene has no … 'pk'; … 'kp'?",
    )


@pytest.mark.parametrize("text", ["kp", "=3", " =3"])
def test_a_variable_needs_a_name_and_a_value(capsys: Output, flexible: str, text: str) -> None:
    assert matches(
        misuse(capsys, "check", flexible, "--var", text),
        "mjrig check: error: argument --var: … NAME=VALUE, … kp=40",
    )


def test_two_scenes_are_told_apart(capsys: Output, scene: str, flexible: str) -> None:
    assert main(["diff", scene, flexible, "--exit-code"]) == 0
    assert capsys.readouterr().out == "no differences\n"
    Path(flexible).write_text(SCENE.replace("kp: 10", "kp: 20"))
    assert main(["diff", scene, flexible]) == 0
    assert capsys.readouterr().out == "dog.PDController.kp: 10 → 20\n"
    assert main(["diff", scene, flexible, "--exit-code"]) == 1
    capsys.readouterr()
    assert failure(capsys, "diff", scene, "nope.yaml").startswith("nope.yaml: there is no such")


def test_a_watched_scene_is_checked_until_somebody_interrupts(
    capsys: Output, scene: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    naps = 0

    def sleep(seconds: float) -> None:
        nonlocal naps
        naps += 1
        if naps == 1:
            Path(scene).write_text(SCENE.replace("kp: 10", "kp: -1"))
        elif naps == 2:
            Path(scene).write_text(SCENE.replace("kp: 10", "kp: 4321"))
        else:
            raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", sleep)
    assert main(["check", scene, "--watch"]) == 130
    captured = capsys.readouterr()
    first, second, third = captured.out.split("--- ")[1:]
    assert mentions(first, "dog: 5 actuators, 4 bound to a …")
    assert f"{scene}:8:13: actors[0].components[0].kp: " in second
    assert " 4321 " in third
    assert captured.err == "mjrig: interrupted\n"


# Newcomers --------------------------------------------------------------------------------------


def test_the_program_alone_says_how_to_begin(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = re.findall(r"^  mjrig (\w+)", capsys.readouterr().out, re.M)
    with pytest.raises(SystemExit):
        main(["--help"])
    commands = capsys.readouterr().out
    assert len(shown) >= 5
    assert all(re.search(rf"^    {name} ", commands, re.M) for name in shown)


@pytest.mark.parametrize(("typed", "meant"), [(["rnu"], "run"), (["tune", "asign"], "assign")])
def test_a_mistyped_command_is_understood(
    typed: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(typed)
    assert caught.value.code == 2
    assert mentions(capsys.readouterr().err, f"there is no command {typed[-1]!r}; … {meant!r}?")


def test_a_type_beside_you_is_shown_only_if_it_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(
        "from mjrig.components import PDController\nopen('ran', 'w').close()\n\n\n"
        "class Mine(PDController):\n    '''Holds on.'''\n"
    )
    assert main(["components", "own:Mine"]) == 1
    assert mentions(capsys.readouterr().err, "if you trust that … --trust")
    assert not (tmp_path / "ran").exists()
    assert main(["components", "own:Mine", "--trust"]) == 0
    assert "Holds on." in capsys.readouterr().out


def test_repeated_events_are_one_line() -> None:
    events = [Event(0.1 * k, "r", "target", "m", "j", "r.m: no number") for k in range(10)]
    other = Event(0.5, "r", "target", "n", "k", "r.n: no number")
    assert folded([*events, other]) == [
        "t=0.0000 s: r.m: no number (… 9 more until t=0.9000 s)",
        "t=0.5000 s: r.n: no number",
    ]


def test_an_error_in_a_model_names_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.xml").write_text("<mujoco><worldbody><geom></worldbody></mujoco>")
    (tmp_path / "s.yaml").write_text("mjrig: 1\nactors: [{name: a, model: bad.xml}]\n")
    assert main(["check", str(tmp_path / "s.yaml")]) == 1
    assert "s.yaml:2:27: actors[0].model: a.model: 'bad.xml': XML" in capsys.readouterr().err


WEAK = """<mujoco><option timestep="0.002"/><worldbody><body><joint name="j" axis="0 1 0"
 {joint}/><geom type="capsule" size=".03" fromto="0 0 0 .5 0 0"/></body></worldbody>
<actuator><motor joint="j" name="m" {motor}/></actuator></mujoco>"""


@pytest.mark.parametrize(
    "joint, motor",
    [
        ('actuatorfrcrange="-1 1"', ""),
        ("", 'forcerange="-1 1"'),
        ("", 'ctrlrange="-1 1"'),
        ("", 'ctrlrange="-.5 .5" gear="2"'),
    ],
)
@pytest.mark.parametrize("execution", ["auto", "python"])
def test_limits_of_the_model_count_as_those_of_the_controller(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], joint: str, motor: str, execution: str
) -> None:
    (tmp_path / "weak.xml").write_text(WEAK.format(joint=joint, motor=motor))
    scene = tmp_path / "weak.yaml"
    scene.write_text(
        "mjrig: 1\nactors:\n  - name: w\n    model: weak.xml\n    components:\n"
        "      - {type: PDController, kp: 100, kv: 1}\n"
    )
    shown = []
    for limit in ("200", "1"):
        options = ["--set", f"w.PDController.torque_limit={limit}", "--execution", execution]
        assert main(["run", str(scene), "--duration", "1", *options]) == 0
        line = next(x for x in capsys.readouterr().out.splitlines() if "at its limit" in x)
        shown.append(line)
    assert shown[0] == shown[1]
    assert "0.0 %" not in shown[0]
    assert main(["check", str(scene), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["actors"][0]["actuators"][0]["limit"] == 1.0


@pytest.mark.parametrize(
    "arguments, problem",
    [
        (["edit", "--web", "--port", "99999"], "must be a whole … 0 … 65535, … 99999"),
        (["edit", "--web", "--port=-1"], "must be a whole … 0 … 65535, … -1"),
        (["run", "x.yaml", "--set", "a.PDController.kp="], "has no value; a.PDController.kp=null"),
    ],
)
def test_options_without_sense_are_wrong_usage(
    capsys: pytest.CaptureFixture[str], arguments: list[str], problem: str
) -> None:
    pytest.importorskip("imgui_bundle")
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert mentions(capsys.readouterr().err, problem)
