"""Pictures drawn without a window, by whatever can draw here."""

import struct
from pathlib import Path

import mujoco
import numpy as np
import pytest

from mjrig.core.sim import rendering
from tests.wording import matches

MODEL = """
<mujoco>
  <visual><global offwidth="320" offheight="200"/></visual>
  <worldbody>
    <light pos="0 0 3"/>
    <camera name="hero" pos="0 -2 0" xyaxes="1 0 0 0 0 1"/>
    <body><joint name="j"/><geom size="0.3" rgba="1 0 0 1"/></body>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def model() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(MODEL)


def test_a_picture_has_the_size_of_the_models_buffer(model: mujoco.MjModel, tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    file = tmp_path / "new" / "p.png"
    reason = rendering.draw(model, mujoco.MjData(model), file)
    if reason is not None:
        pytest.skip(f"no graphics backend works here: {reason}")
    data = file.read_bytes()
    assert data.startswith(b"\x89PNG")
    assert struct.unpack(">II", data[16:24]) == (320, 200)


def test_where_nothing_can_draw_the_reason_of_the_last_backend_comes_back(
    model: mujoco.MjModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("PIL")
    backends = [("egl", ["/nonexistent/program"])]
    monkeypatch.setattr(rendering, "_backends", lambda: backends)
    reason = rendering.draw(model, mujoco.MjData(model), tmp_path / "p.png")
    assert reason == ("egl: [Errno 2] No such file or directory: '/nonexistent/program'")
    assert not (tmp_path / "p.png").exists()


def test_a_backend_that_exits_with_an_error_says_its_last_line() -> None:
    script = "import sys; sys.exit('first\\nno display')"
    import sys

    assert rendering._attempt([sys.executable, "-c", script], "egl") == "egl: no display"
    assert rendering._attempt([sys.executable, "-c", "raise SystemExit(3)"], "egl") == (
        "egl: exit code 3"
    )
    assert rendering._attempt([sys.executable, "-c", ""], "egl") == ""


def test_what_drew_last_is_tried_first(
    model: mujoco.MjModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("PIL")
    tried: list[str] = []

    def attempt(command: list[str], backend: str, timeout: float) -> str:
        tried.append(backend)
        Path(command[-2]).write_bytes(b"")
        return "" if backend == "osmesa" else f"{backend}: broken"

    monkeypatch.setattr(rendering, "_attempt", attempt)
    monkeypatch.setattr(rendering, "_worked", [])
    for _ in range(2):
        assert rendering.draw(model, mujoco.MjData(model), tmp_path / "p.png") is None
    assert tried == ["egl", "osmesa", "osmesa"]


def test_a_loop_follows_a_body_and_holds_its_end(tmp_path: Path) -> None:
    images = pytest.importorskip("PIL.Image")
    sky = '<texture type="skybox" builtin="flat" rgb1="0 0 1" rgb2="0 0 1" width="8" height="8"/>'
    ball = '<body name="ball"><freejoint/><geom size="0.1" rgba="1 0 0 1"/>'
    ball += '<geom size="0.03" pos="0 0 0.15" rgba="0 1 0 1"/></body>'
    text = f"<mujoco><asset>{sky}</asset><worldbody><light pos='0 0 3'/>{ball}</worldbody></mujoco>"
    model = mujoco.MjModel.from_xml_string(text)
    data, states = mujoco.MjData(model), []
    for k in range(4):
        data.qpos[0] = 10.0 * k  # far out of any fixed view
        data.qpos[3:7] = np.cos(0.3 * k), np.sin(0.3 * k), 0.0, 0.0
        states.append(rendering.state_of(data))
    file = tmp_path / "loop.webp"
    look = rendering.Framing((64, 48), follow="ball", hold=0.5)
    reason = rendering.draw_loop(model, states, file, 0.4, look)
    if reason is not None:
        pytest.skip(f"no graphics backend works here: {reason}")
    with images.open(file) as loop:
        assert (loop.n_frames, loop.size) == (4, (64, 48))
        times = []
        for k in range(4):
            loop.seek(k)
            loop.load()
            times.append(loop.info["duration"])
            red, _, blue = loop.convert("RGB").getpixel((32, 24))
            assert red > 100 > blue  # the ball, in the middle of every picture
    assert times == [100, 100, 100, 600]


def test_without_pillow_the_reason_is_the_extra(
    model: mujoco.MjModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendering, "find_spec", lambda name: None)
    assert matches(
        rendering.draw(model, mujoco.MjData(model), tmp_path / "p.png"),
        "a picture needs the … 'plot': … 'mjrig[plot]'",
    )


def test_a_window_is_tried_only_where_there_is_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert rendering._backends() == [("egl", []), ("osmesa", [])]
    monkeypatch.setenv("DISPLAY", ":0")
    assert rendering._backends()[-1] == ("glfw", [])
