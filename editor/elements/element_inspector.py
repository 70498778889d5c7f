"""ElementInspector: the inspector's page where joints or actuators are selected."""

from mjrig.editor.elements.actuator_page import ActuatorPage
from mjrig.editor.elements.joint_page import JointPage
from mjrig.editor.elements.page_parts import ElementPages


class ElementInspector:
    """Draws the first selected joint or actuator; joints of one actor are edited together.

    Args:
        parts: what its pages draw with.
    """

    def __init__(self, parts: ElementPages) -> None:
        self.state = parts.state
        self.parts = parts
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
