"""Mistakes people make when they bring a policy or a recording to a simulation, one at a time.

A `Fixture` is a run that is reproduced here; a mistake changes the scene, the policy file or the
way the recording was read, and `judge` says whether the diagnosis names it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import yaml

import mjrig
from mjrig.components.importers.importing import import_policy
from mjrig.control.plant import Plant
from mjrig.errors import MjrigError
from mjrig.recording.reading import read_recording
from mjrig.recording.recording import ActorRecording, Recording
from mjrig.sim2sim.compare.relabel import (
    mirrored,
    shifted,
    with_names,
    with_order,
    with_quaternions,
    with_signs,
)
from tests.places import ASSETS, SCENES, SHARED
from tests.test_real_transfer import FIXTURES

ROBOTS = SHARED / "robots"


@dataclass
class Fixture:
    """A recording, the scene that reproduces it and, where there is one, its policy file."""

    name: str
    scene: Path
    recording: Recording
    policy: Path | None = None

    @cached_property
    def actor(self) -> ActorRecording:
        return next(iter(self.recording.actors.values()))

    @cached_property
    def said(self) -> dict[str, Any]:
        """The policy file, its paths absolute."""
        assert self.policy is not None
        data = yaml.safe_load(self.policy.read_text())
        data["network"] = str((self.policy.parent / data["network"]).resolve())
        return dict(data)

    @property
    def robot(self) -> str:
        return mjrig.Scene.load(self.scene).actors[0].name


def shared_fixture(name: str, folder: Path) -> Fixture:
    """One of shared/robots, imported into a folder."""
    about, scene = FIXTURES[name], folder / name / "scene.yaml"
    if not scene.exists():
        scene.parent.mkdir(parents=True, exist_ok=True)
        import_policy(
            [ROBOTS / "configs" / config for config in about.configs],
            ROBOTS / "policies" / f"{name}.onnx",
            ROBOTS / "models" / about.model / "scene.xml",
            scene,
        )
    recording = read_recording(ROBOTS / "recordings" / f"{name}.npz", None)
    return Fixture(name, scene, recording, scene.parent / "policy.yaml")


def walk_fixture() -> Fixture:
    """The bundled quadruped under its bundled policy."""
    recording = read_recording(ASSETS / "walk" / "walk.npz", None)
    return Fixture(
        "walk", SCENES / "quadruped_walk.yaml", recording, ASSETS / "walk" / "policy.yaml"
    )


def driven_fixture(name: str, folder: Path, seconds: float = 2.0) -> Fixture:
    """A bundled robot without a policy, moved by waves, recorded by mjrig itself."""
    scene, path = SCENES / f"{name}.yaml", folder / f"{name}.h5"
    if not path.exists():
        world = mjrig.World(scene)
        robot = next(r for r in world.articulations.values() if r.actuator_names)
        rest = robot.setpoints.values[0].copy()
        n, every = len(rest), max(1, round(0.02 / world.timestep))
        # A tendon is moved by millimetres, a joint by tenths of a radian.
        size = np.array([0.15 if b.on_joint else 0.005 for b in robot.actuators])
        with mjrig.Recorder(world, path, overwrite=True):
            for k in range(round(seconds / world.timestep / every)):
                t = k * every * world.timestep
                turns = (0.6 + 0.13 * np.arange(n)) * t
                robot.set_targets(rest + size * np.sin(2 * np.pi * turns))
                world.step(every)
    return Fixture(name, scene, read_recording(path, None))


# Mistakes ---------------------------------------------------------------------------------------


@dataclass
class Sabotaged:
    """What a user would run after the mistake."""

    recording: Recording
    scene: mjrig.Scene
    policy: Path | None = None
    mode: str = "targets"
    model: Callable[[Any], object] | None = None
    execution: str = "auto"

    def run(self) -> mjrig.Replay:
        world = mjrig.World(self.scene, self.execution)
        if self.model is not None:
            self.model(world.model)
            mujoco.mj_setConst(world.model, mujoco.MjData(world.model))
            world.reset()
        more: dict[str, Any] = {"resample": True}
        if self.mode == "policy":
            schedule = _schedule(self.recording)
            more = {"trials": 0, "policy": self.policy, "schedule": schedule}
        return mjrig.replay(self.recording, world, self.mode, **more)


def _schedule(recording: Recording) -> list[tuple[float, list[float]]] | None:
    actor = next(iter(recording.actors.values()))
    meta = recording.attributes.get("meta", {})
    if meta.get("command_schedule") and actor.policy is not None and actor.policy.command.any():
        return list(meta["command_schedule"])
    ticks = actor.policy
    if ticks is None or not ticks.command.any():
        return None
    return [(0.0, ticks.command[-1].tolist())]


Mistake = Callable[[Fixture, Path], Sabotaged | None]


def plain(fixture: Fixture) -> Sabotaged:
    return Sabotaged(fixture.recording, mjrig.Scene.load(fixture.scene), fixture.policy)


def _controller(scene: mjrig.Scene) -> Any:
    return next((c for c in scene.actors[0].components if hasattr(c, "kp")), None)


def _gains(fixture: Fixture, what: str) -> dict[str, float] | None:
    """The gains of the controller here; None: the model's own servos drive it."""
    from mjrig.sim.plant_of import plant_of

    scene = mjrig.Scene.load(fixture.scene)
    if _controller(scene) is None:
        return None
    world = mjrig.World(scene)
    robot = world.articulations[fixture.robot]
    found = plant_of(world, robot).joints[what]
    mine = {b.joint for c in robot.controllers for b in c.bindings}
    return {j: v for j, v in found.items() if j in mine}


def _busiest(fixture: Fixture) -> tuple[str, float]:
    """The driven joint with the largest recorded effort, and that effort."""
    actor = fixture.actor
    assert actor.efforts is not None
    most = np.abs(actor.efforts.effort).max(axis=0)
    hinges = {j.name for j in actor.joints}
    places = [i for i, n in enumerate(actor.driven) if n in hinges]
    best = max(places, key=lambda i: most[i])
    return actor.driven[best], float(most[best])


def gain(what: str, factor: float, only_one: bool) -> Mistake:
    def change(fixture: Fixture, folder: Path) -> Sabotaged | None:
        found, case = _gains(fixture, what), plain(fixture)
        joint = _busiest(fixture)[0]
        if found is None:
            native = {"kp": (0, 1), "kv": (2,)}[what]

            def model(m: Any) -> None:
                rows = list(range(m.nu))
                if only_one:
                    rows = [i for i in rows if m.joint(m.actuator_trnid[i, 0]).name.endswith(joint)]
                for i in rows:
                    for place in native:
                        if place == 0:
                            m.actuator_gainprm[i, 0] *= factor
                        elif place == 1:
                            m.actuator_biasprm[i, 1] *= factor
                        else:
                            m.actuator_biasprm[i, 2] = min(m.actuator_biasprm[i, 2] * factor, -0.2)

            case.model = model
            return case
        if joint not in found:
            joint = next(iter(found))
        new = {j: v * (factor if j == joint or not only_one else 1.0) for j, v in found.items()}
        _controller(case.scene).assign({what: new})
        return case

    return change


def limit(fixture: Fixture, folder: Path) -> Sabotaged | None:
    """A tighter limit of the controller, or of the model's own servo."""
    case, (joint, most) = plain(fixture), _busiest(fixture)
    found = _gains(fixture, "torque_limit")
    if found is None:
        world = mjrig.World(case.scene)
        servo = next(b for b in world[fixture.robot].actuators if b.joint.endswith(joint))
        bound = 0.6 * most / abs(servo.gear)
        ranges = {servo.actuator: [-bound, bound]}
        case.scene.actors[0].assign({"native_gains": {"forcerange": ranges}})
        return case
    if joint not in found:
        return None
    kept = {j: v for j, v in found.items() if np.isfinite(v)}
    _controller(case.scene).assign({"torque_limit": {**kept, joint: 0.6 * most}})
    return case


def limited_there(fixture: Fixture, folder: Path) -> Sabotaged | None:
    """The run was recorded with a limit that is not here."""
    tight = limit(fixture, folder)
    if tight is None:
        return None
    world, path = mjrig.World(tight.scene), folder / "limited.npz"
    with mjrig.TargetsPlayer(fixture.recording, world) as player:
        player.start()
        with mjrig.Recorder(world, path):
            world.step(min(player.steps, round(2.0 / world.timestep)))
    case = plain(fixture)
    case.recording = read_recording(path, None)
    return case


def armature(only_one: bool) -> Mistake:
    def made(fixture: Fixture, folder: Path) -> Sabotaged | None:
        case, pattern = plain(fixture), ".*"
        if only_one:
            pattern = _busiest(fixture)[0]
        case.scene.actors[0].assign({"dynamics": {"armature": {pattern: 0.03}}})
        return case

    return made


def order(sides: str, change: Callable[..., Recording]) -> Mistake:
    def made(fixture: Fixture, folder: Path) -> Sabotaged | None:
        actor, case = fixture.actor, plain(fixture)
        if sides == "shuffled":
            # What drives a tendon cannot be taken for a joint: units and sizes differ.
            places = np.flatnonzero([bool(n) for n in actor.driven])
            found: Any = np.arange(len(actor.driven))
            found[places] = np.random.default_rng(5).permutation(places)
        else:
            found = mirrored(actor.driven, sides)
        if found is None:
            return None
        case.recording = change(case.recording, actor.name, found)
        return case

    return made


def _mover(actor: ActorRecording) -> int:
    """The column of the setpoint that is farthest from its own negative."""
    assert actor.commands is not None
    return int(np.abs(actor.commands.position).mean(axis=0).argmax())


def sign(fixture: Fixture, folder: Path) -> Sabotaged | None:
    case, actor = plain(fixture), fixture.actor
    case.recording = with_signs(case.recording, actor.name, [_mover(actor)])
    return case


def timestep(fixture: Fixture, folder: Path) -> Sabotaged | None:
    case = plain(fixture)
    case.scene.set("sim.timestep", fixture.recording.timestep / 2)
    return case


def integrator(fixture: Fixture, folder: Path) -> Sabotaged | None:
    case = plain(fixture)
    case.scene.set("sim.integrator", "implicitfast")
    return case


def quaternion(fixture: Fixture, folder: Path) -> Sabotaged | None:
    """A file with x, y, z, w read as if it were w, x, y, z."""
    case = plain(fixture)
    if not any(j.kind == "free" for j in fixture.actor.joints):
        return None
    case.recording = with_quaternions(case.recording, (1, 2, 3, 0))
    return case


def _decimation(fixture: Fixture) -> int:
    ticks = fixture.actor.policy
    if ticks is not None:
        return int(np.median(np.diff(ticks.step)))
    return max(1, round(0.02 / fixture.recording.timestep))


def delay(ticks: int) -> Mistake:
    """A delay in the controller here, or late setpoints where the model's servos drive."""

    def made(fixture: Fixture, folder: Path) -> Sabotaged | None:
        case, steps = plain(fixture), ticks * _decimation(fixture)
        controller = _controller(case.scene)
        if controller is None:
            case.recording = shifted(case.recording, steps)
        else:
            controller.assign({"delay": {"steps": steps}})
        return case

    return made


def late(steps: int) -> Mistake:
    def made(fixture: Fixture, folder: Path) -> Sabotaged | None:
        case = plain(fixture)
        case.recording = shifted(case.recording, steps)
        return case

    return made


def friction(fixture: Fixture, folder: Path) -> Sabotaged | None:
    case = plain(fixture)

    def model(m: Any) -> None:
        m.geom_friction[:, 0] *= 0.5

    case.model = model
    return case


def payload(fixture: Fixture, folder: Path) -> Sabotaged | None:
    """On the trunk of a robot that walks, in the hand of one that is fixed."""
    case = plain(fixture)
    floats = any(j.kind == "free" for j in fixture.actor.joints[:1])
    moved = [j.name for j in fixture.actor.joints if j.kind in ("hinge", "slide")]

    def model(m: Any) -> None:
        root = next(m.body_rootid[m.jnt_bodyid[j]] for j in range(m.njnt)
                    if m.joint(j).name.endswith(moved[0]))  # fmt: skip
        mine = [i for i in range(m.nbody) if m.body_rootid[i] == root and m.body_mass[i]]
        body = max(mine, key=lambda i: float(m.body_mass[i])) if floats else mine[-1]
        extra = 0.1 * float(m.body_mass[mine].sum())
        m.body_inertia[body] *= (m.body_mass[body] + extra) / m.body_mass[body]
        m.body_mass[body] += extra

    case.model = model
    return case


# … in the policy file ---------------------------------------------------------------------------


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


def _terms(data: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    return [t for t in data["observation"]["terms"] if t["type"] == kind]


def _spread(data: Mapping[str, Any], value: Any) -> list[float]:
    from mjrig.names import Slots

    joints = data["joints"]
    if isinstance(value, list):
        return [float(v) for v in value]
    if isinstance(value, dict):
        found = Slots([(n,) for n in joints], "", "joint").spread(value)
        return [float(found[i][1]) if i in found else 0.0 for i in range(len(joints))]
    return [float(value)] * len(joints)


def scale_of(kind: str, factor: float = 2.0) -> Mistake:
    def edit(data: dict[str, Any], fixture: Fixture) -> object:
        terms = _terms(data, kind)
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
    moves = any(abs(v) > 0.01 for v in _spread(data, data.get("default", 0.0)))
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
    terms = _terms(data, "GaitPhase")
    for term in terms:
        term["form"] = "sin_cos" if term.get("form", "sin_cos") == "cos_sin" else "cos_sin"
    return bool(terms)


def velocities_in_degrees(fixture: Fixture, folder: Path) -> Sabotaged | None:
    case, actor = plain(fixture), fixture.actor
    if fixture.policy is None or actor.qvel is None:
        return None
    degrees = replace(actor, qvel=np.degrees(actor.qvel))
    case.recording = replace(case.recording, actors={actor.name: degrees}, states=None)
    case.mode = "policy"
    return case


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
    values = _spread(data, data.get("default", 0.0))
    values[1] += 0.1
    data["default"] = values
    uses = _terms(data, "JointPositions") or data.get("action", {}).get("mode") != "delta"
    return bool(uses)


def action_scale(data: dict[str, Any], fixture: Fixture) -> None:
    action = data.setdefault("action", {})
    action["scale"] = [2.0 * s for s in _spread(data, action.get("scale", 1.0))]


def action_sign(data: dict[str, Any], fixture: Fixture) -> None:
    action = data.setdefault("action", {})
    scale = _spread(data, action.get("scale", 1.0))
    scale[1] *= -1.0
    action["scale"] = scale


def decimation(data: dict[str, Any], fixture: Fixture) -> None:
    data["decimation"] = 2 * int(data["decimation"])


def phase(data: dict[str, Any], fixture: Fixture) -> None:
    data["phase"] = "inside" if data.get("phase", "before") != "inside" else "before"


def gait(data: dict[str, Any], fixture: Fixture) -> object:
    terms = _terms(data, "GaitPhase")
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
    start["kp"] = [0.6 * v for v in _spread(data, start["kp"])]
    return True


def start_target(data: dict[str, Any], fixture: Fixture) -> object:
    start = data.get("start") or {}
    data["start"] = {**start, "target": [v + 0.2 for v in _spread(data, data.get("default", 0.0))]}
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
    terms = _terms(data, "GaitPhase")
    for term in terms:
        term["clock"] = "start" if term.get("clock", "start") == "first_tick" else "first_tick"
    return bool(terms) and data.get("phase", "before") != "before"


def gait_offset(data: dict[str, Any], fixture: Fixture) -> object:
    terms = _terms(data, "GaitPhase")
    for term in terms:
        term["offsets"] = [(o + 0.2) % 1.0 for o in term.get("offsets", [0.0])]
    return bool(terms)


def one_value(kind: str) -> Mistake:
    """One value of a term with another scale."""

    def edit(data: dict[str, Any], fixture: Fixture) -> object:
        terms = _terms(data, kind)
        for term in terms:
            size = 3 if kind == "CommandTerm" else len(term.get("joints") or data["joints"])
            scale = np.broadcast_to(np.asarray(term.get("scale", 1.0), float), (size,)).copy()
            scale[0] *= 0.5
            term["scale"] = scale.tolist()
        return bool(terms)

    return policy(edit)


def action_scale_of_one(data: dict[str, Any], fixture: Fixture) -> None:
    action = data.setdefault("action", {})
    scale = _spread(data, action.get("scale", 1.0))
    scale[2] *= 1.5
    action["scale"] = scale


def state_precision(data: dict[str, Any], fixture: Fixture) -> None:
    data["state"] = "float64" if data.get("state", "float64") == "float32" else "float32"


def target_precision(data: dict[str, Any], fixture: Fixture) -> object:
    action = data.setdefault("action", {})
    other = {"float32": "float64", "float64": "float32"}
    action["dtype"] = other[action.get("dtype", "float32")]
    return action.get("mode", "absolute") == "absolute" and not action.get("targets")


def controller_precision(fixture: Fixture, folder: Path) -> Sabotaged | None:
    case = plain(fixture)
    controller = _controller(case.scene)
    if controller is None:
        return None
    other = {"float32": "float64", "float64": "float32"}
    controller.assign({"precision": other[str(controller.precision)]})
    return case


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


def lost(fixture: Fixture, folder: Path) -> Sabotaged | None:
    """A recording in which every twentieth setpoint did not arrive."""
    case, actor = plain(fixture), fixture.actor
    if fixture.policy is None or actor.commands is None or actor.policy is None:
        return None
    if fixture.said.get("action", {}).get("mode", "absolute") != "absolute":
        return None
    commands = actor.commands
    rows = np.arange(len(commands.step))
    ticks = np.flatnonzero(np.abs(np.diff(commands.position, axis=0)).max(axis=1) > 1e-6) + 1
    for tick in ticks[10::20]:
        after = ticks[ticks > tick]
        rows[tick : after[0] if len(after) else None] = tick - 1
    kept = replace(commands, position=commands.position[rows], velocity=commands.velocity[rows])
    held = replace(actor, commands=kept)
    case.recording = replace(case.recording, actors={actor.name: held}, states=None)
    case.mode = "policy"
    return case


def world_gravity(fixture: Fixture, folder: Path) -> Sabotaged | None:
    case = plain(fixture)

    def model(m: Any) -> None:
        m.opt.gravity[2] = -9.0

    case.model = model
    return case


def springs(only_one: bool) -> Mistake:
    def made(fixture: Fixture, folder: Path) -> Sabotaged | None:
        case = plain(fixture)
        pattern = _busiest(fixture)[0] if only_one else ".*"
        case.scene.actors[0].assign({"dynamics": {"stiffness": {pattern: 4.0}}})
        return case

    return made


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
            data[key] = _spread(data, data.get(key, 0.0))
        data["joints"] = [names[i] for i in found]
        data.pop("trained", None)
        return True

    return policy(edit)


def unlisted(make: Mistake) -> Mistake:
    """The same, with a recording that states no gains, limits and joint properties."""

    def made(fixture: Fixture, folder: Path) -> Sabotaged | None:
        case = make(fixture, folder)
        if case is None:
            return None
        bare = replace(next(iter(case.recording.actors.values())), plant=Plant())
        case.recording = replace(case.recording, actors={bare.name: bare})
        return case

    return made


#: Mistake → (what it is called in a finding, how it is made).
MISTAKES: dict[str, tuple[tuple[str, ...], Mistake]] = {
    "kp of one joint": (("kp",), gain("kp", 1.2, True)),
    "kp of all": (("kp",), gain("kp", 0.8, False)),
    "kd of all": (("kv", "damping"), gain("kv", 1.3, False)),
    "torque limit": (("torque_limit",), limit),
    "armature": (("armature",), armature(False)),
    "armature of one joint": (("armature",), armature(True)),
    "armature of one joint, not listed": (("armature",), unlisted(armature(True))),
    "kp of one joint, not listed": (("kp",), unlisted(gain("kp", 1.2, True))),
    "kd of all, not listed": (("kv", "damping"), unlisted(gain("kv", 1.3, False))),
    "torque limit, not listed": (("torque_limit",), unlisted(limit)),
    "torque limit in the recording": (("torque_limit",), limited_there),
    "torque limit in the recording, not listed": (("torque_limit",), unlisted(limited_there)),
    "delay, not listed": (("delay", "tick phase"), unlisted(delay(1))),
    "sides swapped": (("joint order",), order("left and right", with_order)),
    "sides swapped by name": (("joint order",), order("left and right", with_names)),
    "setpoints shuffled": (("joint order",), order("shuffled", with_order)),
    "sign of a setpoint": (("sign",), sign),
    "timestep": (("timestep",), timestep),
    "integrator": (("integrator",), integrator),
    "quaternion order": (("quaternion order",), quaternion),
    "delay of 1 tick": (("delay", "tick phase"), delay(1)),
    "delay of 2 ticks": (("delay", "tick phase"), delay(2)),
    "setpoints one step late": (("tick phase", "delay"), late(1)),
    "setpoints three steps late": (("tick phase", "delay"), late(3)),
    "ground friction": (("ground friction",), friction),
    "payload": (("payload",), payload),
    "action scale": (("action_scale",), policy(action_scale)),
    "sign of an action": (("sign",), policy(action_sign)),
    "default pose": (("default_pose",), policy(default_pose)),
    "action filter": (("action filter",), policy(action_filter)),
    "action filter in the recording": (("action filter",), there(action_filter)),
    "action clip": (("action clip",), policy(action_clip)),
    "action offset": (("action offset",), policy(action_offset)),
    "action mode": (("action mode",), policy(action_mode)),
    "observation clip": (("observation clip",), policy(observation_clip)),
    "order of terms": (("term order",), policy(term_order)),
    "sine and cosine": (("gait phase",), policy(phase_form)),
    "velocities in degrees": (("velocity units",), velocities_in_degrees),
    "decimation": (("decimation",), policy(decimation)),
    "tick phase": (("tick phase",), policy(phase)),
    "scale of joint velocities": (("observation scale",), scale_of("JointVelocities")),
    "scale of joint positions": (("observation scale",), scale_of("JointPositions")),
    "scale of angular velocity": (("observation scale",), scale_of("BaseAngularVelocity")),
    "scale of linear velocity": (("observation scale",), scale_of("BaseLinearVelocity")),
    "scale of the last action": (("observation scale",), scale_of("LastAction", 0.25)),
    "scale of the command": (("command scale",), scale_of("CommandTerm", 0.5)),
    "gait period": (("gait phase",), policy(gait)),
    "history order": (("history order",), policy(history)),
    "joints of the policy swapped": (("joint order",), joints("left and right")),
    "joints of the policy shuffled": (("joint order",), joints("shuffled")),
    "length of the stand": (("start.duration",), policy(start_duration)),
    "gains of the stand": (("start.kp",), policy(start_gains)),
    "target of the stand": (("start.target",), policy(start_target)),
    "history fill": (("history.fill",), policy(history_fill)),
    "first tick": (("tick phase",), policy(first_tick)),
    "gait clock": (("gait phase",), policy(gait_clock)),
    "gait offset": (("gait phase",), policy(gait_offset)),
    "scale of one command": (("command scale",), one_value("CommandTerm")),
    "scale of one velocity": (("observation scale",), one_value("JointVelocities")),
    "action scale of one joint": (("action_scale",), policy(action_scale_of_one)),
    "precision of the state": (("precision",), policy(state_precision)),
    "precision of targets": (("precision",), policy(target_precision)),
    "precision of the controller": (("precision",), controller_precision),
    "another network": (("network",), another_network),
    "lost setpoints": (("lost setpoints",), lost),
    "gravity": (("gravity",), world_gravity),
    "gravity, not listed": (("gravity",), unlisted(world_gravity)),
    "springs": (("stiffness",), springs(False)),
    "spring of one joint, not listed": (("stiffness",), unlisted(springs(True))),
}


@dataclass(frozen=True)
class Judged:
    """One case: the place of the true cause among the findings, and claims that are wrong."""

    fixture: str
    mistake: str
    place: int | None
    wrong: str
    seconds: float
    said: str

    @property
    def first(self) -> bool:
        return self.place == 0

    @property
    def near(self) -> bool:
        return self.place is not None and self.place < 3


def _same_motion(result: mjrig.Replay) -> bool:
    """Whether nothing moved noticeably otherwise, and it is not called anything else."""
    return result.mode == "targets" and result.verdict == "matches within tolerance"


def judge(fixture: Fixture, mistake: str, folder: Path) -> Judged | None:
    """Make a mistake and look at the diagnosis; None: it cannot be made here, or has no effect."""
    import time

    names, make = MISTAKES[mistake]
    case = make(fixture, folder)
    if case is None:
        return None
    began = time.process_time()
    try:
        result = case.run()
    except MjrigError as error:
        # Refused before anything ran, with the cause: that is the first thing the user reads.
        place = 0 if any(n in str(error) for n in names) else None
        return Judged(fixture.name, mistake, place, "", time.process_time() - began, str(error))
    seconds = time.process_time() - began
    if not result.diagnosis and (result.bit_exact or _same_motion(result)):
        return None
    whats = [f.what for f in result.diagnosis]
    place = next((i for i, what in enumerate(whats) if what in names), None)
    first = result.diagnosis[0] if result.diagnosis else None
    wrong = first.what if first is not None and first.confident and place != 0 else ""
    said = "; ".join(f"{f.what} {f.where} {f.share}" for f in result.diagnosis[:3])
    return Judged(fixture.name, mistake, place, wrong, seconds, said)
