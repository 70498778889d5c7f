"""What a user's own class may rely on: hooks for fresh instances, and errors with their place."""

from pathlib import Path

import pytest

import mjrig
from mjrig.cli.main import main
from mjrig.core.errors import PropertyError
from mjrig.core.properties.registry import described
from mjrig.properties import Component, Float
from tests.wording import regex

SCENE = """\
mjrig: 1
actors:
  - name: dog
    model: legs.xml
    components:
      - type: mine:Mine
"""
MODULE = """\
from mjrig import ArticulationController
from mjrig.properties import Float


class Mine(ArticulationController):
    '''Mine.'''

    low = Float(1.0, doc="Low.")
    high = Float(2.0, doc="High.")

    def compute_and_apply(self, model, data, source):
        pass

    def {hook}:
        {body}
"""


class Derived(Component):
    """Derives what depends on its properties."""

    gain = Float(2.0, doc="Gain.")
    other = Float(1.0, doc="Another.")

    def prepare(self) -> None:
        self._seen: list[tuple[str, ...]] = []

    def validate(self) -> None:
        if self.gain > 10 * self.other:
            raise ValueError("gain must not exceed 10 · other")

    def on_change(self, names: tuple[str, ...]) -> None:
        self._seen.append(names)
        self._twice = 2 * self.gain


def test_a_fresh_instance_derives_from_all_of_its_properties_at_once() -> None:
    for made in (Derived(), Derived(other=3), Derived.from_data({"type": "Derived"})):
        assert made._seen == [("gain", "other")]
        assert made._twice == 4
        made.gain = 5.0
        assert made._seen[1:] == [("gain",)]
    assert Derived(gain=7).copy()._twice == 14


def test_properties_that_do_not_fit_are_refused_from_the_start() -> None:
    with pytest.raises(
        PropertyError, match="^" + regex("Derived: gain must not exceed 10 · …") + "$"
    ):
        Derived(gain=11)
    made = Derived()
    with pytest.raises(PropertyError, match="must not exceed"):
        made.other = 0.1
    assert (made.other, made._twice) == (1.0, 4)


def scene(models: Path, hook: str, body: str) -> str:
    (models / "mine.py").write_text(MODULE.replace("{hook}", hook).replace("{body}", body))
    path = models / "s.yaml"
    path.write_text(SCENE)
    return str(path)


def test_a_value_error_in_a_hook_has_the_place_in_the_scene(models: Path) -> None:
    path = scene(models, "validate(self)", "raise ValueError('low must not exceed high')")
    with pytest.raises(mjrig.SceneError, match=regex("s.yaml:6:9: …: low must not exceed …") + "$"):
        mjrig.Scene.load(path, trust=True)


@pytest.mark.parametrize(
    ("hook", "call"),
    [
        ("on_change(self, names)", "Mine.on_change (mine.py:15)"),
        ("on_bind(self, model, data)", "Mine.on_bind (mine.py:15)"),
        ("attach(self, articulation)", "Mine.attach (mine.py:15)"),
        ("reset(self)", "dog.Mine.reset (mine.py:15)"),
        ("before_controls(self, time)", "dog.Mine.before_controls (mine.py:15)"),
        ("compute_and_apply(self, model, data, source)", "dog.Mine.compute_and_apply (mine.py:15)"),
    ],
)
def test_an_exception_of_a_users_class_names_component_method_and_line(
    models: Path, capsys: pytest.CaptureFixture[str], hook: str, call: str
) -> None:
    path = scene(models, hook, "return {}[3]")
    assert main(["run", path, "--trust", "--duration", "0.1"]) == 1
    error = capsys.readouterr().err
    assert call in error
    assert error.endswith(": KeyError: 3; --debug shows the traceback\n")
    assert error.count("\n") == 1
    with pytest.raises(KeyError):
        main(["run", path, "--trust", "--duration", "0.1", "--debug"])


def test_an_exception_of_mjrig_itself_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> int:
        raise KeyError(3)

    monkeypatch.setattr("mjrig.cli.schema.scene_schema", broken)
    with pytest.raises(KeyError):
        main(["schema"])
    assert described(KeyError(3)) == "KeyError: 3"
    assert described(NotImplementedError()) == "NotImplementedError"


def test_an_attribute_that_is_no_property_says_how_to_name_it() -> None:
    made = Derived()
    with pytest.raises(PropertyError, match=regex("as an attribute of … '_addresses'") + "$"):
        made.addresses = [1]
