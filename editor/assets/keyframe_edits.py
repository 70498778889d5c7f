"""Keyframes of an actor: keep the present pose as one, and go to one."""

from mjrig.editor.session.state import EditorState
from mjrig.editor.texts.texts import tr
from mjrig.errors import BindingError
from mjrig.names import unique
from mjrig.scene.actor_parts import Keyframe
from mjrig.sim.world import World


def capture(state: EditorState, actor: str) -> str:
    """Keep the present state of an actor as a keyframe of the scene; one edit.

    Returns:
        Its name: `pose`, `pose_2`, …

    Raises:
        BindingError: the actor is described elsewhere.
    """
    reason = state.why_not_edited(actor)
    if reason:
        raise BindingError(reason)

    def read(world: World) -> Keyframe:
        robot = world[actor]
        return robot.capture(unique("pose", list(robot.keyframes)))

    keyframe = state.simulation.call(read)
    with state.session.edit(
        tr("Capture {name} of {actor}", name=keyframe.name, actor=actor)
    ) as scene:
        scene[actor].add_keyframe(keyframe)
    state.console.say(
        tr("the pose of {actor} is its keyframe {name!r} now", actor=actor, name=keyframe.name)
    )
    return str(keyframe.name)


def go_to(state: EditorState, keyframe: str) -> None:
    """Reset to a keyframe, paused: every actor that has it starts there."""
    state.simulation.pause()
    state.simulation.reset(keyframe)
    state.console.say(tr("reset to the keyframe {keyframe!r}", keyframe=keyframe))
