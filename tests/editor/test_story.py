"""The first five minutes by mouse: a robot is built, tuned, saved, opened again, and stands."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor.session.session import Session
from mjrig.editor.session.simulation import SimThread
from mjrig.editor.session.state import EditorState
from mjrig.editor.viewport.scene_renderer import NullView
from mjrig.editor.window.window import Window
from tests.editor.window.test_toolbar import BAR
from tests.editor.windows import Bench, menu
from tests.patience import PATIENCE

DOG = "quadruped"
TILE = f"model:package:mjrig.assets/{DOG}/{DOG}.xml".replace("/", "\\/")
#: The height of its trunk in the keyframe `home` [m].
HEIGHT = 0.3146


class Story(Bench):
    """A window whose simulation runs by itself, as the real one's does, and what is done in it."""

    def __init__(self, path: Path) -> None:
        scene = Scene()
        self.path = path
        self.simulation = SimThread(World(scene))
        self.state = EditorState(Session(scene, self.simulation))
        self.window = Window(self.state, NullView)
        #: The state of the world, as it was seen on the way.
        self.seen: dict[str, Any] = {}
        self.simulation.start()

    def see(self, moment: str) -> None:
        """Remember the state of the world."""
        self.seen[moment] = self.simulation.call(lambda world: world.data.qpos.copy())

    def play_until(self, ctx: Any, moment: float) -> None:
        """Press play, and pause once that time is reached."""
        ctx.item_click(BAR + "###play")
        give_up = time.monotonic() + PATIENCE
        while self.simulation.frame.time < moment and time.monotonic() < give_up:
            ctx.yield_()
        ctx.item_click(BAR + "###play")
        ctx.yield_(2)
        assert not self.simulation.playing

    def builds(self, ctx: Any) -> None:
        """Drop a robot into the empty scene, give it a controller, and play."""
        ctx.yield_(3)
        ctx.item_click("//Assets/#TAB")
        ctx.yield_(2)
        self.window.assets.shelf.wait()
        ctx.item_drag_and_drop(f"//Assets/**/{TILE}/##tile", "//Viewport/##view")
        ctx.yield_(2)
        ctx.item_click(f"//Hierarchy/###{DOG}", 1)
        ctx.set_ref("//$FOCUSED")
        ctx.menu_click("Add component/Controllers/PDController")
        ctx.item_click(BAR + "##speed")
        ctx.item_click("//$FOCUSED/max")
        self.play_until(ctx, 0.5)
        self.see("just built")

    def tunes_and_saves(self, ctx: Any) -> None:
        """Drag a gain, keep the pose as a keyframe, and save."""
        ctx.item_click("//Gains/#TAB")
        ctx.yield_(2)
        row = self.window.gains.tuning.rows[1]
        ctx.item_drag_with_delta(f"//Gains/gains 3/{row.key}/##kp", (60, 0))
        ctx.yield_(2)
        ctx.item_click(f"//Hierarchy/###{DOG}", 1)
        ctx.item_click("//$FOCUSED/###Capture pose as keyframe")
        ctx.yield_(2)
        menu(ctx, "File/Save")
        ctx.item_input("//$FOCUSED/##path")
        ctx.key_chars_replace(str(self.path))  # the only thing that is typed
        ctx.item_click("//$FOCUSED/###go")
        ctx.yield_(2)
        self.see("captured")

    def opens_and_plays(self, ctx: Any) -> None:
        """Begin anew, open the file from the welcome, go to the keyframe, and play."""
        menu(ctx, "File/New")
        ctx.yield_(2)
        self.see("new")
        ctx.item_click("//Viewport/**/dog.yaml")
        ctx.yield_(3)
        keyframes = f"//Hierarchy/###{DOG}/Keyframes (2)##{DOG}"
        ctx.item_open(keyframes)
        ctx.item_double_click(f"{keyframes}/###{DOG} pose")
        ctx.yield_(2)
        self.see("at the keyframe")
        self.play_until(ctx, 1.0)
        self.see("opened again")


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    made = Story(tmp_path / "dog.yaml")
    yield made
    made.simulation.stop()


def check_it_stands(qpos: Any) -> None:
    """The trunk is upright and at its height, less what the legs give way."""
    x, y = qpos[4:6]
    assert qpos[2] == pytest.approx(HEIGHT, abs=0.04)
    assert 1.0 - 2.0 * (x * x + y * y) > np.cos(np.deg2rad(5.0))


def test_a_robot_is_built_tuned_saved_and_stands_when_it_is_opened_again(story: Story) -> None:
    story.run(story.builds, story.tunes_and_saves, story.opens_and_plays)
    assert not story.problems
    assert story.seen["new"].size == 0
    check_it_stands(story.seen["just built"])
    check_it_stands(story.seen["opened again"])
    np.testing.assert_array_equal(story.seen["at the keyframe"], story.seen["captured"])
    assert "kp: {FL_thigh: 130}" in story.path.read_text()
    steps, headless = story.simulation.frame.steps, World(Scene.load(story.path))
    headless.step(steps)
    check_it_stands(headless.data.qpos)
    headless.reset("pose")
    headless.step(steps)
    np.testing.assert_array_equal(headless.data.qpos, story.seen["opened again"])
