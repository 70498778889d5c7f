"""Robots whose servos are MuJoCo's own: sweeps, fits and assignments say what to do instead."""

from pathlib import Path

import pytest

from mjrig.cli.main import main
from tests.worlds import hinge

SERVO = '<position name="drive" joint="swing" kp="20" kv="2"/>'
WAY = "robot.use_motors=true makes motors of its position actuators, for a PDController"


@pytest.mark.parametrize(
    "command",
    [
        "sweep {} --grid robot.native_gains.kp[drive]=10,40 --run 0.1 -o {}.out",
        "tune fit {} {}.h5",
        "tune assign {} --frequency 5",
    ],
)
def test_each_of_them_names_the_way_out(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m.xml").write_text(hinge(SERVO))
    scene = tmp_path / "s.yaml"
    scene.write_text("mjrig: 1\nactors: [{name: robot, model: m.xml}]\n")
    if "fit" in command:
        assert main(["run", str(scene), "--duration", "0.05", "--record", f"{scene}.h5"]) == 0
    assert main(command.format(scene, scene).split()) == 1
    said = capsys.readouterr().err
    assert WAY in said and "\n" not in said.strip()
