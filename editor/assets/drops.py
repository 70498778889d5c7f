"""Drops: each is an edit with one undo entry, or is refused with the reason.

A controller that drives nothing after the drop is detected; motors are the remedy.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mujoco

from mjrig.core.control.controller import ArticulationController
from mjrig.core.errors import BindingError, MjrigError, PropertyError
from mjrig.core.names import literal
from mjrig.core.properties import registry
from mjrig.core.properties.component import ActorComponent, Component, component_named
from mjrig.core.scene.actor_description import Prop
from mjrig.core.scene.actuator import Actuator
from mjrig.core.scene.editing.actuator_conversion import as_motors
from mjrig.core.scene.editing.scene import Actor, Scene
from mjrig.core.scene.mujoco_options import SimOptions, settling
from mjrig.core.scene.scene_description import SCENES
from mjrig.core.scene.scene_file import actor_name
from mjrig.core.sim.floor_placement import HOME, Stance, has_floor, stance
from mjrig.core.sim.world import World
from mjrig.editor.assets.file_kinds import (
    MODEL,
    POLICY,
    PRESET,
    RECORDING,
    SCENE,
    FileKindError,
    classify,
    is_special,
    reference,
)
from mjrig.editor.gains.gain_edits import load_preset
from mjrig.editor.session.state import EditorState, Idle
from mjrig.editor.text import tr
from mjrig.lab.gains.gain_rows import gain_rows

# Idle controller ----------------------------------------------------------------------------------
# A controller that was added and drives nothing: why, and motors as the way out.


#: What a controller takes over from the position actuators, where it has it and nothing is set.
_TAKEN_OVER = ("kp", "kv", "torque_limit", "clamp_targets")


def idle_controller(world: World, actor: str, role: str) -> Idle | None:
    """What keeps a controller of an actor from driving anything; None: it drives something."""
    robot = next(
        r
        for r, p in zip(world.articulations.values(), world.placements.actors, strict=True)
        if actor in (p.name, p.original.name)
    )
    controller = component_named(robot, robot.components, role)
    if not isinstance(controller, ArticulationController) or controller.is_bound:
        return None
    skipped = controller.bindings.skipped
    return Idle(actor, role, tuple(f"{name} {why}" for name, why in skipped))


def use_motors(state: EditorState, actor: Actor, role: str) -> None:
    """Make motors of an actor's position actuators, driven by its controller: one edit.

    The controller takes over the gains and limits that the actuators have, so that the robot
    moves as before.

    Raises:
        MjrigError: there is none, or the world cannot be built; nothing is changed.
    """
    gains = as_motors(actor, ".*", state.scene.effective_sim()).controller
    with state.session.edit(tr("Use motors on {name}", name=actor.name)):
        actor.use_motors = True
        component = component_named(actor, actor.components, role)
        for name in _TAKEN_OVER:
            known = name in {p.name for p in component.properties()}
            if known and gains.is_authored(name) and not component.is_authored(name):
                component.assign({name: gains.authored(name)})


# Drops --------------------------------------------------------------------------------------------


Point = Sequence[float]
#: Height of a light or camera over the point it is dropped on [m].
HANGING = 2.0
#: Distance of files that are dropped together [m].
APART = 1.0


def drop(
    state: EditorState, kind: str, value: str, target: str | None = None, point: Point = (0, 0, 0)
) -> bool:
    """Perform a drop; the console shows why one is refused.

    Args:
        state: state of the window.
        kind: `model`, `scene`, `component`, `prop`, `preset`, `recording` or `policy`.
        value: a path, or a type name.
        target: the actor it was dropped on; None: the floor.
        point: where on the floor [m].

    Returns:
        Whether it was done.
    """
    actions: dict[str, Callable[[], None]] = {
        MODEL: lambda: _drop_model(state, value, point),
        SCENE: lambda: _drop_scene(state, value),
        "component": lambda: _drop_component(state, value, target),
        "prop": lambda: _drop_prop(state, value, point),
        PRESET: lambda: _drop_preset(state, value, target),
        RECORDING: lambda: _drop_recording(state, value, target),
        POLICY: lambda: _drop_policy(state, [Path(value)], target),
        "signal": lambda: _belongs_on_a_plot(value),
        "property": lambda: _belongs_on_a_plot(value),
    }
    action = actions.get(kind)
    if action is None:
        state.console.fail(tr("a {kind} cannot be dropped here", kind=kind))
        return False
    return state.attempt(action)


def drop_files(
    state: EditorState,
    paths: Sequence[str | Path],
    target: str | None = None,
    point: Point = (0, 0, 0),
) -> list[bool]:
    """Files dropped from the desktop, each classified by its name and contents."""
    done: list[bool] = []
    policies: list[Path] = []
    x, *rest = point
    for path in map(Path, paths):
        kind = _kind(state, path, target)
        if kind == POLICY:
            policies.append(path)  # settings and network come together
            done.append(True)
            continue
        done.append(kind is not None and drop(state, kind, str(path), target, (x, *rest)))
        x += APART if done[-1] and kind == MODEL else 0.0
    if policies and not state.attempt(lambda: _drop_policy(state, policies, target)):
        done = [did and Path(p) not in policies for did, p in zip(done, paths, strict=True)]
    return done


def _kind(state: EditorState, path: Path, target: str | None) -> str | None:
    """The kind of a file; None, with a message in the console, if it is unknown.

    Settings of a policy have no distinctive mark: on a robot, the importers examine them.
    """
    try:
        return classify(path)
    except FileKindError as error:
        if target is not None and path.suffix.lower() in SCENES and path.is_file():
            return POLICY
        state.console.fail(str(error))
        return None


# Models and props -------------------------------------------------------------------------------


def _drop_model(state: EditorState, value: str, point: Point) -> None:
    if is_special(value):
        file, written = value, value
    else:
        if classify(Path(value)) != MODEL:
            raise PropertyError(tr("{name!r} is not a model", name=Path(value).name))
        file, written = str(Path(value).absolute()), reference(Path(value), state.scene)
    name = actor_name(value, _taken(state))
    about: dict[str, object] = {}
    try:
        alone = _alone(name, model=file)
        if HOME in alone[name].model_map.keyframes:
            about["keyframe"] = HOME
            alone = _alone(name, model=file, **about)
    except MjrigError as error:
        raise PropertyError(
            tr("{name!r} cannot be added: {error}", name=Path(value).name, error=error)
        ) from error
    found = stance(alone)
    if found.has_floor and state.simulation.call(lambda world: has_floor(world.model)):
        about["scenery"] = False  # one floor is enough
        found = Stance(found.lowest, found.is_free, False)
    options = _options_to_keep(state, alone.model.opt)
    with state.session.edit(tr("Add {name}", name=name)) as scene:
        _keep(scene, options)
        _place(scene, name, point, found, model=written, **about)
    state.selection.only(name)
    if alone[name].servos:
        state.console.say(tr("{name} has gains of its own; see the gain table", name=name))
    elif alone[name].actuators:
        state.console.say(
            tr("{name} has no controller yet and stays limp; drop one on it", name=name)
        )
    if options:
        kept = ", ".join(f"{k} {v}" for k, v in options.items())
        state.console.say(
            tr(
                "the scene's simulation options also apply to {name!r} (sim: {kept})",
                name=name,
                kept=kept,
            )
        )


def _drop_prop(state: EditorState, kind: str, point: Point) -> None:
    registry.get(kind, Prop)
    stem = kind.removesuffix("Prop").lower()
    name = actor_name(stem or kind, _taken(state))
    prop = {"type": kind}
    found = stance(_alone(name, prop=prop))
    with state.session.edit(tr("Add {name}", name=name)) as scene:
        _place(scene, name, point, found, prop=prop)
    state.selection.only(name)


def _alone(name: str, **about: Any) -> World:
    """A world with this actor only."""
    scene = Scene()
    scene.add_actor(name, **about)
    return World(scene, "python")


def _place(scene: Scene, name: str, point: Point, found: Stance, **about: Any) -> None:
    """Add an actor so that it stands on the floor at a point."""
    x, y, floor = (*map(float, point), 0.0)[:3]
    if found.lowest is None and not found.has_floor:
        height = floor + HANGING
    else:
        height = found.height(floor)
    position = [round(x, 3), round(y, 3), round(height, 4)]
    if any(position):
        about["pose"] = {"position": [value + 0.0 for value in position]}
    scene.add_actor(name, **about)


def _taken(state: EditorState) -> set[str]:
    """Names that actors and frames of the world have, included ones too."""
    placed = state.simulation.call(lambda world: world.placements)
    scene = state.scene
    placed_names = [item.name for item in (*placed.actors, *placed.frames)]
    return {
        "world",
        *placed_names,
        *(a.name for a in scene.actors),
        *(f.name for f in scene.frames),
    }


def _options_to_keep(state: EditorState, theirs: Any) -> dict[str, object]:
    """Options that the models of the scene agree on and a new one does not."""

    def run(world: World) -> dict[str, object]:
        models = [p for p in world.placements.actors if p.item.model is not None]
        sim = state.scene.sim or SimOptions()
        return settling(world.model.opt, theirs, sim) if models else {}

    return state.simulation.call(run)


def _keep(scene: Scene, options: dict[str, object]) -> None:
    for name, value in options.items():
        scene.set(f"sim.{name}", value)


# Components -------------------------------------------------------------------------------------


def _drop_component(state: EditorState, kind: str, target: str | None) -> None:
    cls = registry.get(kind, Component)
    if issubclass(cls, Prop):
        raise PropertyError(
            tr("{kind} is a prop: drop it on the floor, not on an actor", kind=kind)
        )
    if target is None:
        raise PropertyError(tr("a {kind} belongs on an actor; drop it on one", kind=kind))
    actor = described_actor(state, target)
    if issubclass(cls, ActorComponent):
        with state.session.edit(tr("Add {kind} to {name}", kind=kind, name=actor.name)):
            added: ActorComponent = actor.add_component(cls())
        state.selection.only(added.label)
        name, role = actor.name, added.role
        state.wants_motors = state.simulation.call(lambda w: idle_controller(w, name, role))
    elif issubclass(cls, Actuator):
        joints = _idle_joints(state, target)
        with state.session.edit(tr("Add {kind} to {name}", kind=kind, name=actor.name)):
            actor.actuators = (*actor.actuators, cls(joint=joints))
        state.selection.only(actor.name)
    else:
        raise PropertyError(
            tr(
                "a {kind} is a part of a controller and cannot be added to an actor by itself; "
                "choose it in the controller's inspector",
                kind=kind,
            )
        )


def described_actor(state: EditorState, name: str) -> Actor:
    """The actor of the open scene that an actor of the world was made from.

    Raises:
        BindingError: there is none, or it stands in an included file.
    """
    placed = state.simulation.call(lambda world: world.placements.actors)
    for each in placed:
        if name in (each.name, each.original.name):
            if each.scene is not state.scene:
                raise BindingError(
                    tr(
                        "{name!r} comes from the included file {path}; edit it there",
                        name=name,
                        path=each.scene.path,
                    )
                )
            index: int = each.keys[1]
            return state.scene.actors[index]
    return state.scene[name]


def _idle_joints(state: EditorState, actor: str) -> str:
    """A pattern of the hinge and slide joints of an actor that have no actuator."""
    on_joints = int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT)
    moving = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)

    def run(world: World) -> list[str]:
        model, where = world.model, world[actor].model_map
        driven = {
            int(model.actuator_trnid[i, 0])
            for i in range(model.nactuator)
            if int(model.actuator_trntype[i]) in on_joints
        }
        return [
            model.joint(int(j)).name.removeprefix(where.prefix)
            for j in where.joint_ids
            if int(model.jnt_type[j]) in moving and int(j) not in driven
        ]

    joints = state.simulation.call(run)
    if not joints:
        raise BindingError(
            tr(
                "every hinge and slide joint of {actor!r} has an actuator; "
                "add another one in the inspector, with its target",
                actor=actor,
            )
        )
    return "|".join(map(literal, joints))


# The rest ---------------------------------------------------------------------------------------


def _drop_scene(state: EditorState, value: str) -> None:
    path = Path(value)
    if classify(path) != SCENE:
        raise PropertyError(tr("{name!r} is not a scene", name=path.name))
    state.wants_to_open = path.absolute()


def _drop_preset(state: EditorState, value: str, target: str | None) -> None:
    if target is None:
        raise PropertyError(
            tr("{name!r} holds gains; drop it on the actor they are for", name=Path(value).name)
        )
    actor = described_actor(state, target)
    rows = state.simulation.call(lambda world: gain_rows(world, state.scene, actor.name))
    if not rows:
        raise BindingError(tr("{name!r} has no actuator with gains", name=actor.name))
    state.console.say(f"{Path(value).name}: {load_preset(state.session, Path(value), rows)}")


def _drop_recording(state: EditorState, value: str, target: str | None) -> None:
    state.wants_to_replay = Path(value).absolute(), target or ""


def _drop_policy(state: EditorState, paths: Sequence[Path], target: str | None) -> None:
    """Files of one policy; without a target, for the only robot there is."""
    if target is None:
        robots = [n for n, r in state.simulation.world.articulations.items() if r.actuator_names]
        if len(robots) != 1:
            raise PropertyError(
                tr("{name!r}: drop a policy on the robot it is for", name=paths[0].name)
            )
        target = robots[0]
    state.wants_to_import = [p.absolute() for p in paths], described_actor(state, target).name


def _belongs_on_a_plot(value: str) -> None:
    raise PropertyError(tr("{signal} can be plotted; drop it on a plot", signal=value))
