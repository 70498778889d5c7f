"""Actors of one model share its textures, and look as they would with their own."""

from pathlib import Path

import mujoco

import mjrig

MODEL = """
<mujoco>
  <asset>
    <texture name="sky" type="skybox" builtin="gradient" rgb1="0.5 0.6 0.7" width="16" height="96"/>
    <texture name="tiles" type="2d" builtin="checker" rgb1="{red} 0 0" width="16" height="16"/>
    <texture name="lamp" type="2d" builtin="flat" rgb1="1 1 0" width="8" height="8"/>
    <material name="tiled" texture="tiles" texrepeat="2 2"/>
    <material name="layered"><layer texture="tiles" role="rgb"/></material>
    <material name="plain" rgba="1 0 0 1"/>
  </asset>
  <worldbody>
    <body name="a">
      <freejoint/>
      <light name="l" type="spot" texture="lamp"/>
      <geom name="g" type="box" size=".1 .1 .1" material="tiled"/>
      <geom name="h" type="box" size=".1 .1 .1" pos="0 0 1" material="layered"/>
      <geom name="i" type="box" size=".1 .1 .1" pos="0 0 2" material="plain"/>
    </body>
  </worldbody>
</mujoco>"""


def _shown(model: mujoco.MjModel, geom: str) -> list[bytes]:
    """The pictures that a geom wears, by role."""
    pictures = []
    for texture in model.mat_texid[int(model.geom(geom).matid[0])]:
        start = model.tex_adr[texture] if texture >= 0 else 0
        size = model.tex_width[texture] * model.tex_height[texture] * model.tex_nchannel[texture]
        pictures.append(model.tex_data[start : start + size].tobytes() if texture >= 0 else b"")
    return pictures


def test_equal_textures_are_there_once_and_every_geom_wears_its_own(tmp_path: Path) -> None:
    reds = [0.2, 0.2, 0.9, 0.2]
    scene, bare = mjrig.Scene(), mujoco.MjSpec()
    for i, red in enumerate(reds):
        file = tmp_path / f"{red}.xml"
        file.write_text(MODEL.format(red=red))
        scene.add_actor(f"r{i}", model=file, pose={"position": [2.0 * i, 0, 0]})
        frame = bare.worldbody.add_frame(pos=[2.0 * i, 0, 0])
        bare.attach(mujoco.MjSpec.from_file(str(file)), prefix=f"r{i}/", frame=frame)
    model, alone = mjrig.World(scene).model, bare.compile()
    names = {model.texture(i).name for i in range(model.ntex)}
    lamps = {f"r{i}/lamp" for i in range(4)}  # a light refers to its own
    assert names == {"r0/sky", "r0/tiles", "r2/sky", "r2/tiles", *lamps}
    assert alone.ntex == 12
    for i in range(4):
        for geom in "ghi":
            assert _shown(model, f"r{i}/{geom}") == _shown(alone, f"r{i}/{geom}"), (i, geom)
