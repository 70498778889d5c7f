"""Mistakes in the policy file: rate, terms, actions, joints, the stand before it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import mjrig
from mjrig.core.patterns import Slots
from mjrig.data.recording.readers import read_recording
from mjrig.lab.replay.diagnosis.order_hypotheses import mirrored
from tests.plugin.lab.replay.sabotage.fixtures import Fixture
from tests.plugin.lab.replay.sabotage.sabotaged import Mistake, Sabotaged, plain


def policy(edit: Callable[[dict[str, Any], Fixture], object]) -> Mistake:
    """A mistake in the policy file; an edit that returns False does not apply."""

    def made(fixture: Fixture, folder: Path) -> Sabotaged | None:
        if fixture.policy is None:
            return None
        data = yaml.safe_load(yaml.safe_dump(fixture.said))
        if edit(data, fixture) is False:
            return None
        case = plain(fixture)
        case.policy, case.mode = folder / "policy.yaml", "policy"
        case.policy.write_text(yaml.safe_dump(data, sort_keys=False))
        for component in case.scene.actors[0].components:
            if type(component).__name__ == "Policy":
                component.assign({"file": str(case.policy)})
        return case

    return made


def terms_of(data: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    return [t for t in data["observation"]["terms"] if t["type"] == kind]


def spread(data: Mapping[str, Any], value: Any) -> list[float]:

    joints = data["joints"]
    if isinstance(value, list):
        return [float(v) for v in value]
    if isinstance(value, dict):
        found = Slots([(n,) for n in joints], "", "joint").spread(value)
        return [float(found[i][1]) if i in found else 0.0 for i in range(len(joints))]
    return [float(value)] * len(joints)


def scale_of(kind: str, factor: float = 2.0) -> Mistake:
    def edit(data: dict[str, Any], fixture: Fixture) -> object:
        terms = terms_of(data, kind)
        for term in terms:
            scale = term.get("scale", 1.0)
            many = isinstance(scale, list)
            term["scale"] = [s * factor for s in scale] if many else scale * factor
        return bool(terms)

    return policy(edit)


def action_filter(data: dict[str, Any], fixture: Fixture) -> None:
    data.setdefault("action", {})["smoothing"] = 0.5


def action_clip(data: dict[str, Any], fixture: Fixture) -> object:
    """A clip that half of the recorded actions exceed."""
    assert fixture.actor.policy is not None
    bound = float(np.abs(fixture.actor.policy.action).max()) / 2
    data.setdefault("action", {})["clip"] = [-bound, bound]
    return True


def action_offset(data: dict[str, Any], fixture: Fixture) -> object:
    data.setdefault("action", {})["offset"] = 0.0
    moves = any(abs(v) > 0.01 for v in spread(data, data.get("default", 0.0)))
    return moves and data["action"].get("mode", "absolute") == "absolute"


def action_mode(data: dict[str, Any], fixture: Fixture) -> None:
    action = data.setdefault("action", {})
    action["mode"] = "delta" if action.get("mode", "absolute") == "absolute" else "absolute"


def observation_clip(data: dict[str, Any], fixture: Fixture) -> None:
    data["observation"]["clip"] = 0.3


def term_order(data: dict[str, Any], fixture: Fixture) -> None:
    terms = data["observation"]["terms"]
    terms[0], terms[1] = terms[1], terms[0]


def phase_form(data: dict[str, Any], fixture: Fixture) -> object:
    terms = terms_of(data, "GaitPhase")
    for term in terms:
        term["form"] = "sin_cos" if term.get("form", "sin_cos") == "cos_sin" else "cos_sin"
    return bool(terms)


def there(mistake: Callable[[dict[str, Any], Fixture], object], seconds: float = 2.0) -> Mistake:
    """The same on the other side: the run was recorded with it, the policy file here lacks it."""

    def made(fixture: Fixture, folder: Path) -> Sabotaged | None:
        other = policy(mistake)(fixture, folder)
        if other is None:
            return None
        path = folder / "there.npz"
        world = mjrig.World(other.scene)
        with mjrig.Recorder(world, path):
            world.step(round(seconds / world.timestep))
        case = plain(fixture)
        case.recording, case.policy, case.mode = read_recording(path, None), None, "policy"
        return case

    return made


def default_pose(data: dict[str, Any], fixture: Fixture) -> object:
    values = spread(data, data.get("default", 0.0))
    values[1] += 0.1
    data["default"] = values
    uses = terms_of(data, "JointPositions") or data.get("action", {}).get("mode") != "delta"
    return bool(uses)


def action_scale(data: dict[str, Any], fixture: Fixture) -> None:
    action = data.setdefault("action", {})
    action["scale"] = [2.0 * s for s in spread(data, action.get("scale", 1.0))]


def action_sign(data: dict[str, Any], fixture: Fixture) -> None:
    action = data.setdefault("action", {})
    scale = spread(data, action.get("scale", 1.0))
    scale[1] *= -1.0
    action["scale"] = scale


def decimation(data: dict[str, Any], fixture: Fixture) -> None:
    data["decimation"] = 2 * int(data["decimation"])


def phase(data: dict[str, Any], fixture: Fixture) -> None:
    data["phase"] = "inside" if data.get("phase", "before") != "inside" else "before"


def gait(data: dict[str, Any], fixture: Fixture) -> object:
    terms = terms_of(data, "GaitPhase")
    for term in terms:
        if "period" in term:
            term["period"] *= 1.25
        else:
            term["frequency"] *= 0.8
    return bool(terms)


def history(data: dict[str, Any], fixture: Fixture) -> object:
    kept = data["observation"].get("history") or {}
    if kept.get("length", 1) < 2:
        return False
    newest = kept.get("order") == "newest_first"
    kept["order"] = "oldest_first" if newest else "newest_first"
    data["observation"]["history"] = kept
    return True


def start_duration(data: dict[str, Any], fixture: Fixture) -> None:
    start = data.get("start") or {}
    data["start"] = {**start, "duration": float(start.get("duration", 0.0)) + 0.4}


def start_gains(data: dict[str, Any], fixture: Fixture) -> object:
    start = data.get("start") or {}
    if not start.get("duration") or "kp" not in start:
        return False
    start["kp"] = [0.6 * v for v in spread(data, start["kp"])]
    return True


def start_target(data: dict[str, Any], fixture: Fixture) -> object:
    start = data.get("start") or {}
    data["start"] = {**start, "target": [v + 0.2 for v in spread(data, data.get("default", 0.0))]}
    return bool(start.get("duration")) or data.get("phase", "before") != "before"


def history_fill(data: dict[str, Any], fixture: Fixture) -> object:
    kept = data["observation"].get("history") or {}
    kept["fill"] = "zeros" if kept.get("fill", "first") == "first" else "first"
    return kept.get("length", 1) > 1


def first_tick(data: dict[str, Any], fixture: Fixture) -> object:
    """Ticks at the same steps, but the first one a tick earlier or later."""
    others = {"before": "after", "after": "before"}
    data["phase"] = others.get(data.get("phase", "before"))
    return data["phase"] is not None


def gait_clock(data: dict[str, Any], fixture: Fixture) -> object:
    terms = terms_of(data, "GaitPhase")
    for term in terms:
        term["clock"] = "start" if term.get("clock", "start") == "first_tick" else "first_tick"
    return bool(terms) and data.get("phase", "before") != "before"


def gait_offset(data: dict[str, Any], fixture: Fixture) -> object:
    terms = terms_of(data, "GaitPhase")
    for term in terms:
        term["offsets"] = [(o + 0.2) % 1.0 for o in term.get("offsets", [0.0])]
    return bool(terms)


def one_value(kind: str) -> Mistake:
    """One value of a term with another scale."""

    def edit(data: dict[str, Any], fixture: Fixture) -> object:
        terms = terms_of(data, kind)
        for term in terms:
            size = 3 if kind == "CommandTerm" else len(term.get("joints") or data["joints"])
            scale = np.broadcast_to(np.asarray(term.get("scale", 1.0), float), (size,)).copy()
            scale[0] *= 0.5
            term["scale"] = scale.tolist()
        return bool(terms)

    return policy(edit)


def action_scale_of_one(data: dict[str, Any], fixture: Fixture) -> None:
    action = data.setdefault("action", {})
    scale = spread(data, action.get("scale", 1.0))
    scale[2] *= 1.5
    action["scale"] = scale


def state_precision(data: dict[str, Any], fixture: Fixture) -> None:
    data["state"] = "float64" if data.get("state", "float64") == "float32" else "float32"


def target_precision(data: dict[str, Any], fixture: Fixture) -> object:
    action = data.setdefault("action", {})
    other = {"float32": "float64", "float64": "float32"}
    action["dtype"] = other[action.get("dtype", "float32")]
    return action.get("mode", "absolute") == "absolute" and not action.get("targets")


def another_network(fixture: Fixture, folder: Path) -> Sabotaged | None:
    """The same network a few steps of training later."""
    import onnx
    from onnx import numpy_helper

    def edit(data: dict[str, Any], fixture: Fixture) -> object:
        if not data["network"].endswith(".onnx"):
            return False
        model = onnx.load(data["network"])
        rng = np.random.default_rng(2)
        for weights in model.graph.initializer:
            values = numpy_helper.to_array(weights)
            if values.dtype == np.float32 and values.size > 8:
                noise = 0.05 * float(values.std()) * rng.standard_normal(values.shape)
                changed = (values + noise).astype(np.float32)
                weights.CopyFrom(numpy_helper.from_array(changed, weights.name))
        data["network"] = str(folder / "later.onnx")
        onnx.save(model, data["network"])
        return True

    return policy(edit)(fixture, folder)


def joints(sides: str) -> Mistake:
    def edit(data: dict[str, Any], fixture: Fixture) -> object:
        names = data["joints"]
        if sides == "shuffled":
            found: Any = np.random.default_rng(3).permutation(len(names))
        else:
            found = mirrored(names, sides)
        if found is None:
            return False
        for key in ("default",):
            data[key] = spread(data, data.get(key, 0.0))
        data["joints"] = [names[i] for i in found]
        data.pop("trained", None)
        return True

    return policy(edit)
