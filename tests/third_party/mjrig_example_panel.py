"""SpringPanel: every spring of the scene in one place."""

from imgui_bundle import imgui

from mjrig.editor.ui.panel import Panel


class SpringPanel(Panel):
    """One slider per spring, and a button for all of them."""

    title = "Springs"
    place = "right"

    def draw(self) -> None:
        springs = [
            (f"{actor.name}.{component._role}.limit", component)
            for actor in self.state.scene.actors
            for component in actor.components
            if type(component).__name__ == "SpringController"
        ]
        if not springs:
            imgui.text_disabled("The scene has no springs.")
        for path, spring in springs:
            moved, value = imgui.slider_float(path, spring.limit, 0.0, 100.0)  # type: ignore[attr-defined]
            if moved:
                edit = lambda path=path, value=value: self.state.session.set(  # noqa: E731
                    path, value, merge=True
                )
                self.state.attempt(edit, field=path)
            if imgui.is_item_deactivated_after_edit():
                self.state.session.seal()
