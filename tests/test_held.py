"""What must never happen, tried in many ways: code that runs, files of others, sockets, leaks."""

import dataclasses
import io
import json
import os
import pickle
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components import PDController
from mjrig.components.laws.onnx_file import OnnxFile
from mjrig.core.errors import MjrigError
from mjrig.lab.replay.result import described
from mjrig.lab.report.html_page import to_html
from tests.campaign import CAMPAIGN, Tally
from tests.conftest import HINGE
from tests.plugin.lab.replay.recorded import biped, from_world
from tests.worlds import make_world

pytestmark = pytest.mark.campaign


class Touch:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return Path.touch, (self.path,)  # type: ignore[return-value]


# Scenes ------------------------------------------------------------------------------------------

SCENE = """\
mjrig: 1
vars: {stiff: 40}
sim: {timestep: 0.002}
actors:
  - name: arm
    model: hinge.xml
    pose: {position: [0, 0, 1]}
    components:
      - {type: PDController, kp: 40, kv: 1}
"""
VALUES = ("1\n", "{stiff: 40}", "0.002", "arm", "hinge.xml", "[0, 0, 1]", "PDController", "40, kv")
TAGS = (
    "!!python/object/apply:pathlib.Path.touch [!!python/object/apply:pathlib.Path [{0}]]",
    "!!python/object/apply:os.system ['touch {0}']",
    "!!python/object/new:os.system ['touch {0}']",
    "!!python/name:os.system",
    "!!python/module:os",
    "!!python/object/apply:subprocess.run [[touch, {0}]]",
    "!!python/object:os.system {{}}",
    "!python/object/apply:os.system ['touch {0}']",
    "!<tag:yaml.org,2002:python/object/apply:os.system> ['touch {0}']",
    "!!map/python {{}}",
)


def test_tags_in_scenes_run_no_code(models: Path, tally: Tally) -> None:
    mark = models / "ran"
    for rng in tally.cases("YAML tags in scenes", 10, 1000):
        value, tag = rng.choice(VALUES), rng.choice(TAGS).format(mark)
        ending = value[len(value.rstrip("\n, kv")) :]
        text = SCENE.replace(value, f"{tag}{ending}", 1)
        (models / "s.yaml").write_text(text)
        try:
            mjrig.World(mjrig.Scene.load(models / "s.yaml"))
            tally.found(f"was read: {tag} for {value!r}")
        except MjrigError as error:
            if not str(error).startswith(f"{models / 's.yaml'}:"):
                tally.found(f"has no place: {error}")
        except Exception as error:
            tally.found(f"{type(error).__name__}: {error}")
        if mark.exists():
            tally.found(f"ran: {tag}")
            mark.unlink()


def test_aliases_do_not_multiply(models: Path, tally: Tally) -> None:
    for rng in tally.cases("YAML bombs", 1, 300):
        levels, width = rng.randint(8, 40), rng.randint(6, 12)
        make = rng.choice(["[{}]", "{{{}}}"])
        lines = ["  a0: &a0 [x]"]
        for i in range(1, levels):
            items = [f"*a{i - 1}" if make[0] == "[" else f"k{j}: *a{i - 1}" for j in range(width)]
            lines.append(f"  a{i}: &a{i} {make.format(', '.join(items))}")
        (models / "s.yaml").write_text("mjrig: 1\nactors: []\nvars:\n" + "\n".join(lines) + "\n")
        try:
            mjrig.Scene.load(models / "s.yaml")
            tally.found(f"{levels} levels of {width} were read")
        except mjrig.SceneError:
            pass
        except Exception as error:
            tally.found(f"{type(error).__name__}: {error}")


# Recordings and networks -------------------------------------------------------------------------


def pickled(rng: random.Random, folder: Path, mark: Path) -> Path:
    """A file with a pickle in it, in one of the places where pickles are."""
    load = pickle.dumps(Touch(mark), protocol=rng.randint(0, 5))
    array = np.array([Touch(mark)], dtype=object)
    kind = rng.choice(["pkl", "pt", "npz", "npy in npz", "msgpack", "other suffix"])
    if kind == "pkl":
        path = folder / f"a{rng.choice(['.pkl', '.pickle', '.joblib', '.pt', '.pth'])}"
        path.write_bytes(load)
    elif kind == "pt":
        path = folder / f"a{rng.choice(['.pt', '.zip', '.h5', '.csv'])}"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl", load)
    elif kind == "npz":
        path = folder / "a.npz"
        names = rng.choice(
            [("mjrig_recording",), ("meta", "policy_step", "policy_target"), ("q_a", "dq_a"),
             ("fps", "joint_pos", "joint_vel", "body_pos_w", "body_quat_w"), ("x",)]
        )  # fmt: skip
        np.savez(path, allow_pickle=True, **{n: array for n in names})
    elif kind == "npy in npz":
        path, content = folder / "a.npz", io.BytesIO()
        np.lib.format.write_array(content, array, allow_pickle=True)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("mjrig_recording.npy", content.getvalue())
    elif kind == "msgpack":
        msgpack: Any = pytest.importorskip("msgpack")
        path = folder / "log.msgpack"
        data = {b"nd": True, b"type": b"|O", b"kind": b"O", b"shape": [1], b"data": load}
        path.write_bytes(msgpack.packb({"env_data": {"dof_pos": data}}))
    else:
        path = folder / f"a{rng.choice(['.h5', '.csv', '.json', '.npz', ''])}"
        path.write_bytes(load)
    return path


def test_pickles_are_never_loaded(tmp_path: Path, tally: Tally) -> None:
    mark = tmp_path / "ran"
    for rng in tally.cases("pickles as recordings", 12, 1000):
        path = pickled(rng, tmp_path, mark)
        try:
            mjrig.read_recording(path, {"fps": 50, "joints": "a"})
            tally.found(f"{path.name} was read")
        except MjrigError:
            pass
        except Exception as error:
            tally.found(f"{path.name}: {type(error).__name__}: {error}")
        if mark.exists():
            tally.found(f"{path.name} ran code")
            mark.unlink()
        path.unlink()


def test_networks_take_no_numbers_from_elsewhere(tmp_path: Path, tally: Tally) -> None:
    onnx: Any = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    for place in (tmp_path, tmp_path / "a"):
        (place / "secret").write_bytes(bytes(4096))
    networks = import_module("tests.networks")  # needs onnx
    good = folder / "good.onnx"
    networks.mlp(good, 3)
    for rng in tally.cases("ONNX data outside of its folder", 4, 200):
        model = onnx.load(str(good))
        up = rng.choice(["../secret", "../../secret", "./../secret", "x/../../secret"])
        where = rng.choice([up, str(tmp_path / "secret"), "../b/../secret", "/proc/self/environ"])
        tensor = rng.choice(list(model.graph.initializer))
        tensor.ClearField("raw_data")
        tensor.ClearField("float_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=where)
        (folder / "bad.onnx").write_bytes(model.SerializeToString())
        try:
            OnnxFile(folder / "bad.onnx")
            tally.found(f"{where} was read")
        except MjrigError:
            pass


# Reports -----------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """The tags of a page, and attributes that run code or load something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.active: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.active += [k for k, _ in attrs if k.startswith("on") or k in ("src", "href")]


def changed_texts(value: Any, change: Callable[[str], str]) -> Any:
    """The same value with other texts, also where they are keys."""
    if type(value) is str:
        return change(value)
    if dataclasses.is_dataclass(value):
        names = [f.name for f in dataclasses.fields(value) if f.init]
        made: Any = value
        return dataclasses.replace(
            made, **{name: changed_texts(getattr(value, name), change) for name in names}
        )
    if isinstance(value, dict):
        return {changed_texts(k, change): changed_texts(v, change) for k, v in dict(value).items()}
    if isinstance(value, list):
        return [changed_texts(v, change) for v in list(value)]
    return tuple(changed_texts(v, change) for v in value) if type(value) is tuple else value


EVIL = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "' onmouseover='alert(1)",
    "</title><script>", "</svg><iframe src=http://x>", "<!--", "]]>", "&lt;script&gt;<b>",
    '" onload="alert(1)', "</style><script src=//x></script>", "\u2028<a href=javascript:1>",
)  # fmt: skip


def test_texts_in_reports_are_texts(tally: Tally) -> None:
    replay = mjrig.replay(from_world(biped(), 60), biped(kp={"right_knee": 96.0, "default": 80.0}))
    plain, missed, all_texts = Tags(to_html(described(replay))), 0, set[str]()

    def collect(text: str) -> str:
        all_texts.add(text)
        return text

    changed_texts(replay, collect)
    texts = sorted(all_texts)
    for rng in tally.cases("hostile names in reports", 10, 2000):
        evil, chosen = rng.choice(EVIL), set(rng.sample(texts, 3))

        def change(text: str, evil: str = evil, chosen: set[str] = chosen) -> str:
            return text + evil if text in chosen else text

        try:
            found = Tags(to_html(described(changed_texts(replay, change))))
        except (KeyError, ValueError):
            missed += 1  # a name that leads to something has changed on one side only
            continue
        extra = set(found.tags) - set(plain.tags) - {"wbr"}  # long names may break
        if extra or found.active != plain.active:
            tally.found(f"{evil}: tags {extra}, attributes {found.active}")
    assert missed < tally.tried / 2


# Sockets and memory ------------------------------------------------------------------------------

QUIET = """
import json, sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str((event, args)))
                 if event in ("socket.__new__", "socket.getaddrinfo", "urllib.Request") else None)
from mjrig.cli.main import main
import socket
socket.socket().close()
assert opened, "the hook hears nothing"
for words in json.loads(sys.argv[1]):
    before = len(opened)
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code
    print(json.dumps([words[0], code, opened[before:]]), file=sys.stderr)
"""


def test_no_command_opens_a_socket(models: Path, tally: Tally) -> None:
    pytest.importorskip("h5py")
    (models / "s.yaml").write_text(SCENE)
    scene, run = str(models / "s.yaml"), str(models / "run.h5")
    sweep = ["sweep", scene, "--grid", "arm.PDController.kp=20,40", "--run", "0.02", "--workers",
             "2", "-o", str(models / "out")]  # fmt: skip
    commands = [
        ["check", scene], ["run", scene, "--duration", "0.02", "--record", run], ["info", run],
        ["info", run, "--verify"], ["convert", run, str(models / "run.csv")], ["components"],
        ["schema"], ["export", scene, "-o", str(models / "m.xml")], ["diff", scene, scene],
        ["replay", run, "--scene", scene, "--no-diagnosis", "--report", str(models / "report")],
        [*sweep, "--executor", "inline"], ["tune", "assign", scene, "--frequency", "3"],
    ]  # fmt: skip
    commands += [sweep, ["tune", "respond", scene, "--duration", "0.1"]]
    for number, _ in enumerate(tally.cases("commands without a socket", 1, len(commands))):
        first = commands[:10] if CAMPAIGN else commands[:3]
        few = first if number == 0 else [commands[number]]
        done = subprocess.run(
            [sys.executable, "-c", QUIET, json.dumps(few)],
            capture_output=True, text=True, check=False, cwd=models,
        )  # fmt: skip
        told = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("[")]
        if len(told) != len(few):
            tally.found(done.stderr[-300:])
        for name, code, opened in told:
            if opened or (code and number == 0):
                tally.found(f"{name} ended with {code} and opened {opened}")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads Linux's memory figures")
def test_a_long_recording_takes_no_more_memory(tmp_path: Path, tally: Tally) -> None:
    pytest.importorskip("h5py")

    def memory() -> float:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    world = make_world(HINGE, [PDController(kp=5)], execution="native")
    with mjrig.Recorder(world, tmp_path / "run.h5"):
        world.step(10_000)
        start = memory()
        for _ in tally.cases("10,000 recorded steps more", 2, 180):
            world.step(10_000)
            if memory() - start > 30.0:
                tally.found(f"{memory() - start:.0f} MB more after {world.steps} steps")
                break
