"""MotorsDialog: a controller that was added and drives nothing, why, and motors as the way out."""

from dataclasses import dataclass

from imgui_bundle import imgui

from mjrig.editor.assets.idle_controller import use_motors
from mjrig.editor.session.state import EditorState, Idle
from mjrig.editor.texts.texts import tr
from mjrig.editor.ui.dialogs import Dialog
from mjrig.errors import BindingError
from mjrig.names import listed
from mjrig.properties.component import ActorComponent, component_named
from mjrig.scene_edit.actor import Actor
from mjrig.scene_edit.actuator_conversion import as_motors

#: How many actuators are listed with their reasons.
_LISTED = 3


@dataclass(frozen=True)
class _Offer:
    idle: Idle
    actor: Actor
    #: The position actuators that can be motors.
    servos: tuple[str, ...]


class MotorsDialog(Dialog):
    """Says why a controller drives nothing, and offers motors where that helps."""

    title = "The controller drives nothing"

    def __init__(self, state: EditorState) -> None:
        super().__init__(state)
        self._offer: _Offer | None = None

    def ask(self, idle: Idle) -> None:
        """Show it for a controller."""
        actor = self.state.scene[idle.actor]
        self._offer = _Offer(idle, actor, _servos(self.state, actor))
        self.open()

    def content(self) -> None:
        offer = self._offer
        assert offer is not None
        idle = offer.idle
        imgui.text(
            tr("{role} on {actor} has no actuator to drive:", role=idle.role, actor=idle.actor)
        )
        for reason in idle.reasons[:_LISTED]:
            imgui.bullet_text(reason)
        if len(idle.reasons) > _LISTED:
            imgui.bullet_text(tr("and {count} more", count=len(idle.reasons) - _LISTED))
        if not idle.reasons:
            imgui.bullet_text(tr("the actor has no actuator"))
        imgui.spacing()
        if offer.servos:
            self._motors(offer)
        if imgui.button(tr("Remove the controller")):
            self.close()
            self.state.attempt(lambda: self._remove(offer))
        imgui.set_item_tooltip(tr("The gains of native actuators are in the gain table as well."))
        imgui.same_line()
        if imgui.button(tr("Leave it")):
            self.close()

    def _motors(self, offer: _Offer) -> None:
        if imgui.button(tr("Use motors")):
            self.close()
            self.state.attempt(lambda: use_motors(self.state, offer.actor, offer.idle.role))
        imgui.set_item_tooltip(
            tr(
                "Makes motors of {names} (use_motors: true); the controller takes over their "
                "gains and limits. The model file stays as it is.",
                names=listed(offer.servos),
            )
        )
        imgui.same_line()

    def _remove(self, offer: _Offer) -> None:
        actor, role = offer.actor, offer.idle.role
        component = component_named(actor, actor.components, role)
        assert isinstance(component, ActorComponent)
        with self.state.session.edit(tr("Remove {role} from {name}", role=role, name=actor.name)):
            actor.remove_component(component)


def _servos(state: EditorState, actor: Actor) -> tuple[str, ...]:
    """The actuators that `use_motors` would make motors of."""
    try:
        made = as_motors(actor, ".*", state.scene.effective_sim()).actuators
    except BindingError:
        return ()
    new = [a for a in made if all(a is not own for own in actor.actuators)]
    return tuple(name for a in new for name in (a.replaces or (a.joint,)))
