"""The viewport: the running world, with camera control, picking, pushing and drops."""

import math
import time
from collections.abc import Callable
from typing import Any, ClassVar

import mujoco
import numpy as np
from imgui_bundle import imgui

from mjrig.core.arrays import FloatArray
from mjrig.core.sim.world import World
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr
from mjrig.editor.ui.colours import ALARM
from mjrig.editor.ui.layout import px, size
from mjrig.editor.ui.panel import Panel
from mjrig.editor.viewport import cameras
from mjrig.editor.viewport.drawing import Drawing, camera_matrices, floor_point
from mjrig.editor.viewport.gizmo import Gizmo
from mjrig.editor.viewport.overlays import Notice, Rect, Refusals, draw_axis, draw_rays, paint_sky
from mjrig.editor.viewport.scene_renderer import Quality, SceneRenderer

DropHandler = Callable[[str, Any, str | None, FloatArray | None], None]
_MOUSE = mujoco.mjtMouse
_BUTTONS = (
    imgui.ButtonFlags_.mouse_button_left
    | imgui.ButtonFlags_.mouse_button_right
    | imgui.ButtonFlags_.mouse_button_middle
)
#: Movement of the mouse that is still a click [pixels].
_STILL = 4.0
#: Time without changes after which the picture counts as still [s].
_STANDS = 0.25


class Viewport(Panel):
    """Shows the running world.

    Left drag turns, right drag moves, the wheel zooms (away from you: in); a click selects the
    actor, another one the joint of the link, a double click the body that Ctrl with the left (turn)
    or right (pull) button then pushes.

    Args:
        state: state of the editor.
        make_view: makes the view for a model; needs a current context.
        quality: how finely it is drawn.
        on_drop: called with kind, value, the actor under the mouse and the point it was dropped at.
    """

    title = "Viewport"
    place = "centre"
    window_flags: ClassVar[int] = (
        int(imgui.WindowFlags_.no_scrollbar)
        | int(imgui.WindowFlags_.no_scroll_with_mouse)
        | int(imgui.WindowFlags_.no_background)  # the picture covers it
    )

    def __init__(
        self,
        state: EditorState,
        make_view: Callable[[Any], SceneRenderer],
        quality: Quality,
        on_drop: DropHandler = lambda kind, value, actor, point: None,
    ) -> None:
        super().__init__(state)
        self._make_view, self.quality, self._on_drop = make_view, quality, on_drop
        self.drawing: Drawing | None = None
        self.view: SceneRenderer | None = None
        self.gizmo = Gizmo(state)
        self.rect = (0.0, 0.0, 1.0, 1.0)
        self.notice, self.refusals = Notice(), Refusals()
        self.is_focused = self.is_hovered = False
        self._texture = 0
        self._drawn: Any = None
        self._changed = 0.0
        #: Whether the last frame redrew the picture.
        self.drew = False
        self._moved = 0.0
        self._held = False
        self._pushing = False
        self._pushed: set[int] = set()
        self._seen: list[str] = []
        #: Draws over the picture; called with its rectangle (x, y, width, height).
        self.over: Callable[[Rect], None] = lambda rect: None

    # The copy that is drawn ---------------------------------------------------------------------

    def follow(self) -> Drawing:
        """The drawing of the present world, in its latest state."""
        simulation = self.state.simulation
        frame = simulation.frame
        if self.drawing is None or self.drawing.generation != frame.generation:
            self._renew(frame.generation)
        drawing = self.drawing
        assert drawing is not None
        if frame.generation == drawing.generation:  # else: the next frame will fit
            drawing.show(frame)
        self._mark_selection(drawing)
        self._let_go(drawing)
        return drawing

    def _renew(self, generation: int) -> None:
        before = self.drawing
        world = self.state.simulation.world
        self.drawing = Drawing(world, generation, cheap=self.quality.software)
        if before is not None:
            self.drawing.look_like(before)
        else:
            cameras.start(self.drawing)
        if self.view is not None:
            self.view.free()
        self.view = self._make_view(self.drawing.model)
        self._drawn = None
        self._pushing = False
        self._pushed.clear()  # forces are not carried from world to world

    def _mark_selection(self, drawing: Drawing) -> None:
        if self._pushing or self.state.simulation.generation != drawing.generation:
            return
        paths, actor = self.state.selection.paths, self.state.selection.actor
        links, moved = self.state.elements.moved(paths)
        drawing.mark(links, moved)
        is_new, self._seen = paths != self._seen, list(paths)
        if links and (is_new or not drawing.perturb.select):
            drawing.perturb.select = links[0]
        elif is_new or drawing.actor_of(drawing.perturb.select) != actor:
            bodies = drawing.bodies_of(actor) if actor is not None else []
            drawing.perturb.select = bodies[0] if bodies else 0

    def start_over(self) -> None:
        """Reset the camera for another scene."""
        self.drawing = None

    def free(self) -> None:
        """Free the view; needs the context it was made with."""
        if self.view is not None:
            self.view.free()
            self.view = None

    # Drawing ------------------------------------------------------------------------------------

    def draw(self) -> None:
        self.is_focused, self.is_hovered = imgui.is_window_focused(), imgui.is_window_hovered()
        drawing = self.follow()
        room, corner = imgui.get_content_region_avail(), imgui.get_cursor_screen_pos()
        width, height = max(64, int(room.x)), max(64, int(room.y))
        self.rect = (corner.x, corner.y, float(width), float(height))
        self._show(drawing, width, height)
        imgui.set_cursor_screen_pos(corner)
        imgui.set_next_item_allow_overlap()
        if self.gizmo.is_hot and not self._held:  # a gizmo does not start over a widget
            imgui.dummy(imgui.ImVec2(width, height))
        else:
            imgui.invisible_button("##view", imgui.ImVec2(width, height), _BUTTONS)
            self._mouse(drawing)
            self._drop_target(drawing)
        for path in self.state.selection.paths:
            joint = self.state.elements.joints.get(path)
            if joint is not None and self.state.simulation.generation == drawing.generation:
                draw_axis(drawing, joint, self.rect)
        draw_rays(drawing, self.state.simulation.frame, self.state.selection.actor, self.rect)
        self.gizmo.draw(drawing, self.rect)
        self._say_why_not(corner, height)
        self._overlay(corner)
        self.over(self.rect)
        if self.state.simulation.fault is None:
            self.refusals.draw(self.rect)
        self.notice.draw(self.rect)

    @property
    def takes_keys(self) -> bool:
        """Whether single keys are meant for it: it has the mouse or the focus, nothing is typed."""
        return (
            (self.is_focused or self.is_hovered)
            and not imgui.get_io().want_text_input
            and (self._held or not imgui.is_any_item_active())
        )

    def _say_why_not(self, corner: Any, height: int) -> None:
        if self.gizmo.reason:
            imgui.set_cursor_screen_pos(imgui.ImVec2(corner.x + px(12), corner.y + height - px(28)))
            imgui.text_colored(imgui.ImVec4(1.0, 0.8, 0.4, 1.0), self.gizmo.reason)

    def _show(self, drawing: Drawing, width: int, height: int) -> None:
        """Draw if anything changed since the last time; the old picture is good otherwise.

        What stands still for a moment is drawn once more, as finely as it can be.
        """
        drawing.update()
        assert self.view is not None
        seen, now = (drawing.data.qpos.tobytes(), *_looks(drawing)), time.monotonic()
        if self._drawn is None or seen != self._drawn[0]:
            self._changed = now
        scale = self.quality.still if now - self._changed > _STANDS else self.quality.scale
        dense = imgui.get_io().display_framebuffer_scale  # more than 1 where a point has pixels
        pixels = int(width * scale * max(dense.x, 1.0)), int(height * scale * max(dense.y, 1.0))
        wanted = (seen, pixels)
        self.drew = wanted != self._drawn
        if self.drew:
            self._texture = self.view.render(drawing.scene, *wanted[1])
            self._drawn = wanted
        if not drawing.has_sky:
            paint_sky(self.rect)
        flipped = imgui.ImVec2(0, 1), imgui.ImVec2(1, 0)
        imgui.image(imgui.ImTextureRef(self._texture), imgui.ImVec2(width, height), *flipped)

    def _overlay(self, corner: Any) -> None:
        """Why the simulation stopped, with a button to rewind."""
        fault = self.state.simulation.fault
        if fault is None:
            return
        imgui.set_cursor_screen_pos(corner + size(12, 12))
        imgui.push_style_color(imgui.Col_.child_bg, ALARM)
        imgui.begin_child("fault", imgui.ImVec2(min(self.rect[2] - px(24), px(460)), px(92)))
        imgui.text_wrapped(fault.text)
        if imgui.button(tr("Rewind 1 s")):
            began = fault.time or self.state.simulation.frame.time
            self.state.attempt(lambda: self._rewind(began - 1.0))
        imgui.same_line()
        if imgui.button(tr("Dismiss")):
            self.state.simulation.fault = None
        imgui.end_child()
        imgui.pop_style_color()

    def _rewind(self, moment: float) -> None:
        self.state.simulation.go_to(moment)
        self.state.simulation.fault = None

    # Mouse --------------------------------------------------------------------------------------

    def _mouse(self, drawing: Drawing) -> None:
        io = imgui.get_io()
        if imgui.is_item_activated():
            self._moved = 0.0
        self._held = imgui.is_item_active()
        if self._held:
            self._moved += abs(io.mouse_delta.x) + abs(io.mouse_delta.y)
            self._drag(drawing, io)
        elif self._pushing:
            self._stop_pushing(drawing)
        hovered = imgui.is_item_hovered()
        if hovered and imgui.is_mouse_double_clicked(0):
            self._select(drawing, body=True)
            self._moved = math.inf  # its release is no click
        elif imgui.is_item_deactivated() and self._moved < _STILL and hovered:
            self._select(drawing, body=False)
        if hovered and io.mouse_wheel:
            drawing.move_camera(_MOUSE.mjMOUSE_ZOOM, 0.0, 0.05 * io.mouse_wheel)

    def _drag(self, drawing: Drawing, io: Any) -> None:
        height = self.rect[3]
        dx, dy = io.mouse_delta.x / height, io.mouse_delta.y / height
        left, right = imgui.is_mouse_down(0), imgui.is_mouse_down(1)
        if io.key_ctrl and drawing.perturb.select > 0 and (left or right):
            self._push(drawing, "turn" if left else "pull", dx, dy)
        elif right or imgui.is_mouse_down(2):
            action = _MOUSE.mjMOUSE_MOVE_H if io.key_shift else _MOUSE.mjMOUSE_MOVE_V
            drawing.move_camera(action, dx, dy)
        elif left:
            action = _MOUSE.mjMOUSE_ROTATE_H if io.key_shift else _MOUSE.mjMOUSE_ROTATE_V
            drawing.move_camera(action, dx, dy)

    def mouse_place(self) -> tuple[float, float]:
        """Where the mouse is in the viewport: x right, y down, both 0 to 1."""
        mouse = imgui.get_mouse_pos()
        x, y, width, height = self.rect
        return (mouse.x - x) / width, (mouse.y - y) / height

    def _select(self, drawing: Drawing, *, body: bool) -> None:
        picked, point = drawing.pick(*self.mouse_place(), self.rect[2] / self.rect[3])
        actor = drawing.actor_of(picked)
        selection = self.state.selection
        if actor is None:
            drawing.perturb.select = 0
            selection.clear()
        elif imgui.get_io().key_shift:
            selection.toggle(actor)
        elif not body or selection.actor != actor:
            selection.only(self._meant(picked, actor))
        if body and actor is not None:
            drawing.perturb.select = picked
            self._seen = list(selection.paths)  # what is grabbed stays so
            self._grip(drawing, picked, point)

    def _meant(self, body: int, actor: str) -> str:
        """What a click on a body selects: its actor; of a selected actor the link's joint.

        Further clicks go through the joints of the link, the innermost first, back to the actor.
        """
        selection = self.state.selection
        if selection.actor != actor:
            return actor
        joints = self.state.elements.joints_of_link(body)
        steps = [*(j for j in reversed(joints) if j.startswith(f"{actor}.")), actor]
        now = selection.paths[0]
        return steps[steps.index(now) + 1] if now in steps[:-1] else steps[0]

    @staticmethod
    def _grip(drawing: Drawing, body: int, point: FloatArray) -> None:
        """Remember where the body was grabbed, in its own frame."""
        rotation = drawing.data.xmat[body].reshape(3, 3)
        drawing.perturb.localpos[:] = rotation.T @ (point - drawing.data.xpos[body])

    # Pushing ------------------------------------------------------------------------------------

    def _push(self, drawing: Drawing, way: str, dx: float, dy: float) -> None:
        """Pull or turn the selected body as MuJoCo's own viewer does; the force goes to the sim."""
        model, data, perturb, scene = drawing.model, drawing.data, drawing.perturb, drawing.scene
        bits = mujoco.mjtPertBit
        if not self._pushing:
            self._pushing = True
            mujoco.mjv_initPerturb(model, data, scene, perturb)
            turn = way == "turn"
            perturb.active = int(bits.mjPERT_ROTATE if turn else bits.mjPERT_TRANSLATE)
        action = _MOUSE.mjMOUSE_ROTATE_V if way == "turn" else _MOUSE.mjMOUSE_MOVE_V
        mujoco.mjv_movePerturb(model, data, action, dx, dy, scene, perturb)
        data.xfrc_applied[:] = 0.0
        mujoco.mjv_applyPerturbForce(model, data, perturb)
        body, force = int(perturb.select), data.xfrc_applied[perturb.select].copy()
        self._pushed.add(body)
        self._apply(drawing, body, force)

    def _stop_pushing(self, drawing: Drawing) -> None:
        self._pushing = False
        drawing.perturb.active = 0
        for body in self._pushed:
            self._apply(drawing, body, np.zeros(6))

    def _let_go(self, drawing: Drawing) -> None:
        """End a push that a restored state still contains: no body is held any more."""
        for body in () if self._pushing else self._pushed:
            if drawing.data.xfrc_applied[body].any():
                self._apply(drawing, body, np.zeros(6))

    def _apply(self, drawing: Drawing, body: int, force: FloatArray) -> None:
        simulation, generation = self.state.simulation, drawing.generation

        def run(world: World) -> None:
            if simulation.generation == generation:  # in another world it is another body
                world.data.xfrc_applied[body] = force

        simulation.put(tr("push {body}", body=body), run)

    # Drops --------------------------------------------------------------------------------------

    def _drop_target(self, drawing: Drawing) -> None:
        if imgui.begin_drag_drop_target():
            if imgui.accept_drag_drop_payload_py_id("MJRIG") is not None:
                dragged, self.state.dragged = self.state.dragged, None
                if dragged is not None:
                    self.drop(*dragged, self.mouse_place())
            imgui.end_drag_drop_target()

    def drop(self, kind: str, value: Any, place: tuple[float, float]) -> None:
        """Something was dropped at a place of the viewport (x right, y down, 0 to 1)."""
        drawing = self.drawing
        assert drawing is not None
        aspect = self.rect[2] / self.rect[3]
        body, hit = drawing.pick(*place, aspect)
        view, projection = camera_matrices(drawing.scene, aspect)
        point = hit if body >= 0 else floor_point(*place, view, projection)
        self._on_drop(kind, value, drawing.actor_of(body), point)


def _looks(drawing: Drawing) -> tuple[Any, ...]:
    """Everything but the state that changes the picture."""
    camera, option = drawing.camera, drawing.option
    return (
        camera.lookat.tobytes(),
        camera.distance,
        camera.azimuth,
        camera.elevation,
        camera.type,
        camera.fixedcamid,
        camera.trackbodyid,
        np.asarray(option.flags).tobytes(),
        np.asarray(option.geomgroup).tobytes(),
        option.label,
        option.frame,
        np.asarray(drawing.scene.flags).tobytes(),
        drawing.has_grid,
        drawing.perturb.select,
        drawing.perturb.active,
        drawing.model.body_pos.tobytes(),
        drawing.model.body_quat.tobytes(),
        drawing.data.mocap_pos.tobytes(),
        drawing.data.mocap_quat.tobytes(),
        drawing.data.xfrc_applied.tobytes(),
        drawing.data.time,
        drawing.marked,
    )
