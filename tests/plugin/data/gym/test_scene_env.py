"""Scenes as Gymnasium environments: gymnasium's own checker, bounds, seeds, ends of episodes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components import PDController
from mjrig.core.errors import BindingError, MjrigError, PropertyError
from tests.places import SCENES
from tests.worlds import ZOO, arm, hinge, make_scene

pytest.importorskip("gymnasium", reason="the extra gym is not installed")

from gymnasium.utils.env_checker import check_env

from mjrig.gym import Reward, SceneEnv
from tests.wording import regex

LIMITED = 'range="-1.5 0.5"'
GAINS: dict[str, Any] = {"kp": 30.0, "kv": 3.0}


class Upright(Reward):
    """Rewards a joint near zero; ends beyond 0.4 rad."""

    def reward(self, world: mjrig.World) -> float:
        return -abs(float(world.data.qpos[0]))

    def is_over(self, world: mjrig.World) -> bool:
        return bool(world.data.qpos[0] > 0.4)


def scene_of(folder: Path, text: str, *components: mjrig.ActorComponent) -> mjrig.Scene:
    return make_scene({"robot": text}, str(folder), {"robot": {"components": components}}, None)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["pendulum", "arm", "quadruped", "humanoid", "quadruped_walk"])
def test_gymnasiums_own_checker_accepts_every_kind_of_scene(name: str) -> None:
    check_env(SceneEnv(SCENES / f"{name}.yaml", noise=0.02), skip_render_check=True)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("command", ["position", "velocity", "feedforward"])
def test_every_kind_of_actuator_can_be_commanded(tmp_path: Path, command: str) -> None:
    env = SceneEnv(scene_of(tmp_path, ZOO), command=command)
    check_env(env, skip_render_check=True)
    assert env.action_space.shape == (len(env.robot.actuator_names),)


def test_a_step_is_what_a_world_does_with_the_same_targets() -> None:
    env, world = SceneEnv(SCENES / "quadruped.yaml"), mjrig.World(SCENES / "quadruped.yaml")
    observed, _ = env.reset(seed=3)
    env.action_space.seed(3)
    robot = env.robot.name
    for _ in range(20):
        action = env.action_space.sample()
        world[robot].set_targets(action)
        world.step(round(0.02 / world.timestep))
        observed, *_ = env.step(action)
        sensors = [np.ravel(v) for v in world[robot].sensors.values()]
        truth = np.concatenate([world.data.qpos, world.data.qvel, *sensors])
        assert np.array_equal(observed, truth)
    assert len(env.observation_names) == len(set(env.observation_names)) == len(observed)


def test_bounds_are_those_of_what_an_action_sets(tmp_path: Path) -> None:
    servo = '<position name="drive" joint="swing" kp="5" ctrlrange="-0.2 0.3"/>'
    motor = '<motor name="drive" joint="swing" ctrlrange="-2 2"/>'
    controlled = PDController(**GAINS)

    def bounds(env: SceneEnv) -> tuple[float, float]:
        space: Any = env.action_space
        return float(space.low[0]), float(space.high[0])

    assert bounds(SceneEnv(scene_of(tmp_path, hinge(servo, joint=LIMITED)))) == (-0.2, 0.3)
    assert bounds(SceneEnv(scene_of(tmp_path, hinge(motor, joint=LIMITED)))) == (-2.0, 2.0)
    with_law = scene_of(tmp_path, hinge(motor, joint=LIMITED), controlled)
    assert bounds(SceneEnv(with_law)) == (-1.5, 0.5)
    assert bounds(SceneEnv(with_law, command="feedforward")) == (-2.0, 2.0)
    assert bounds(SceneEnv(with_law, command="velocity")) == (-np.inf, np.inf)


def test_an_action_beyond_the_bounds_is_clipped(tmp_path: Path) -> None:
    env = SceneEnv(scene_of(tmp_path, hinge(joint=LIMITED), PDController(**GAINS)))
    env.reset()
    env.step(np.array([9.0]))
    assert env.robot.setpoints.position[0] == 0.5


def test_a_seed_decides_where_an_episode_begins(tmp_path: Path) -> None:
    env = SceneEnv(scene_of(tmp_path, arm(), PDController(**GAINS)), noise=0.1)
    first, second = env.reset(seed=5)[0], env.reset()[0]
    assert np.array_equal(env.reset(seed=5)[0], first)
    assert not np.array_equal(first, second)
    assert 0.0 < np.abs(first[:2]).max() <= 0.1
    # It begins at rest where it was put: the setpoints moved along.
    assert np.array_equal(env.robot.setpoints.position, env.world.data.qpos)


def test_redraw_draws_what_the_scene_randomises(tmp_path: Path) -> None:
    (tmp_path / "model.xml").write_text(hinge())
    scene = tmp_path / "scene.yaml"
    scene.write_text(
        "mjrig: 1\nactors:\n- name: robot\n  model: model.xml\n  components:\n"
        "  - {type: PDController, kp: 30, kv: 3}\nrandomise:\n"
        '- {path: "robot.PDController.kp", operation: scale, low: 0.5, high: 2}\n'
    )
    env = SceneEnv(scene, redraw=True)

    def gain() -> float:
        return float(env.robot.controllers[0].gains()["kp"][0])

    drawn = [(env.reset(seed=s), gain())[1] for s in (1, 2, 1)]
    assert drawn[0] == drawn[2] != drawn[1]


def test_rewards_and_ends_come_from_components_or_functions(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, hinge(), PDController(**GAINS), Upright())
    env = SceneEnv(scene, duration=0.1)
    env.reset()
    _, reward, over, truncated, info = env.step(np.array([0.1]))
    assert reward == -abs(env.world.data.qpos[0]) and not over and not truncated
    assert info == {"time": pytest.approx(0.02)}
    ended = [env.step(np.array([0.0]))[3] for _ in range(4)]
    assert ended == [False, False, False, True]
    env.reset(options={})
    env.world.data.qpos[0] = 1.0
    assert env.step(np.array([1.0]))[2]
    own = SceneEnv(scene, reward=lambda w: 7.0, is_over=lambda w: w.time > 0.03)
    own.reset()
    assert [own.step(np.array([0.0]))[1:3] for _ in range(2)] == [(7.0, False), (7.0, True)]


def test_a_divergence_ends_the_episode(tmp_path: Path) -> None:
    env = SceneEnv(scene_of(tmp_path, hinge()))
    env.reset()
    env.world.data.qvel[0] = 1e12
    observed, _, over, _, _ = env.step(np.array([0.0]))
    assert over and np.isfinite(observed).all()


def test_a_function_can_say_what_is_observed(tmp_path: Path) -> None:
    env = SceneEnv(scene_of(tmp_path, arm()), observe=lambda w: [w.time, *w.data.qpos])
    observed, _ = env.reset()
    assert env.observation_space.shape == observed.shape == (3,)
    assert env.observation_names == ()


@pytest.mark.parametrize("kind", ["SyncVectorEnv", "AsyncVectorEnv"])
def test_each_of_a_vector_of_environments_is_that_environment_alone(kind: str) -> None:
    from gymnasium import vector

    def make() -> SceneEnv:
        return SceneEnv(SCENES / "pendulum.yaml", duration=0.1, noise=0.3)

    envs = getattr(vector, kind)([make] * 3)
    alone = [make() for _ in range(3)]
    rng, seen = np.random.default_rng(4), []
    try:
        seen.append(envs.reset(seed=11)[0])
        actions = rng.uniform(-1.0, 1.0, (4, *envs.action_space.shape))
        seen += [envs.step(action)[0] for action in actions]
    finally:
        envs.close()
    for i, env in enumerate(alone):
        expected = [env.reset(seed=11 + i)[0], *(env.step(a[i])[0] for a in actions)]
        assert np.array_equal([row[i] for row in seen], expected)
    assert not np.array_equal(seen[0][0], seen[0][1])


def test_pictures_show_the_state() -> None:
    env = SceneEnv(SCENES / "pendulum.yaml", render_mode="rgb_array", width=64, height=48)
    env.reset()
    try:
        before = env.render()
    except MjrigError as error:
        pytest.skip(str(error))
    env.world.data.qpos[0] += 1.5
    env.step(np.zeros(1))
    after = env.render()
    env.close()
    assert before is not None and after is not None
    assert before.shape == after.shape == (48, 64, 3) and before.dtype == np.uint8
    assert not np.array_equal(before, after)
    assert SceneEnv(SCENES / "pendulum.yaml").render() is None


def test_bad_arguments_are_told_in_one_sentence(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, hinge())
    with pytest.raises(PropertyError, match="did you mean 'position'"):
        SceneEnv(scene, command="positoin")
    with pytest.raises(PropertyError, match=regex("rate must be a …")):
        SceneEnv(scene, rate=0.0)
    with pytest.raises(PropertyError, match="render_mode must be"):
        SceneEnv(scene, render_mode="human")
    with pytest.raises(BindingError, match="say which actor"):
        SceneEnv(SCENES / "arm_pair.yaml")
    with pytest.raises(BindingError, match="no actor 'robto'"):
        SceneEnv(scene, "robto")
    env = SceneEnv(scene)
    env.reset()
    with pytest.raises(ValueError, match=regex("an action has 1 values, … shape")):
        env.step(np.zeros(2))
    with pytest.raises(ValueError, match="must be finite"):
        env.step(np.array([np.nan]))


@pytest.mark.parametrize("timestep", [0.001, 0.002, 0.003])
def test_a_rate_is_kept_or_refused_with_those_that_can_be(timestep: float, tmp_path: Path) -> None:
    scene = scene_of(tmp_path, hinge())
    scene.assign({"sim": {"timestep": timestep}})
    for rate in (30.0, 50.0, 60.0, 62.5, 100.0, 1000.0, 1e6):
        steps = 1.0 / (rate * timestep)
        if abs(steps - round(steps)) < 1e-9 and steps > 0.5:
            assert SceneEnv(scene, rate=rate).dt == pytest.approx(1.0 / rate)
            continue
        with pytest.raises(PropertyError, match=regex("which is no whole … ")) as told:
            SceneEnv(scene, rate=rate)
        for offered in str(told.value).rpartition("use ")[2].split(" or "):
            assert SceneEnv(scene, rate=float(offered)).dt * float(offered) == pytest.approx(
                1.0, rel=1e-5
            )
