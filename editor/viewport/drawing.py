"""Drawing: the window's copy of the world, with camera, options, highlights and floor grid.

Needs no OpenGL: rendering a prepared `MjvScene` is the view's job.
"""

import copy
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.scene.pose import composed
from mjrig.core.sim.world import World
from mjrig.editor.session.world_frame import STATE, WorldFrame

# Floor grid ---------------------------------------------------------------------------------------
# The floor grid: lines on the floor, or where one would be, so that distances can be seen.


#: Distances between two lines [m]: the largest below a third of the camera's distance.
SPACINGS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0)
#: Lines on either side of the middle.
REACH = 12
_LINE = int(mujoco.mjtGeom.mjGEOM_LINE)
_PLANE, _FIELD = int(mujoco.mjtGeom.mjGEOM_PLANE), int(mujoco.mjtGeom.mjGEOM_HFIELD)
_GREY, _RED, _GREEN = (0.42, 0.45, 0.50), (0.75, 0.25, 0.25), (0.25, 0.60, 0.30)
_MIDDLE, _EDGE = 0.65, 0.08


def floor_height(model: Any) -> float | None:
    """Height of the floor; 0 where there is none, None where the ground is not flat."""
    heights = []
    for i in np.flatnonzero(model.geom_bodyid == 0):
        if int(model.geom_type[i]) == _FIELD:
            return None
        if int(model.geom_type[i]) == _PLANE:
            normal = np.zeros(3)
            mujoco.mju_rotVecQuat(normal, np.array([0.0, 0.0, 1.0]), model.geom_quat[i])
            if normal[2] > 1.0 - 1e-6:
                heights.append(float(model.geom_pos[i, 2]))
    return heights[0] if heights else 0.0


def spacing(distance: float) -> float:
    """Distance of the lines for a distance of the camera."""
    return max((s for s in SPACINGS if s <= distance / 3.0), default=SPACINGS[0])


class FloorGrid:
    """The lines of one MjvScene; made again only where something about them changed."""

    def __init__(self, model: Any) -> None:
        self._height = floor_height(model)
        self._made: tuple[object, ...] = ()
        self._count = 0

    def add(self, scene: Any, middle: FloatArray, distance: float) -> None:
        """Add the lines around a point to a scene that was just updated."""
        if self._height is None:
            return
        step = spacing(distance)
        first = np.round(np.asarray(middle)[:2] / step)
        lift = self._height + 5e-4 * distance  # else the floor hides parts of them
        wanted = (scene.ngeom, step, *first.tolist(), lift)
        if wanted == self._made:  # an update leaves what lies behind its own geoms
            scene.ngeom += self._count
            return
        before = scene.ngeom
        _add_lines(scene, first, step, lift)
        self._made, self._count = wanted, scene.ngeom - before


def _add_lines(scene: Any, first: FloatArray, step: float, lift: float) -> None:
    """Lines in x and in y; the axes of the world are coloured."""
    low, high = (first - REACH) * step, (first + REACH) * step
    for offset in range(-REACH, REACH + 1):
        share = abs(offset) / REACH
        alpha = _MIDDLE + (_EDGE - _MIDDLE) * share
        x, y = (first + offset) * step
        colour = _GREEN if first[0] + offset == 0 else _GREY
        _add_line(scene, (x, low[1], lift), (x, high[1], lift), (*colour, alpha))
        colour = _RED if first[1] + offset == 0 else _GREY
        _add_line(scene, (low[0], y, lift), (high[0], y, lift), (*colour, alpha))


def _add_line(
    scene: Any,
    begin: tuple[float, ...],
    end: tuple[float, ...],
    colour: tuple[float, ...],
) -> None:
    if scene.ngeom >= scene.maxgeom:
        return
    geom = scene.geoms[scene.ngeom]
    nothing, rgba = np.zeros(3), np.array(colour, np.float32)
    mujoco.mjv_initGeom(geom, _LINE, nothing, nothing, np.zeros(9), rgba)
    mujoco.mjv_connector(geom, _LINE, 1.5, np.array(begin), np.array(end))
    geom.emission, geom.specular, geom.reflectance = 1.0, 0.0, 0.0  # its colour in any light
    scene.ngeom += 1


# Drawing ------------------------------------------------------------------------------------------


MAX_GEOMS = 5000
_FREE = int(mujoco.mjtJoint.mjJNT_FREE)
Pose = tuple[FloatArray, FloatArray]
#: The colour of what is selected, and how much of it a link and what it carries have.
_MARK = (1.0, 0.55, 0.05)
_SHARES = (0.75, 0.3)
#: What MuJoCo takes for a geom without a colour of its own.
_NO_COLOUR = (0.5, 0.5, 0.5, 1.0)


class Drawing:
    """Model, data, camera and options of the window, for one generation of the world."""

    def __init__(self, world: World, generation: int, *, cheap: bool = False) -> None:
        self.generation = generation
        self.model = copy.copy(world.model)
        if cheap:  # read when the view makes its OpenGL context
            quality = self.model.vis.quality
            quality.offsamples, quality.shadowsize = 0, 512
            quality.numslices, quality.numstacks, quality.numquads = 20, 12, 2
        self.data = mujoco.MjData(self.model)
        self.scene = mujoco.MjvScene(self.model, maxgeom=MAX_GEOMS)
        if cheap:
            self.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = 0
            self.scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = 0
        self.camera = mujoco.MjvCamera()
        mujoco.mjv_defaultFreeCamera(self.model, self.camera)
        self.option = mujoco.MjvOption()
        self.perturb = mujoco.MjvPerturb()
        self.prefixes = {r.name: r.model_map.prefix for r in world.articulations.values()}
        self._roots = {name: self._roots_of(prefix) for name, prefix in self.prefixes.items()}
        self._rest = self.model.body_pos.copy(), self.model.body_quat.copy()
        #: Where actors are shown while a gizmo drags them: a shift of their pose in the world.
        self.shifts: dict[str, Pose] = {}
        self._colours = self.model.geom_rgba.copy()
        #: Bodies that are marked: the links themselves, and what they carry.
        self.marked: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
        #: How far beside the followed actor the camera looks [m].
        self.beside = np.zeros(3)
        #: Whether lines are drawn on the floor.
        self.has_grid = True
        self._grid = FloorGrid(self.model)
        #: Whether the model has a sky; without one there is nothing behind its geoms.
        self.has_sky = int(mujoco.mjtTexture.mjTEXTURE_SKYBOX) in self.model.tex_type

    def look_like(self, other: "Drawing") -> None:
        """Take camera and options over from the drawing of the world before."""
        self.camera, self.option, self.beside = other.camera, other.option, other.beside
        self.has_grid = other.has_grid
        self.scene.flags[:] = other.scene.flags
        camera, kinds = self.camera, mujoco.mjtCamera
        if camera.trackbodyid >= 0:  # numbers change from world to world, names stay
            name = other.model.body(camera.trackbodyid).name
            camera.trackbodyid = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, name)
        if camera.fixedcamid >= 0:
            name = other.model.camera(camera.fixedcamid).name
            camera.fixedcamid = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_CAMERA, name)
        lost = {int(kinds.mjCAMERA_TRACKING): camera.trackbodyid}
        lost[int(kinds.mjCAMERA_FIXED)] = camera.fixedcamid
        if lost.get(camera.type, 0) < 0:
            camera.type = int(kinds.mjCAMERA_FREE)

    # State --------------------------------------------------------------------------------------

    def flag_tables(self) -> tuple[tuple[str, Any, Any], ...]:
        """MuJoCo's drawing options: a title, their names with keys, and the flags to set."""
        return (
            ("Model", mujoco.mjVISSTRING, self.option.flags),
            ("Picture", mujoco.mjRNDSTRING, self.scene.flags),
        )

    def show(self, frame: WorldFrame) -> None:
        """Put the data into the state of a frame of the same generation."""
        self.model.body_pos[:], self.model.body_quat[:] = self._rest
        mujoco.mj_setState(self.model, self.data, frame.state, STATE)
        for name, shift in self.shifts.items():
            self._shift(name, shift)
        mujoco.mj_forward(self.model, self.data)

    def update(self) -> None:
        """Make the list of things to draw."""
        mujoco.mjv_updateScene(
            self.model,
            self.data,
            self.option,
            self.perturb,
            self._aimed(),
            int(mujoco.mjtCatBit.mjCAT_ALL),
            self.scene,
        )
        if self.has_grid:
            self._grid.add(self.scene, *self._look_at())

    def _look_at(self) -> tuple[FloatArray, float]:
        """What the camera looks at, and from how far."""
        camera = self.camera
        if int(camera.type) != int(mujoco.mjtCamera.mjCAMERA_FIXED):
            point: FloatArray = np.array(camera.lookat)
            return point, float(camera.distance)
        eye, ahead = (
            np.asarray(v, float) for v in (self.scene.camera[0].pos, self.scene.camera[0].forward)
        )
        reach = max(abs(float(eye[2])), 0.5) * 2.0
        return eye + reach * ahead, reach

    def _aimed(self) -> Any:
        """The camera; where it follows an actor, one that looks beside it as far as was panned."""
        camera, kinds = self.camera, mujoco.mjtCamera
        if int(camera.type) != int(kinds.mjCAMERA_TRACKING):
            return camera
        camera.lookat[:] = self.data.subtree_com[camera.trackbodyid] + self.beside
        aimed = copy.copy(camera)
        aimed.type = int(kinds.mjCAMERA_FREE)
        return aimed

    def move_camera(self, action: Any, dx: float, dy: float) -> None:
        """Move the camera as MuJoCo's viewer does; one that follows keeps following."""
        camera, kinds = self.camera, mujoco.mjtCamera
        follows = int(camera.type) == int(kinds.mjCAMERA_TRACKING)
        before = np.array(camera.lookat)
        if follows:  # MuJoCo itself does not pan then
            camera.type = int(kinds.mjCAMERA_FREE)
        mujoco.mjv_moveCamera(self.model, action, dx, dy, camera)
        if follows:
            camera.type = int(kinds.mjCAMERA_TRACKING)
            self.beside = self.beside + camera.lookat - before

    def _shift(self, name: str, shift: Pose) -> None:
        model, data = self.model, self.data
        for body in self._roots.get(name, ()):
            joint = int(model.body_jntadr[body])
            if joint >= 0 and int(model.jnt_type[joint]) == _FREE:
                q = int(model.jnt_qposadr[joint])
                point, turn = data.qpos[q : q + 3].copy(), data.qpos[q + 3 : q + 7].copy()
                data.qpos[q : q + 3], data.qpos[q + 3 : q + 7] = composed(*shift, point, turn)
            else:
                point, turn = model.body_pos[body].copy(), model.body_quat[body].copy()
                model.body_pos[body], model.body_quat[body] = composed(*shift, point, turn)

    def mark(self, links: Sequence[int], moved: Sequence[int]) -> None:
        """Colour the links that are selected, and fainter what moves with them; () for none."""
        model = self.model
        whole = set(model.body_weldid[list(links)].tolist())
        strong = tuple(b for b in moved if int(model.body_weldid[b]) in whole)
        wanted = strong, tuple(b for b in moved if b not in strong)
        if wanted == self.marked:
            return
        self.marked = wanted
        model.geom_rgba[:] = self._colours
        for bodies, share in zip(wanted, _SHARES, strict=True):
            geoms = np.flatnonzero(np.isin(model.geom_bodyid, bodies))
            colours = self._seen_colours(geoms)
            colours[:, :3] += share * (np.asarray(_MARK) - colours[:, :3])
            model.geom_rgba[geoms] = colours

    def _seen_colours(self, geoms: npt.NDArray[np.intp]) -> FloatArray:
        """The colours geoms are drawn in: a material's, unless they have their own."""
        model = self.model
        colours: FloatArray = self._colours[geoms].astype(float)
        plain = (model.geom_matid[geoms] >= 0) & (colours == _NO_COLOUR).all(axis=1)
        colours[plain] = model.mat_rgba[model.geom_matid[geoms[plain]]]
        return colours

    # What is what -------------------------------------------------------------------------------

    def _roots_of(self, prefix: str) -> list[int]:
        """The topmost bodies of an actor that stand in the world."""
        model = self.model
        named = [i for i in range(1, model.nbody) if model.body(i).name.startswith(prefix)]
        return [i for i in named if int(model.body_parentid[i]) == 0]

    def actor_of(self, body: int) -> str | None:
        """The actor a body belongs to; None for the world."""
        if body <= 0:
            return None
        name = self.model.body(body).name
        fits = [a for a, prefix in self.prefixes.items() if name.startswith(prefix)]
        return max(fits, key=lambda a: len(self.prefixes[a]), default=None)

    def bodies_of(self, actor: str) -> list[int]:
        """The bodies of an actor."""
        return [i for i in range(1, self.model.nbody) if self.actor_of(i) == actor]

    def centre_of(self, actor: str) -> FloatArray:
        """The centre of an actor's bodies."""
        bodies = self.bodies_of(actor)
        points = self.data.xipos[bodies] if bodies else np.zeros((1, 3))
        centre: FloatArray = points.mean(axis=0)
        return centre

    def root_pose(self, actor: str) -> Pose:
        """Where the handles of an actor are: its root body, else the origin."""
        roots = self._roots.get(actor) or self.bodies_of(actor)[:1]
        if not roots:
            return np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
        return self.data.xpos[roots[0]].copy(), self.data.xquat[roots[0]].copy()

    def is_floating(self, actor: str) -> bool:
        """Whether an actor's root is free."""
        joints = [int(self.model.body_jntadr[b]) for b in self._roots.get(actor, ())]
        return any(j >= 0 and int(self.model.jnt_type[j]) == _FREE for j in joints)

    def frame_on(self, actor: str | None) -> None:
        """Point the camera at an actor, or at everything."""
        if actor is None:
            mujoco.mjv_defaultFreeCamera(self.model, self.camera)
            return
        bodies = self.bodies_of(actor)
        if bodies:
            self.camera.type = int(mujoco.mjtCamera.mjCAMERA_FREE)
            self.camera.lookat[:] = self.centre_of(actor)
            extent = np.linalg.norm(self.data.xipos[bodies] - self.camera.lookat, axis=1).max()
            self.camera.distance = max(2.5 * float(extent), 0.5)

    def pick(self, x: float, y: float, aspect: float) -> tuple[int, FloatArray]:
        """Body and point under a place of the viewport (x right, y down, both 0 to 1)."""
        point = np.zeros(3)
        ids = [np.full((1, 1), -1, np.int32) for _ in range(3)]
        body = mujoco.mjv_select(
            self.model, self.data, self.option, aspect, x, 1.0 - y, self.scene, point, *ids
        )
        return int(body), point


# Camera geometry --------------------------------------------------------------------------------


def camera_matrices(scene: Any, aspect: float) -> tuple[FloatArray, FloatArray]:
    """View and projection matrix (4, 4) of what is drawn, in OpenGL's conventions."""
    left, right = scene.camera[0], scene.camera[1]
    position = (np.asarray(left.pos) + np.asarray(right.pos)) / 2.0
    forward = _unit(np.asarray(left.forward) + np.asarray(right.forward))
    up = _unit(np.asarray(left.up) + np.asarray(right.up))
    view = np.eye(4)
    view[:3, :3] = np.stack([np.cross(forward, up), up, -forward])
    view[:3, 3] = -view[:3, :3] @ position
    near, far = left.frustum_near, left.frustum_far
    bottom, top = left.frustum_bottom, left.frustum_top
    half_width = left.frustum_width or (top - bottom) * aspect / 2.0
    projection = np.zeros((4, 4))
    projection[0, 0] = near / half_width
    projection[0, 2] = left.frustum_center / half_width
    projection[1, 1] = 2.0 * near / (top - bottom)
    projection[1, 2] = (top + bottom) / (top - bottom)
    projection[2, 2] = -(far + near) / (far - near)
    projection[2, 3] = -2.0 * far * near / (far - near)
    projection[3, 2] = -1.0
    return view, projection


def _unit(vector: FloatArray) -> FloatArray:
    length: FloatArray = vector / np.linalg.norm(vector)
    return length


def floor_point(
    x: float, y: float, view: FloatArray, projection: FloatArray, height: float = 0.0
) -> FloatArray | None:
    """Where the ray through a place of the viewport (x right, y down, 0 to 1) meets the floor."""
    inverse = np.linalg.inv(projection @ view)
    ends = []
    for depth in (-1.0, 1.0):
        point = inverse @ np.array([2.0 * x - 1.0, 1.0 - 2.0 * y, depth, 1.0])
        ends.append(point[:3] / point[3])
    start, ray = ends[0], ends[1] - ends[0]
    if ray[2] == 0.0:
        return None
    share = (height - start[2]) / ray[2]
    return start + share * ray if 0.0 < share <= 1.0 else None
