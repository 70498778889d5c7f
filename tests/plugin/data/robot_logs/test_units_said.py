"""Numbers of slides are said in metres, those of hinges in radians."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.core.errors import RecordingError
from mjrig.lab.replay.diagnosis.policy_case import PolicyCase

KINDS = [("hinge",), ("slide",), ("hinge", "slide"), ("slide", "hinge", "slide")]
UNITS = {"hinge": "rad", "slide": "m"}


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_a_log_that_stands_still_says_within_what(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    time = np.arange(50) * 0.01
    names = [f"j{k}" for k in range(len(kinds))]
    moved = {kind: 1e-5 * (k + 1) for k, kind in enumerate(kinds)}
    columns = {f"q_{n}": moved[kind] * (time > 0.2) for n, kind in zip(names, kinds, strict=True)}
    np.savez(tmp_path / "log.npz", time=time, **columns)  # type: ignore[arg-type]
    joints = "".join(f"  {n}: {{id: {n}, kind: {k}}}\n" for n, k in zip(names, kinds, strict=True))
    (tmp_path / "log.npz.log.yaml").write_text(
        f'mjrig_log: 1\nrobot: arm\njoints:\n{joints}position: {{from: log, field: "q_{{}}"}}\n'
        "time:\n  log: {stamp: time, unit: s}\n"
    )
    within = " and ".join(f"{moved[k]:.2g} {u}" for k, u in UNITS.items() if k in kinds)
    with pytest.raises(RecordingError, match=f"the positions stay within {within}$"):
        mjrig.read_recording(tmp_path / "log.npz")


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_findings_of_a_policy_say_the_unit_of_its_joints(kinds: tuple[str, ...]) -> None:
    efforts = {"hinge": "N·m", "slide": "N"}
    actuators = [
        SimpleNamespace(joint=f"j{k}", actuator=f"m{k}", effort_unit=efforts[kind])
        for k, kind in enumerate(kinds)
    ]
    match: Any = SimpleNamespace(robot=SimpleNamespace(actuators=actuators))
    nothing: Any = None
    case = PolicyCase(nothing, nothing, [match], nothing, {})
    wanted = list(dict.fromkeys(UNITS[kind] for kind in kinds))
    for letter in "jm":  # joints are named by their actuators, too
        names = [f"{letter}{k}" for k in range(len(kinds))]
        assert case.unit_of(names) == " or ".join(wanted)
        assert case.unit_of(names, "rad/s") == " or ".join(f"{unit}/s" for unit in wanted)
