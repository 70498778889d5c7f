"""Files that mean harm, or are no scenes at all: told of at once, with their place."""

import os
import tracemalloc
from pathlib import Path

import pytest

import mjrig
from mjrig.core.errors import SceneError
from mjrig.core.yaml_text.yaml_document import MAX_CHARACTERS, MAX_NODES, Document
from tests.conftest import HINGE
from tests.resource_limits import cpu_limit
from tests.wording import matches, regex

HEAD = "mjrig: 1\nactors: []\n"
DOG = "mjrig: 1\nactors:\n  - name: dog\n    model: legs.xml\n    pose: {{{0}}}\n"


def complaint(folder: Path, content: str | bytes) -> str:
    data = content.encode() if isinstance(content, str) else content
    (folder / "s.yaml").write_bytes(data)
    with pytest.raises(SceneError) as caught:
        mjrig.Scene.load(folder / "s.yaml")
    assert (folder / "s.yaml").read_bytes() == data
    return str(caught.value).removeprefix(f"{folder}/")


def bomb(levels: int, width: int = 10) -> str:
    lines = ["a0: &a0 [x]"]
    for i in range(1, levels):
        lines.append(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]")
    return HEAD + "vars:\n" + "".join(f"  {line}\n" for line in lines)


@pytest.mark.parametrize(
    "text",
    [
        bomb(30),
        HEAD + "vars: {a: &a {x: *a}}\n",
        HEAD + "vars:\n  m0: &m0 {k: v}\n"
        + "".join(f"  m{i}: &m{i} {{a: *m{i - 1}, b: *m{i - 1}}}\n" for i in range(1, 60)),
    ],
)  # fmt: skip
def test_aliases_of_aliases_are_refused_before_they_fill_the_memory(
    tmp_path: Path, text: str
) -> None:
    tracemalloc.start()
    said = complaint(tmp_path, text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert said.startswith("s.yaml:")
    assert peak < 100_000_000


def test_variables_of_variables_are_refused_too(tmp_path: Path) -> None:
    lines = [f"  v{i}: ['${{v{i - 1}}}', '${{v{i - 1}}}']\n" for i in range(1, 45)]
    said = complaint(tmp_path, HEAD + "vars:\n  v0: 1\n" + "".join(lines))
    assert said.endswith(f"the variables expand to more than {MAX_NODES} values")


def test_more_values_than_anybody_writes_are_refused_while_they_are_read() -> None:
    text = "[" + "1," * (MAX_NODES + 10) + "1]"
    with pytest.raises(SceneError) as caught:
        Document(text, "f.yaml")
    column = 2 * MAX_NODES
    assert str(caught.value) == f"f.yaml:1:{column}: has more than {MAX_NODES} values"


def test_a_big_file_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(tmp_path / "s.yaml", "wb") as file:
        file.truncate(100_000_000)  # a hole: it takes no room

    monkeypatch.setattr(os, "fdopen", lambda *a, **k: _Unread())
    with pytest.raises(SceneError) as caught:
        mjrig.Scene.load(tmp_path / "s.yaml")
    assert matches(
        str(caught.value),
        f"{tmp_path}/s.yaml:1:1: cannot be read: has 100000000 … {4 * MAX_CHARACTERS} …",
    )


class _Unread:
    """A file that must not be read."""

    def __enter__(self) -> "_Unread":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def read(self, size: int) -> bytes:
        raise AssertionError("the file was read")


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_deep_nesting_is_refused(tmp_path: Path, opening: str) -> None:
    said = complaint(tmp_path, "mjrig: 1\nvars: " + opening * 20_000)
    assert said.startswith("s.yaml:")


def test_moderate_nesting_below_variables_is_refused_or_fine(tmp_path: Path) -> None:
    text = HEAD + "vars: {x: " + "[" * 90 + "]" * 90 + "}\nsim: '${x}'\n"
    assert complaint(tmp_path, text).startswith("s.yaml:4:6: sim: ")


@pytest.mark.parametrize(
    ("pose", "expected"),
    [
        ("position: [0, .nan, 0]", "pose.position: must be a number, … nan"),
        ("position: [0, 0, .inf]", "pose.position: must be finite, got inf"),
        ("position: [0, 0, -inf]", "pose.position: must be finite, got -inf"),
        ("position: [0, 0, 1e999]", "pose.position: must be finite, got inf"),
        ("euler_deg: [nan, 0, 0]", "pose.euler_deg: must be a number, … nan"),
        ("quaternion: [0, 0, 0, 0]",
         "pose.quaternion: must not be zero; … [1, 0, 0, 0]"),
        ("quaternion: [0, 1e-200, 0, 0]",
         "pose.quaternion: must not be zero; … [1, 0, 0, 0]"),
        ("quaternion: [0, 1e200, 0, 0]",
         "pose.quaternion: is too long; the … [1, 0, 0, 0]"),
        ("position: [0, 1e300, 0]", "pose.position: must not exceed MuJoCo's limit … 1e+10"),
        ("quaternion: [0, 0, 0, .nan]", "pose.quaternion: must be a number, … nan"),
    ],
)  # fmt: skip
def test_poses_that_are_none_are_refused(tmp_path: Path, pose: str, expected: str) -> None:
    said = complaint(tmp_path, DOG.format(pose))
    assert said.startswith("s.yaml:5:")
    assert matches(said, f"…: dog.{expected}")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"mjrig: 1\nname: \xff\xfe", "s.yaml:2:7: not UTF-8 text: invalid start …"),
        (b"mjrig: 1\n# \x00", "s.yaml:2:3: not text: character #x0000"),
        ("mjrig: 1".encode("utf-16"), "s.yaml:1:1: not UTF-8 text: invalid start …"),
        (b"", "s.yaml:1:1: a scene is a … 'mjrig: 1' … 'actors'"),
        (b"\x89PNG\r\n", "s.yaml:1:1: not UTF-8 text: invalid start …"),
        (b"mjrig: 1\nmjrig: 1\n", "s.yaml:2:1: duplicate key 'mjrig'; first at 1:1"),
        (b"mjrig: 1\nvars: !!python/object/apply:os.system [x]\n",
         "s.yaml:2:7: vars: the tag !!python/object/apply:os.system is not … YAML"),
        (b"mjrig: 1\nactors: [{name: ${x}}]\n",
         's.yaml:2:18: not valid YAML: expected \',\' or \'}\', … \'{\', … "${name}"'),
    ],
)  # fmt: skip
def test_what_is_no_scene_is_told_of_with_its_place(
    tmp_path: Path, content: bytes, expected: str
) -> None:
    assert matches(complaint(tmp_path, content), expected)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "s.yaml")
    with pytest.raises(SceneError) as caught:
        mjrig.Scene.load(tmp_path / "s.yaml")
    assert matches(str(caught.value), f"{tmp_path}/s.yaml:1:1: cannot be read: Not a …")
    (tmp_path / "t.yaml").write_text("mjrig: 1\ninclude: [s.yaml]\n")
    with pytest.raises(SceneError, match=r"t.yaml:2:11: .*there is no file"):
        mjrig.Scene.load(tmp_path / "t.yaml")
    (tmp_path / "t.yaml").write_text("mjrig: 1\nactors: [{name: a, model: m.xml}]\n")
    os.mkfifo(tmp_path / "m.xml")
    with pytest.raises(SceneError, match=r"t.yaml:2:27: .*there is no file"):
        mjrig.World(tmp_path / "t.yaml")


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_not_read(device: str) -> None:
    if not Path(device).exists():
        pytest.skip(f"there is no {device} here")
    with pytest.raises(SceneError, match="Not a regular file"):
        mjrig.Scene.load(device)


def test_a_folder_and_an_impossible_name_are_told_of(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match=regex(":1:1: cannot be read: Is a …")):
        mjrig.Scene.load(tmp_path)
    with pytest.raises(SceneError, match=regex(":1:1: cannot be read: embedded …")):
        mjrig.Scene.load("a\0b")
    with pytest.raises(SceneError, match=regex(":1:1: cannot be read: File name …")):
        mjrig.Scene.load("x" * 5000)


# Bombs ------------------------------------------------------------------------------------------

LONG = "a" * 41
MESH = '<mujoco><asset><mesh name="m" file="{0}"/></asset></mujoco>'
ACTOR = "mjrig: 1\nactors:\n  - name: dog\n    model: long.xml\n"
PROP = "mjrig: 1\nactors: [{{name: a, prop: {{type: {0}}}}}]\n"
MOTOR = ACTOR + f"    actuators: [{{type: MotorActuator, joint: {LONG}, "
BOMBS = {
    "gains": ACTOR + '    components: [{type: PDController, kp: {"(a+)+b": 1}}]\n',
    "owned": ACTOR + '    components: [{type: PDController, actuators: "(a|aa)+b"}]\n',
    "joints": ACTOR + '    joints: {"(a*)*b": 1}\n',
    "removed": ACTOR + '    removed: ["(a+)+b"]\n',
    "renamed": ACTOR + '    dynamics: {armature: {"(a+)+b": 1}}\n',
    "actuators": ACTOR + '    actuators: [{type: MotorActuator, joint: "(a+)+b"}]\n',
    "groups": ACTOR + 'collision_groups: [{name: g, members: ["(d+)+o"]}]\n',
    "randomise": ACTOR + 'randomise: [{path: "(d+)+x.pose.position", high: 1}]\n',
    "repetitions": ACTOR + '    joints: {"a{99999999999}": 1}\n',
    "stars": ACTOR + f'    joints: {{"{".*" * 30}b": 1}}\n',
    "long pattern": ACTOR + f'    joints: {{"{"a?" * 3000}": 1}}\n',
    "alternatives": ACTOR
    + f'    components: [{{type: PDController, kp: {{"{"(.|.|.|.|.|.|.|.)" * 11}X": 1}}}}]\n',
    "copies": ACTOR + "    replicate: {count: [1e9, 1e9, 1e9]}\n",
    "iterations": "mjrig: 1\nsim: {iterations: 1e9}\n",
    "delay": ACTOR + "    components: [{type: PDController, delay: {steps: 1e15}}]\n",
    "seconds": ACTOR + "    components: [{type: PDController, delay: {seconds: 1e300}}]\n",
    "random": ACTOR + "    components: [{type: PDController, delay: {random: [0, 1e12]}}]\n",
    "history": MOTOR + "nsample: 1e12}]\n",
    "activations": MOTOR + "actdim: 1e9}]\n",
    "group number": MOTOR + "group: 1e300}]\n",
    "pipe as model": "mjrig: 1\nactors: [{name: a, model: pipe.xml}]\n",
    "pipe in a model": "mjrig: 1\nactors: [{name: a, model: pipe_inside.xml}]\n",
    "pipe as mesh": "mjrig: 1\nactors: [{name: a, model: pipe_mesh.xml}]\n",
    "device in a model": "mjrig: 1\nactors: [{name: a, model: zero_inside.xml}]\n",
    "device as mesh": "mjrig: 1\nactors: [{name: a, model: zero_mesh.xml}]\n",
    "device as prop": PROP.format("MeshProp, file: zero.obj"),
    "pipe as include": "mjrig: 1\ninclude: [pipe.yaml]\n",
    "device as include": "mjrig: 1\ninclude: [zero.yaml]\n",
    "includes": "mjrig: 1\ninclude: [many0.yaml]\n",
    "long path": f"mjrig: 1\nactors: [{{name: a, model: {'a' * 5000}.xml}}]\n",
    "long folders": f"mjrig: 1\nactors: [{{name: a, model: {'a/' * 5000}x.xml}}]\n",
    "nested": "mjrig: 1\nvars: {x: " + "[" * 5000 + "]" * 5000 + "}\n",
    "nested variables": "mjrig: 1\nvars:\n  v0: 1\n"
    + "".join(f"  v{i}: {'[' * 50}'${{v{i - 1}}}'{']' * 50}\n" for i in range(1, 40)),
    "huge numbers": ACTOR + "    joints: {'.*': 1e39}\n",
    "huge place": ACTOR + "    pose: {position: [1e39, 0, 0]}\n",
    "many keys": "mjrig: 1\nvars: {" + ", ".join(f"k{i}: {i}" for i in range(60_000)) + "}\n",
    "low and high": ACTOR + "randomise: [{path: dog.x.y, low: [0, 1], high: [0, 1, 2]}]\n",
    "rows of user data": MOTOR + "userdata: [[]]}]\n",
    "signature": MOTOR + "ctrlspec: [[1]]}]\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def bombs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pipes, devices, files that include each other, and a joint of 41 letters."""
    folder = tmp_path_factory.mktemp("bombs")
    (folder / "long.xml").write_text(HINGE.replace('"swing"', f'"{LONG}"'))
    for suffix in ("xml", "yaml", "obj"):
        os.mkfifo(folder / f"pipe.{suffix}")
        (folder / f"zero.{suffix}").symlink_to("/dev/zero")
    for kind in ("pipe", "zero"):
        (folder / f"{kind}_inside.xml").write_text(f'<mujoco><include file="{kind}.xml"/></mujoco>')
        (folder / f"{kind}_mesh.xml").write_text(MESH.format(f"{kind}.obj"))
    for i in range(12):
        parts = "".join(f"  - {{file: many{i + 1}.yaml, prefix: p{k}_}}\n" for k in range(20))
        (folder / f"many{i}.yaml").write_text(f"mjrig: 1\ninclude:\n{parts}")
    (folder / "many12.yaml").write_text("mjrig: 1\n")
    return folder


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize("kind", BOMBS)
def test_bombs_are_refused_with_their_place(bombs: Path, kind: str) -> None:
    (bombs / "s.yaml").write_text(BOMBS[kind])
    with cpu_limit(60.0), pytest.raises(SceneError, match=r"^/.*yaml:\d+:\d+: "):
        mjrig.World(bombs / "s.yaml")


#: What is bounded in all, the bound, and a scene just above it: small, so that it takes no time.
TOGETHER = {
    "copies": (
        "mjrig.core.scene.placement.MAX_COPIES",
        "mjrig: 1\nactors:\n"
        "  - {name: a, prop: {type: BoxProp}, replicate: {count: [3]}}\n"
        "  - {name: b, prop: {type: BoxProp}, replicate: {count: [3]}}\n",
        r"s.yaml:4:\d+: .*b: a scene has at most 5 copies of actors, this one would have 6",
    ),
    "pairs": (
        "mjrig.core.model.build.MAX_PAIRS",
        "mjrig: 1\nactors: [{name: a, prop: {type: BoxProp}, replicate: {count: [3]}}]\n"
        "collision_groups: [{name: g, members: ['.*'], ignores: ['.*']}]\n",
        r"s.yaml:3:\d+: .*the groups keep apart more than 5 pairs of bodies",
    ),
    "values": (
        "mjrig.core.scene.scene_file.MAX_NODES",
        "mjrig: 1\ninclude: [many12.yaml]\n",
        r"s.yaml:\d+:\d+: .*the scene and the files it includes have more than 5 values",
    ),
    "elements": (  # as many as one model may have, and the world has three of them
        "mjrig.core.model.build.MAX_ELEMENTS",
        "mjrig: 1\nactors: [{name: a, model: long.xml, replicate: {count: [3]}}]\n",
        r"s.yaml:2:\d+: .*elements with 3 actors of this model; at most 12",
    ),
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize("kind", TOGETHER)
def test_what_adds_up_is_bounded_in_all(
    bombs: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit, text, problem = TOGETHER[kind]
    most = 12 if kind == "elements" else 5
    (bombs / "s.yaml").write_text(text)
    mjrig.World(bombs / "s.yaml")
    monkeypatch.setattr(limit, most)
    with pytest.raises(SceneError, match=problem):
        mjrig.World(bombs / "s.yaml")
