"""A scene, a recording and a policy file while mistakes are put into them, one after the other."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import yaml

import mjrig
from mjrig.core.control.plant import Plant
from mjrig.data.recording.recording import Recording
from tests.plugin.lab.replay.sabotage.fixtures import Fixture
from tests.plugin.lab.replay.sabotage.sabotaged import Sabotaged, plain


@dataclass
class Draft:
    """What `finished` makes a case of.

    Attributes:
        data: the policy file; None: there is no policy.
        edited: whether the policy file was changed: then the policy is run in the loop.
        models: changes of the compiled model.
    """

    fixture: Fixture
    rng: Random
    recording: Recording
    scene: mjrig.Scene
    data: dict[str, Any] | None
    edited: bool = False
    models: list[Callable[[Any], object]] = field(default_factory=list)

    @classmethod
    def of(cls, fixture: Fixture, rng: Random) -> "Draft":
        case = plain(fixture)
        data = None
        if fixture.policy is not None:
            data = yaml.safe_load(yaml.safe_dump(fixture.said))
        return cls(fixture, rng, case.recording, case.scene, data)

    @property
    def policy(self) -> dict[str, Any]:
        """The policy file, which is about to be changed."""
        assert self.data is not None
        self.edited = True
        return self.data

    def factor(self, low: float, high: float) -> float:
        """A random factor with three digits, at least 12 % away from 1."""
        while True:
            found = float(f"{low * (high / low) ** self.rng.random():.3g}")
            if abs(found - 1.0) > 0.12:
                return found

    def some(self, names: list[str]) -> list[str]:
        """One name, some, or all of them."""
        count = self.rng.choice([1, self.rng.randint(1, len(names)), len(names)])
        return sorted(self.rng.sample(names, count), key=names.index)

    def forget_plant(self) -> None:
        """Let the recording list no gains, limits, options and properties of joints."""
        bare = replace(next(iter(self.recording.actors.values())), plant=Plant())
        self.recording = replace(self.recording, actors={bare.name: bare})

    def finished(self, folder: Path) -> Sabotaged:
        """The case, its policy file in a folder."""
        case = Sabotaged(self.recording, self.scene, self.fixture.policy)
        if self.models:
            case.model = self._change_model
        if self.edited:
            case.policy, case.mode = folder / "policy.yaml", "policy"
            case.policy.write_text(yaml.safe_dump(self.data, sort_keys=False))
            for component in case.scene.actors[0].components:
                if type(component).__name__ == "Policy":
                    component.assign({"file": str(case.policy)})
        return case

    def _change_model(self, model: Any) -> None:
        for change in self.models:
            change(model)
