"""What docs/policies.md shows works as printed."""

import re
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
import yaml

import mjrig
from mjrig.components.policies.policy_file import PolicyFile
from mjrig.core.errors import BindingError
from mjrig.core.properties import registry
from tests.components.policies.small import idle, make, policy_of
from tests.places import DOCS
from tests.plugin.lab.scenes import write_scene
from tests.worlds import arm, refused

PAGE = DOCS / "policies.md"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="no docs beside the tests")


def blocks(language: str) -> list[str]:
    """The pieces of code on the page."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_policy_files_are_right() -> None:
    pieces = [text for text in blocks("yaml") if not text.startswith("mjrig:")]
    assert len(pieces) >= 9
    least = {"network": "a.onnx", "joints": ["FR_hip_joint", "FR_thigh_joint", "FR_calf_joint"]}
    terms = {"observation": {"terms": [{"type": "LastAction"}]}}
    for text in pieces:
        said = yaml.safe_load(text)
        nested = {} if "terms" in said.get("observation", {}) else terms
        PolicyFile.from_data(least | said | nested).complete()


def test_the_term_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = next(text for text in blocks("python") if "class FootHeight" in text)
    (tmp_path / "my_package.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    point = EntryPoint("FootHeight", "my_package:FootHeight", registry.GROUP)
    known = registry._points() | {point.name: point}
    monkeypatch.setattr(registry, "_points", lambda: known)
    idle(tmp_path / "policy.onnx", 2)
    term = {"type": "FootHeight", "site": "tip", "scale": 10, "history": 2}
    world, _, policy = make(tmp_path, observation={"terms": [term]}, actor={"joints": {"elbow": 1}})
    world.step()
    assert policy.observation.round(4).tolist() == pytest.approx([-2.5244, -2.5244], abs=1e-4)
    parts = "{type: PDController, kp: 10, kv: 1}", "{type: Policy, file: policy.yaml}"
    scene = write_scene(tmp_path, arm(), *parts)
    batch, alone = mjrig.PolicyBatch(scene, 2), mjrig.World(scene, "native")
    batch.step(5)
    alone.step(5)
    seen = policy_of(alone["robot"]).observation
    np.testing.assert_array_equal(batch.policy().observation, [seen] * 2)
    where = "robot.Policy.file: policy.observation.terms[0]"
    message = f"{where}: there is no site 'tipp'; … 'tip'?"
    with refused(BindingError, message):
        make(tmp_path, xml=arm(), observation={"terms": [term | {"site": "tipp"}]})


def test_the_batch_of_the_page_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (source,) = [text for text in blocks("python") if "mjrig.PolicyBatch" in text]
    monkeypatch.chdir(DOCS.parent)
    exec(source.replace("64", "9"), {})  # as printed, but with fewer worlds
    printed = capsys.readouterr().out
    assert "(9, 47) (9, 12) True" in printed
    assert printed.startswith("[25 25 25 25 25 25 25  0 25]")
