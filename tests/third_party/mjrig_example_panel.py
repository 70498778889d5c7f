"""SpringPanel: every spring of the scene in one place."""

from functools import partial

from imgui_bundle import imgui

from mjrig.editor import Panel


class SpringPanel(Panel):
    """One slider per spring."""

    title = "Springs"
    place = "bottom right"  # or left, right, bottom, centre

    def draw(self) -> None:
        frame, session = self.state.simulation.frame, self.state.session
        imgui.text(f"{frame.time:.2f} s, {len(frame.robots)} robots")
        for actor in session.scene.actors:
            for component in actor.components:
                if type(component).__name__ == "SpringController":
                    self._limit(f"{actor.name}.{component.role}.limit", vars(component)["limit"])

    def _limit(self, path: str, now: float) -> None:
        session = self.state.session
        moved, value = imgui.slider_float(path, now, 0.0, 100.0)
        if moved:  # a drag is one undo entry; a refused value shows its error
            self.state.attempt(partial(session.set, path, value, merge=True), field=path)
        if imgui.is_item_deactivated_after_edit():
            session.seal()
