"""Gizmo: handles that move and turn actors; one undo entry per drag, Ctrl snaps."""

from enum import StrEnum
from typing import Any

import mujoco
import numpy as np
from imgui_bundle import imgui, imguizmo

from mjrig.core.arrays import FloatArray
from mjrig.core.scene.editing.scene import Actor
from mjrig.core.scene.pose import Pose, Rigid, composed, rotation
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr
from mjrig.editor.viewport.drawing import Drawing, camera_matrices

_gizmo = imguizmo.im_guizmo
#: Grid of a snapped move [m] and turn [deg].
SNAP_MOVE, SNAP_TURN = 0.1, 15.0


class Tool(StrEnum):
    """What a drag in the viewport does."""

    SELECT = "select"
    MOVE = "move"
    TURN = "turn"


class Gizmo:
    """Handles at the selected actor; the drag is shown at once, and an edit when it ends."""

    def __init__(self, state: EditorState) -> None:
        self.state = state
        self.tool = Tool.SELECT
        self.local = False
        #: Whether the mouse is over the handles or holds one: the viewport leaves it alone then.
        self.is_hot = False
        #: Why the selection has no handles; empty if it has, or if no tool is active.
        self.reason = ""
        self._started: FloatArray | None = None
        self._now: FloatArray | None = None

    def draw(self, drawing: Drawing, rect: tuple[float, float, float, float]) -> None:
        """Show the handles and follow a drag."""
        actor = self._actor()
        if actor is None:
            self.is_hot, self._started, self._now = False, None, None
            drawing.shifts.clear()
            return
        start = self._started
        if start is None:
            start = _matrix(*drawing.root_pose(actor.name))
        shown = self._now if self._started is not None and self._now is not None else start
        moved = self._manipulate(drawing, rect, shown)
        if _gizmo.is_using():
            self._started, self._now = start, moved
            drawing.shifts = {actor.name: _shift(start, moved)}
        elif self._started is not None:
            end = self._now if self._now is not None else start
            self._started = self._now = None
            drawing.shifts.clear()
            if not np.allclose(end, start, atol=1e-9):
                shift = Rigid(*_shift(start, end))
                self.state.attempt(lambda: self.move(actor.name, *self._moved(actor, shift)))
        self.is_hot = _gizmo.is_over() or _gizmo.is_using()

    def _actor(self) -> Actor | None:
        """The actor that has handles now; where there is none, `reason` is set."""
        self.reason = ""
        name = self.state.selection.actor
        if self.tool is Tool.SELECT or name is None:
            return None
        found = next((a for a in self.state.scene.actors if a.name == name), None)
        if found is None:
            self.reason = self.state.why_not_edited(name)
        elif found.attach is not None:
            self.reason = tr(
                "{name} is attached to {to} and moves with it", name=name, to=found.attach.to
            )
        elif found.replicate is not None:
            self.reason = tr("{name} has copies: edit its pose in the inspector", name=name)
        return None if self.reason else found

    def _moved(self, actor: Actor, shift: Rigid) -> Rigid:
        """The pose of an actor after a motion in the world, as it is described."""
        written = Rigid.of(actor.pose)
        if actor.pose is None or not actor.pose.relative_to:
            return shift.then(written)
        stands = self.state.simulation.world[actor.name].model_map.origin
        frame = stands.then(written.inverse())
        return frame.inverse().then(shift.then(stands))

    def _manipulate(
        self, drawing: Drawing, rect: tuple[float, float, float, float], pose: FloatArray
    ) -> FloatArray:
        view, projection = camera_matrices(drawing.scene, rect[2] / rect[3])
        _gizmo.begin_frame()
        _gizmo.set_drawlist()
        _gizmo.set_rect(*rect)
        _gizmo.set_orthographic(False)
        turning = self.tool is Tool.TURN
        operation = _gizmo.OPERATION.rotate if turning else _gizmo.OPERATION.translate
        mode = _gizmo.MODE.local if self.local else _gizmo.MODE.world
        held = _column_major(pose)
        matrices = _column_major(view), _column_major(projection)
        changed = _gizmo.manipulate(*matrices, operation, mode, held)
        if not changed:
            return pose
        moved = np.array(held.values, dtype=float).reshape(4, 4).T
        if imgui.get_io().key_ctrl:
            moved = snapped(moved, turning=turning)
        return moved

    def move(self, actor: str, position: FloatArray, quaternion: FloatArray) -> None:
        """Put an actor somewhere: one edit.

        Raises:
            MjrigError: it cannot stand there; nothing was changed.
        """
        state = self.state
        verb = "Turn" if self.tool is Tool.TURN else "Move"
        with state.session.edit(f"{verb} {actor}") as scene:
            described = scene[actor]
            if described.pose is None:
                described.pose = Pose()
            assert described.pose is not None
            _write(described.pose, position, quaternion)


def _write(pose: Pose, position: FloatArray, quaternion: FloatArray) -> None:
    """Write a pose with the keys it is written with already; what did not change stays."""
    before = rotation(pose)
    if not np.allclose(before[0], position, atol=1e-6):
        pose.position = [_short(v) for v in position]
    if abs(float(before[1] @ quaternion)) > 1.0 - 1e-9:
        return
    if pose.is_authored("quaternion"):
        pose.quaternion = [_short(v) for v in quaternion]
    else:
        pose.euler_deg = [_short(v, 3) for v in euler_deg(quaternion)]


def _short(value: float, digits: int = 4) -> float:
    return round(float(value), digits) + 0.0  # no minus zero


def euler_deg(quaternion: FloatArray) -> FloatArray:
    """Angles about the turned x, y and z axes that give a rotation [deg]."""
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, np.asarray(quaternion, dtype=float))
    m = matrix.reshape(3, 3)
    y = np.arcsin(np.clip(m[0, 2], -1.0, 1.0))
    if abs(m[0, 2]) < 1.0 - 1e-9:
        x, z = np.arctan2(-m[1, 2], m[2, 2]), np.arctan2(-m[0, 1], m[0, 0])
    else:  # x and z turn about one axis: let x do it all
        x, z = np.arctan2(m[2, 1], m[1, 1]), 0.0
    angles: FloatArray = np.degrees(np.array([x, y, z]))
    return angles


def snapped(matrix: FloatArray, *, turning: bool) -> FloatArray:
    """A pose on the grid."""
    position, quaternion = _pose(matrix)
    if turning:
        angles = np.round(euler_deg(quaternion) / SNAP_TURN) * SNAP_TURN
        mujoco.mju_euler2Quat(quaternion, np.radians(angles), "xyz")
    else:
        position = np.round(position / SNAP_MOVE) * SNAP_MOVE
    return _matrix(position, quaternion)


def _matrix(position: FloatArray, quaternion: FloatArray) -> FloatArray:
    matrix, turn = np.eye(4), np.zeros(9)
    mujoco.mju_quat2Mat(turn, quaternion)
    matrix[:3, :3], matrix[:3, 3] = turn.reshape(3, 3), position
    return matrix


def _pose(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    quaternion = np.zeros(4)
    columns = matrix[:3, :3] / np.linalg.norm(matrix[:3, :3], axis=0)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(columns).reshape(9))
    return matrix[:3, 3].copy(), quaternion


def _shift(start: FloatArray, now: FloatArray) -> tuple[FloatArray, FloatArray]:
    inverse = np.zeros(3), np.zeros(4)
    mujoco.mju_negPose(*inverse, *_pose(start))
    return composed(*_pose(now), *inverse)


def _column_major(matrix: FloatArray) -> Any:
    return _gizmo.Matrix16([float(v) for v in matrix.T.ravel()])
