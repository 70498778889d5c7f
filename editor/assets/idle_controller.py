"""A controller that was added and drives nothing: why, and motors as the way out."""

from mjrig.control.controller import ArticulationController
from mjrig.editor.session.state import EditorState, Idle
from mjrig.editor.texts.texts import tr
from mjrig.properties.component import component_named
from mjrig.scene_edit.actor import Actor
from mjrig.scene_edit.actuator_conversion import as_motors
from mjrig.sim.world import World

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
