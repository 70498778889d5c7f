"""A first scene around a model, with comments: floor, start pose, and gains computed for it."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from mjrig.core.control.actor_in_world import base_position
from mjrig.core.errors import BindingError, SceneError
from mjrig.core.files.paths import MODELS, nearest_files
from mjrig.core.names import how_many, listed, literal
from mjrig.core.scene.editing.references import KEYFRAME, kept_names
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_file import holds_model
from mjrig.core.sim.floor_placement import HOME, stance
from mjrig.core.sim.world import World
from mjrig.core.yaml_text.formatting import format_block, format_flow
from mjrig.lab.check.feedback_loops import SERVOS
from mjrig.lab.gains.assignment import AssignmentPlan, Wish, assign

#: Natural frequencies that are tried, softest first [Hz].
FREQUENCIES = (5.0, 10.0, 20.0)
#: Poses that the gains must be stable in, beside the start and those found by search from it.
POSES = 1
#: How long the robot is watched with each [s], and how far a joint may sag meanwhile [rad or m].
WATCHED = 2.0
SAG = 0.1
#: A base that ends below this share of its start height has fallen.
FALLEN = 0.6
_MOVING = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
_SERVOS = (*SERVOS, "orientation")


@dataclass(frozen=True)
class FirstScene:
    """A scene that is not saved yet, and what was decided for it, one sentence each."""

    scene: Scene
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ModelDrives:
    """What a model has to move its joints with, by name."""

    joints: tuple[str, ...]
    motors: tuple[str, ...]
    servos: tuple[str, ...]
    #: Actuators that are neither: on tendons or sites, muscles, motors with gear 0.
    others: tuple[str, ...]

    @classmethod
    def of(cls, world: World, actor: str) -> "ModelDrives":
        """Those of one actor."""
        robot, model = world[actor], world.model
        ids = [j for j in robot.model_map.joint_ids if int(model.jnt_type[j]) in _MOVING]
        return cls(
            tuple(model.joint(j).name.removeprefix(f"{actor}/") for j in ids),
            tuple(b.actuator for b in robot.actuators if not b.skip_reason),
            tuple(b.actuator for b in robot.actuators if b.kind in _SERVOS),
            tuple(b.actuator for b in robot.actuators if b.skip_reason and b.kind not in _SERVOS),
        )

    @property
    def controlled(self) -> bool:
        """Whether something needs a law: motors, or joints that get them."""
        return bool(self.motors or self.bare)

    @property
    def bare(self) -> bool:
        """Whether it has joints and nothing to move them."""
        return bool(self.joints) and not (self.motors or self.servos or self.others)


@dataclass(frozen=True)
class HeldPose:
    """How well a robot keeps its pose: the largest sag of a joint [rad or m], unless it falls."""

    sag: float
    fell: bool

    @property
    def well(self) -> bool:
        """Whether it stands, or hangs, as it was put."""
        return not self.fell and self.sag <= SAG

    def __str__(self) -> str:
        return "the base falls" if self.fell else f"joints sag by at most {self.sag:.2g}"


def first_scene(model: Path, folder: Path) -> FirstScene:
    """A scene for a model, with a floor and a controller where it needs them.

    The gains give every joint the lowest of `FREQUENCIES` with which the robot keeps its pose.
    The model's file is not touched.

    Args:
        model: MJCF, URDF or MJB.
        folder: where the scene will be saved; it names the model relative to it.

    Raises:
        MjrigError: the model cannot be read or built.
    """
    if not model.is_file():
        raise SceneError(f"{model}: there is no such file{nearest_files(model, MODELS)}")
    if not holds_model(model):
        raise SceneError(f"{model}: is no model; mjrig new takes MJCF, URDF or MJB")
    alone = Scene.load(model)
    actor = alone.actors[0]
    if HOME in kept_names(actor)[KEYFRAME]:
        actor.keyframe = HOME
    world = World(alone)
    if not actor.keyframe and (inside := _put_inside(world, actor.name)):
        actor.joints = inside
        world = World(alone)
    drives = ModelDrives.of(world, actor.name)
    text = _Text(actor.name, _named_from(model, folder), world, drives)
    scene = Scene.parse(text.written(), base=folder)
    notes = list(_driven(drives))
    if drives.controlled:
        law, note = _gains(scene)
        notes.append(note)
        scene = Scene.parse(text.written(law), base=folder)
    return FirstScene(scene, tuple(notes))


def _put_inside(world: World, actor: str) -> dict[str, float]:
    """Joints that start outside their range, and its nearest end."""
    model, found = world.model, {}
    for joint in world[actor].model_map.joint_ids:
        if not model.jnt_limited[joint] or int(model.jnt_type[joint]) not in _MOVING:
            continue
        at = float(world.data.qpos[model.jnt_qposadr[joint]])
        low, high = (float(end) for end in model.jnt_range[joint])
        if not low <= at <= high:
            name = model.joint(joint).name.removeprefix(f"{actor}/")
            found[literal(name)] = _rounded_inside(low if at < low else high, low, high)
    return found


def _rounded_inside(end: float, low: float, high: float) -> float:
    """An end of a range with few digits, not outside of it."""
    short = float(f"{end:.4g}")
    return short if low <= short <= high else end


def _named_from(model: Path, folder: Path) -> str:
    try:
        return Path(os.path.relpath(model.absolute(), folder.absolute())).as_posix()
    except ValueError:  # on another drive
        return str(model.absolute())


# The text ---------------------------------------------------------------------------------------


class _Text:
    """The lines of the scene, before and after its gains are known."""

    def __init__(self, name: str, model: str, world: World, drives: ModelDrives) -> None:
        self._name, self._model, self._drives = name, model, drives
        self._keyframe = world.scene.actors[0].keyframe
        self._joints = dict(world.scene.actors[0].joints)
        self._stance = stance(world)

    def written(self, law: "AssignedGains | None" = None) -> str:
        """The whole file."""
        return "\n".join((*self._lines(), *self._controller(law), *self._floor())) + "\n"

    def _lines(self) -> Iterator[str]:
        yield f"# {Path(self._model).name} in a scene. `mjrig edit` opens it, `mjrig check` shows"
        yield "# what drives what; `mjrig components PDController` lists what else it has."
        yield "mjrig: 1"
        yield "actors:"
        yield f"  - name: {format_flow(self._name)}"
        yield f"    model: {format_flow(self._model)}"
        height = self._stance.height()
        if self._stance.is_free and height:
            yield "    # Its lowest point starts 1 cm above the floor."
            yield f"    pose: {{position: [0, 0, {round(height, 4):g}]}}"
        if self._keyframe:
            yield f"    keyframe: {format_flow(self._keyframe)}  # the pose it starts in"
        elif self._joints:
            yield "    # The model's zero is outside of these ranges."
            yield f"    joints: {format_flow(self._joints)}"
        elif self._drives.joints:
            joint = format_flow({self._drives.joints[0]: 0.1})
            yield f"    # joints: {joint}  # where joints start, by name or pattern"
        yield from self._actuators()

    def _actuators(self) -> Iterator[str]:
        drives = self._drives
        if drives.bare:
            yield "    # The model has no actuators: a motor on every joint."
            yield "    actuators:"
            yield '      - {type: MotorActuator, joint: ".*"}'
        elif drives.servos and not drives.motors:
            yield "    # Its own servos hold it; another law can run on motors in their place:"
            yield "    # use_motors: true"

    def _controller(self, law: "AssignedGains | None") -> Iterator[str]:
        if not self._drives.controlled:
            return
        yield "    components:"
        yield "      - type: PDController"
        yield "        # torque_limit: 30  # in N·m; limits of the model hold as well"
        if law is not None:
            yield f"        # By mjrig new: {law.hertz:g} Hz, critically damped."
            yield f"        kp:\n{format_block(law.kp, 10)}"
            yield f"        kv:\n{format_block(law.kv, 10)}"

    def _floor(self) -> Iterator[str]:
        if self._stance.is_free and not self._stance.has_floor:
            name = "floor" if self._name != "floor" else "ground"
            yield f"  - {{name: {name}, prop: {{type: GroundProp}}}}"


def _driven(drives: ModelDrives) -> Iterator[str]:
    joints = how_many(len(drives.joints), "joint")
    motors, servos = how_many(len(drives.motors), "motor"), how_many(len(drives.servos), "servo")
    if not drives.joints:
        yield "the model has no hinge or slide joints: nothing to control"
    elif drives.servos and drives.motors:
        yield f"a PDController for {motors}; {servos} with the model's own law"
    elif drives.servos:
        yield f"{servos} with the model's own law; no controller is added"
    elif drives.motors:
        yield f"a PDController for {motors}"
    elif drives.others:
        yield f"no controller is added: none can run on {listed(drives.others)}; see mjrig check"
    else:
        yield f"the model has no actuators: motors and PD for {joints}"


# The gains --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AssignedGains:
    """Gains by actuator, and the natural frequency they were computed for [Hz]."""

    hertz: float
    kp: dict[str, float]
    kv: dict[str, float]

    @classmethod
    def of(cls, plan: AssignmentPlan) -> "AssignedGains":
        """The gains of a plan."""
        named = [(literal(row.actuator), gains) for row, gains in plan.changes]
        kp, kv = ({name: float(g[gain]) for name, g in named} for gain in ("kp", "kv"))
        return cls(plan.wish.frequency, kp, kv)


def _gains(scene: Scene) -> tuple[AssignedGains | None, str]:
    """The softest gains that hold the robot, else those that hold it best; and how well."""
    try:
        tried = []
        for hertz in FREQUENCIES:
            tried.append((_held(scene, assign(scene, Wish(hertz), poses=0)), hertz))
            if tried[-1][0].well:
                break
        _, hertz = min(tried, key=lambda t: (t[0].fell, t[0].sag))
        plan = assign(scene, Wish(hertz), poses=POSES)
    except BindingError as error:  # motors on tendons only, say
        return None, f"no gains were computed: {error}"
    held = _held(scene, plan)
    return AssignedGains.of(
        plan
    ), f"gains for {hertz:g} Hz, critically damped: in {WATCHED:g} s {held}"


def _held(scene: Scene, plan: AssignmentPlan) -> HeldPose:
    plan.put(scene)
    return watch(World(scene), scene.actors[0].name)


def watch(world: World, actor: str) -> HeldPose:
    """Let a robot hold its start pose for a while."""
    robot = world[actor]
    places = [b.qpos_address for b in robot.bindings if b.on_joint]
    start, base = world.data.qpos[places].copy(), base_position(robot)
    world.step(max(1, round(WATCHED / world.model.opt.timestep)))
    sag = float(np.abs(world.data.qpos[places] - start).max(initial=0.0))
    end = base_position(robot)
    fell = base is not None and end is not None and not end[2] > FALLEN * base[2]
    return HeldPose(sag, fell or not np.isfinite(world.data.qpos).all())
