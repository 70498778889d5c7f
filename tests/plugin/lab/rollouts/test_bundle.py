"""Scenes that travel: with every file they need, and unpacked once."""

import pickle
import shutil
from pathlib import Path

import pytest

import mjrig
from mjrig.lab.rollouts.scene_bundle import Bundle, LocalScene
from tests.meshes import write_corner
from tests.plugin.lab.sweep.swept import hinge_scene, refused


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def scene_with_assets(home: Path) -> mjrig.Scene:
    """A scene that includes another one, whose model has a mesh in a folder of its own."""
    (home / "models" / "meshes").mkdir(parents=True)
    (home / "scenes").mkdir()
    write_corner(home / "models" / "meshes" / "corner.stl")
    (home / "models" / "rock.xml").write_text(
        '<mujoco><compiler meshdir="meshes"/><asset><mesh name="m" file="corner.stl"/></asset>'
        '<worldbody><body><freejoint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    )
    (home / "scenes" / "part.yaml").write_text(
        "mjrig: 1\nactors:\n- {name: rock, model: ../models/rock.xml}\n"
    )
    main = hinge_scene(
        home / "scenes", more="include: [part.yaml]\nsim: {timestep: 0.001}\nvars: {kp: 7}\n"
    )
    main.write_text(main.read_text().replace("kp: 40", "kp: '${kp}'"))
    return mjrig.Scene.load(main, vars={"kp": 9})


def test_a_bundle_is_loaded_where_the_files_never_were(tmp_path: Path) -> None:
    scene = scene_with_assets(tmp_path / "home")
    scene.set("arm.PDController.kv", 3)  # not saved, and still there
    bundle = pickle.loads(pickle.dumps(Bundle.of(scene)))
    shutil.rmtree(tmp_path / "home")
    world = mjrig.World(bundle.load())
    assert list(world.articulations) == ["rock", "arm"]
    gains = world["arm"].controllers[0].gains()
    assert (gains["kp"].tolist(), gains["kv"].tolist()) == ([9.0], [3.0])


def test_after_that_it_travels_without_contents(tmp_path: Path) -> None:
    bundle = Bundle.of(scene_with_assets(tmp_path / "home"))
    light = bundle.light()
    assert not light.is_here and light.files == ()
    with refused(f"the bundle {bundle.digest[:8]} is not …"):
        light.load()
    bundle.unpack()
    assert light.is_here
    assert light.load().to_data() == bundle.load().to_data()


def test_unpacking_twice_at_once_does_no_harm(tmp_path: Path, own_cache: Path) -> None:
    bundle = Bundle.of(scene_with_assets(tmp_path / "home"))
    bundle.unpack()
    bundle.unpack()
    assert [p.name for p in (own_cache / "mjrig" / "bundles").iterdir()] == [bundle.root.name]


def test_the_digest_tells_every_change_that_matters(tmp_path: Path) -> None:
    home = tmp_path / "home"
    scene = scene_with_assets(home)
    digests = {LocalScene.of(scene).digest}
    scene.set("arm.PDController.kv", 3)
    digests.add(LocalScene.of(scene).digest)
    write_corner(home / "models" / "meshes" / "corner.stl", 0.2)
    digests.add(LocalScene.of(scene).digest)
    extra = tmp_path / "walk.h5"
    extra.write_bytes(b"1")
    digests.add(LocalScene.of(scene, [extra]).digest)
    extra.write_bytes(b"2")
    digests.add(LocalScene.of(scene, [extra]).digest)
    digests.add(LocalScene.of(mjrig.Scene.load(home / "scenes" / "scene.yaml")).digest)
    assert len(digests) == 6
    assert Bundle.of(scene, [extra]).digest in digests


def test_extra_files_are_found_where_they_are(tmp_path: Path) -> None:
    scene = mjrig.Scene.load(hinge_scene(tmp_path / "home"))
    extra = tmp_path / "walk.h5"
    extra.write_bytes(b"steps")
    bundle = Bundle.of(scene, [extra])
    bundle.unpack()
    assert bundle.locate(extra).read_bytes() == b"steps"
    assert bundle.locate(extra) != extra == LocalScene.of(scene).locate(extra)


def test_an_absolute_path_is_refused_because_it_cannot_travel(tmp_path: Path) -> None:
    scene = mjrig.Scene.load(hinge_scene(tmp_path))
    scene.set("arm.model", str(tmp_path / "arm.xml"))
    with refused(f"arm.model: {str(tmp_path / 'arm.xml')!r} is an absolute path, …"):
        Bundle.of(scene)
    assert mjrig.World(LocalScene.of(scene).load()).time == 0.0


def test_a_file_outside_of_the_bundle_is_refused(tmp_path: Path) -> None:
    bundle = Bundle("mjrig: 1\n", ".", (), "0" * 64, (), (("../evil", b""),))
    with refused("the bundle has a … '../evil' …"):
        bundle.unpack()
    assert not (tmp_path / "cache" / "mjrig" / "evil").exists()


def test_a_sandbox_stays_one(tmp_path: Path) -> None:
    path = hinge_scene(tmp_path / "home")
    local = LocalScene.of(mjrig.Scene.load(path, sandbox=True))
    scene = local.load()
    (tmp_path / "other.xml").write_text("<mujoco/>")
    scene.set("arm.model", "../other.xml")
    with pytest.raises(mjrig.MjrigError, match="outside"):
        mjrig.World(scene)
