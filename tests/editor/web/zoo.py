"""Small scenes that show everything MuJoCo draws, and what its own renderer makes of them.

`python -m tests.editor.web.zoo FILE.npz` draws them with MuJoCo's renderer (EGL or OSMesa).
"""

# ruff: noqa: E501 - models are easier to read in one line

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

SIZE = (320, 240)
_SKY = '<texture type="skybox" builtin="gradient" rgb1=".4 .6 .8" rgb2="0 0 0" width="64" height="384"/>'
_CHECKER = (
    '<texture name="check" type="2d" builtin="checker" rgb1=".2 .3 .4" rgb2=".7 .7 .6" '
    'width="64" height="64"/><material name="check" texture="check" texrepeat="3 2" {more}/>'
)
_LIGHT = '<light pos="1 -1 3" dir="-.3 .3 -1" diffuse=".7 .7 .7"/>'
_LOOK = '<visual><headlight diffuse=".4 .4 .4" ambient=".2 .2 .2"/><quality shadowsize="1024"/></visual>'
_FLOOR = '<geom name="floor" type="plane" size="3 3 .1" {more}/>'
_SOLIDS = """
<geom type="sphere" size=".25" pos="-.9 0 .3" rgba=".8 .2 .2 1" {more}/>
<geom type="capsule" size=".12 .25" pos="-.35 .3 .45" euler="20 40 0" rgba=".2 .7 .2 1" {more}/>
<geom type="ellipsoid" size=".3 .15 .2" pos=".2 -.3 .35" euler="0 0 30" rgba=".2 .3 .9 1" {more}/>
<geom type="cylinder" size=".18 .2" pos=".8 .1 .3" euler="30 0 0" rgba=".8 .8 .2 1" {more}/>
<geom type="box" size=".2 .15 .25" pos=".3 .7 .3" euler="0 0 25" rgba=".7 .4 .8 1" {more}/>
"""
_TETRA = """<mesh name="wedge" vertex="-.4 -.3 0  .4 -.3 0  .4 .3 0  -.4 .3 0  -.3 0 .5  .3 0 .5  0 -.1 .25"
 face="0 2 1  0 3 2  0 1 6  1 5 6  5 4 6  4 0 6  2 3 4  2 4 5  1 2 5  0 4 3"/>"""


@dataclass(frozen=True)
class Animal:
    """One scene: a model, and what is done to its data, options and flags before it is drawn."""

    name: str
    xml: str
    flags: tuple[tuple[str, int], ...] = ()
    options: tuple[tuple[str, int], ...] = ()
    steps: int = 0
    prepare: Callable[[Any, Any, Any], None] = lambda model, data, option: None
    elevation: float = -25.0
    distance: float = 3.2

    def scene(self) -> tuple[Any, Any]:
        """Model and prepared MjvScene."""
        model = mujoco.MjModel.from_xml_string(self.xml)
        model.vis.quality.offsamples = 4
        data, option = mujoco.MjData(model), mujoco.MjvOption()
        for name, value in self.options:
            option.flags[getattr(mujoco.mjtVisFlag, f"mjVIS_{name}")] = value
        mujoco.mj_step(model, data, self.steps) if self.steps else mujoco.mj_forward(model, data)
        self.prepare(model, data, option)
        scene, camera = mujoco.MjvScene(model, maxgeom=500), mujoco.MjvCamera()
        for name, value in self.flags:
            scene.flags[getattr(mujoco.mjtRndFlag, f"mjRND_{name}")] = value
        camera.lookat[:] = (0.0, 0.1, 0.3)
        camera.distance, camera.azimuth, camera.elevation = self.distance, 120.0, self.elevation
        bits = int(mujoco.mjtCatBit.mjCAT_ALL)
        mujoco.mjv_updateScene(model, data, option, None, camera, bits, scene)
        if self.name == "lines":
            _add_lines(scene)
        return model, scene


def _model(body: str, assets: str = "", more: str = "") -> str:
    return (
        f'<mujoco><compiler angle="degree"/>{_LOOK}<asset>{assets}</asset>'
        f"<worldbody>{_LIGHT}{body}</worldbody>{more}</mujoco>"
    )


def _falling(shape: str) -> str:
    return f'<body pos="0 0 .3"><freejoint/><geom type="{shape}" size=".2 .2 .2" rgba=".5 .6 .7 1"/></body>'


def _labels(model: Any, data: Any, option: Any) -> None:
    option.frame = int(mujoco.mjtFrame.mjFRAME_GEOM)


def _add_lines(scene: Any) -> None:
    """Long ones that go past the camera, as those of the floor grid do."""
    line, nothing = int(mujoco.mjtGeom.mjGEOM_LINE), np.zeros(3)
    for k in range(-4, 5):
        colour = np.array((0.4, 0.45, 0.5, 0.7 if k else 1.0), np.float32)
        for ends in (((k, -12, 0.01), (k, 12, 0.01)), ((-12, k, 0.01), (12, k, 0.01))):
            geom = scene.geoms[scene.ngeom]
            mujoco.mjv_initGeom(geom, line, nothing, nothing, np.zeros(9), colour)
            mujoco.mjv_connector(geom, line, 1.5, *np.array(ends, float))
            scene.ngeom += 1


def _lines(model: Any, data: Any, option: Any) -> None:
    model.vis.global_.linewidth = 2.0
    option.flags[mujoco.mjtVisFlag.mjVIS_BODYBVH] = 1


_SKIN = """<deformable><skin name="s" rgba=".8 .5 .3 1" vertex="-.5 -.3 .2  .5 -.3 .2  .5 .3 .5  -.5 .3 .5"
 face="0 1 2  0 2 3"><bone body="b" bindpos="0 0 0" bindquat="1 0 0 0" vertid="0 1 2 3" vertweight="1 1 1 1"/></skin></deformable>"""


def _everything() -> str:
    """Most of it in one scene: mirror, shadow, textures, cube map, glass, hull, skin, flex."""
    looks = (
        '<texture name="check" type="2d" builtin="checker" rgb1=".2 .3 .4" rgb2=".5 .5 .4" width="64" height="64"/>'
        '<material name="m" texture="check" texrepeat="4 4" reflectance=".3"/>'
        '<texture name="c" type="cube" builtin="flat" mark="cross" width="64" height="64" rgb1=".2 .5 .7" markrgb="1 1 1"/>'
        '<material name="c" texture="c"/>'
    )
    things = (
        '<geom type="box" size=".2 .15 .25" pos=".5 .7 .3" material="c"/>'
        '<geom type="sphere" size=".25" pos="-.9 0 .3" rgba=".8 .2 .2 1"/>'
        '<geom type="capsule" size=".1 .2" pos="-.4 .5 .4" euler="20 40 0" rgba=".2 .7 .2 .5"/>'
        '<geom type="mesh" mesh="wedge" pos=".3 -.5 .1" rgba=".7 .7 .5 1"/>'
        '<body name="b" pos="0 0 .1"><geom size=".03"/></body>'
        '<flexcomp name="f" type="grid" count="4 4 1" spacing=".12 .12 .1" pos=".9 0 .5" dim="2" '
        'radius=".01" mass="1" rgba=".3 .6 .8 1"><pin id="0"/></flexcomp>'
    )
    return _model(_FLOOR.format(more='material="m"') + things, looks + _TETRA + _SKY, _SKIN)


def zoo() -> Iterator[Animal]:
    """All of them."""
    floor, solids = _FLOOR.format(more=""), _SOLIDS.format(more="")
    yield Animal("solids", _model(floor + solids), flags=(("SHADOW", 0), ("REFLECTION", 0)))
    yield Animal("shadow", _model(floor + solids))
    two = '<light pos="-1 1 2" dir=".4 -.4 -1" diffuse=".5 .4 .3" cutoff="40" exponent="8" type="spot"/>'
    yield Animal("two_shadows", _model(floor + solids + two))
    many = "".join(
        f'<light pos="{x} {y} 3" dir="{-x / 4} {-y / 4} -1" diffuse=".25 .2 .2" cutoff="60"/>'
        for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1))
    )
    yield Animal("six_shadows", _model(floor + solids + two + many))
    far = '<light pos="0 0 2" dir="0 .2 -1" diffuse=".8 .8 .8" attenuation="1 .3 .1" castshadow="false"/>'
    yield Animal("spot_without_shadow", _model(floor + solids + far), flags=(("SHADOW", 0),))
    mirror = '<material name="m" reflectance=".5" rgba=".3 .35 .4 1"/>'
    yield Animal(
        "reflection",
        _model(_FLOOR.format(more='material="m"') + solids, mirror),
        flags=(("SHADOW", 0),),
    )
    top = '<geom type="box" size=".9 .7 .1" material="m"/>'
    up = solids.replace('pos="', 'pos="')
    yield Animal("box_mirror", _model(top + up, mirror), flags=(("SHADOW", 0),))
    clear = _SOLIDS.replace(' 1" {more}', ' .4"')
    yield Animal("transparent", _model(floor + clear), flags=(("SHADOW", 0),))
    yield Animal("additive", _model(floor + clear), flags=(("SHADOW", 0), ("ADDITIVE", 1)))
    yield Animal("from_below", _model(floor + solids), elevation=20.0)
    for name, more in (("plain", ""), ("uniform", 'texuniform="true"')):
        look = _CHECKER.format(more=more)
        textured = _SOLIDS.format(more='material="check"')
        yield Animal(
            f"texture_{name}", _model(_FLOOR.format(more='material="check"') + textured, look),
            flags=(("SHADOW", 0),),
        )  # fmt: skip
        endless = '<geom type="plane" size="0 0 .1" material="check"/>'
        yield Animal(
            f"endless_{name}", _model(endless + solids, look + _SKY), elevation=-12.0,
            flags=(("SHADOW", 0),),
        )  # fmt: skip
    cube = (
        '<texture name="c" type="cube" builtin="flat" mark="cross" width="64" height="64" '
        'rgb1=".2 .5 .7" rgb2=".7 .5 .2" markrgb="1 1 1"/><material name="c" texture="c"/>'
    )
    yield Animal(
        "cube_map",
        _model(floor + _SOLIDS.format(more='material="c"'), cube),
        flags=(("SHADOW", 0),),
    )
    yield Animal("sky", _model(solids, _SKY), elevation=15.0)
    yield Animal(
        "haze", _model('<geom type="plane" size="0 0 .1"/>' + solids, _SKY), elevation=-8.0
    )
    yield Animal("fog", _model(floor + solids, _SKY), flags=(("FOG", 1),), distance=7.0)
    yield Animal("wireframe", _model(floor + solids), flags=(("WIREFRAME", 1), ("SHADOW", 0)))
    yield Animal("segments", _model(floor + solids), flags=(("SEGMENT", 1),))
    yield Animal("ids", _model(floor + solids), flags=(("SEGMENT", 1), ("IDCOLOR", 1)))
    mesh = '<geom type="mesh" mesh="wedge" pos="0 0 .2" rgba=".7 .7 .5 1"/>'
    yield Animal("mesh", _model(floor + mesh, _TETRA), distance=2.0)
    yield Animal("hull", _model(floor + mesh, _TETRA), options=(("CONVEXHULL", 1),), distance=2.0)
    field = (
        '<hfield name="h" nrow="6" ncol="8" size="1 .7 .4 .2" elevation="'
        + " ".join(str((i * 7 % 11) / 11) for i in range(48)) + '"/>'
    )  # fmt: skip
    yield Animal("field", _model('<geom type="hfield" hfield="h" rgba=".4 .6 .3 1"/>', field))
    yield Animal(
        "skin", _model(floor + '<body name="b"><geom size=".05"/></body>', more=_SKIN), distance=2.0
    )
    flex = (
        '<flexcomp name="f" type="grid" count="5 5 1" spacing=".2 .2 .2" pos="0 0 .4" dim="2" '
        'radius=".02" mass="1" rgba=".3 .6 .8 1"/>'
    )
    yield Animal("flex", _model(floor + flex), distance=2.4)
    yield Animal(
        "flex_wires", _model(floor + flex), distance=2.4,
        options=(("FLEXVERT", 1), ("FLEXEDGE", 1), ("FLEXFACE", 0)),
    )  # fmt: skip
    yield Animal(
        "contacts", _model(floor + _falling("box")), steps=400, distance=2.0,
        options=(("CONTACTPOINT", 1), ("CONTACTFORCE", 1)), flags=(("SHADOW", 0),),
    )  # fmt: skip
    yield Animal(
        "joints", _model(floor + '<body pos="0 0 .5"><joint axis="0 1 0"/><geom type="box" size=".3 .1 .1"/></body>'),
        options=(("JOINT", 1), ("INERTIA", 1), ("COM", 1)), distance=2.0, flags=(("SHADOW", 0),),
    )  # fmt: skip
    yield Animal("lines", _model(floor + solids), prepare=_lines, flags=(("SHADOW", 0),))
    yield Animal("everything", _everything())
    yield Animal("frames", _model(floor + solids), prepare=_labels, flags=(("SHADOW", 0),))
    yield Animal(
        "dark",
        f"<mujoco><visual><headlight active='0'/></visual><worldbody>{floor}{solids}</worldbody></mujoco>",
    )


def draw(animal: Animal, context: Any = None) -> Any:
    """What MuJoCo's own renderer makes of it, (height, width, 4), the lowest row first."""
    model, scene = animal.scene()
    width, height = SIZE
    model.vis.global_.offwidth, model.vis.global_.offheight = width, height
    made = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
    mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, made)
    place = mujoco.MjrRect(0, 0, width, height)
    mujoco.mjr_render(place, scene, made)
    picture = np.zeros((height, width, 3), np.uint8)
    mujoco.mjr_readPixels(picture, None, place, made)
    made.free()
    return picture


def main(path: Path, *names: str) -> None:
    """Draw some of them, or all, into one file."""
    context = mujoco.GLContext(*SIZE)
    context.make_current()
    np.savez_compressed(path, **{a.name: draw(a) for a in zoo() if a.name in names or not names})
    context.free()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
