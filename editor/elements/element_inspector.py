"""ElementInspector: the inspector's page where joints or actuators are selected."""

from collections.abc import Callable

from mjrig.editor.elements.actuator_page import ActuatorPage
from mjrig.editor.elements.joint_page import JointPage
from mjrig.editor.elements.page_parts import ElementPages
from mjrig.editor.gains.gain_model import Tuning
from mjrig.editor.session.panel_edits import PanelEdits
from mjrig.editor.session.state import EditorState


class ElementInspector:
    """Draws the first selected joint or actuator; joints of one actor are edited together.

    Args:
        state: state of the editor.
        tuning: the rows of the gain table.
        edits: the edits of the inspector's widgets.
        show_gains: brings the gain table to the front.
    """

    def __init__(
        self,
        state: EditorState,
        tuning: Tuning,
        edits: PanelEdits,
        show_gains: Callable[[], None],
    ) -> None:
        self.state = state
        self.parts = ElementPages(state, tuning, edits, show_gains)
        self._joint = JointPage(self.parts)
        self._actuator = ActuatorPage(self.parts)

    def draw(self) -> bool:
        """Draw the page, if a joint or an actuator is selected first; returns whether it is."""
        paths, elements = self.state.selection.paths, self.state.elements
        first = paths[0] if paths else ""
        if first in elements.joints:
            self.parts.tuning.refresh()
            found = [elements.joints[path] for path in paths if path in elements.joints]
            self._joint.draw([joint for joint in found if joint.actor == found[0].actor])
        elif first in elements.actuators:
            self.parts.tuning.refresh()
            self._actuator.draw(elements.actuators[first])
        else:
            return False
        return True
