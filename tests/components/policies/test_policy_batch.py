"""Many worlds with a policy in the loop: each has the bits of a world of its own."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components import PolicyFile
from mjrig.core.errors import BindingError, ExecutionError, PropertyError
from tests.campaign import Tally
from tests.components.policies import batch_variants as made
from tests.components.policies.small import linear, write
from tests.plugin.lab.scenes import BUNDLED, write_scene
from tests.wording import regex
from tests.worlds import refused

WALK = BUNDLED / "quadruped_walk.yaml"
SERVOS = """<mujoco><option integrator="RK4"/><worldbody>
  <body><joint name="shoulder"/><geom size="0.1"/>
    <body pos="0 0 0.3"><joint name="elbow"/><geom size="0.1"/></body></body></worldbody>
  <actuator><position joint="shoulder" kp="5"/><position joint="elbow" kp="5"/></actuator>
</mujoco>"""


def same_bits(folder: Path, seed: int, count: int, **more: Any) -> mjrig.PolicyBatch:
    """Run a random policy in a batch and alone, and compare everything."""
    scene = made.variant(folder, seed, **more).scene
    random = np.random.default_rng((seed, 1))
    chunks = random.integers(1, 30, 4).tolist()
    told = [made.treatment(random, len(chunks)) for _ in range(count)]
    batch = made.together(scene, told, chunks)
    policy = batch.policy()
    for i, one in enumerate(told):
        world, own = made.alone(scene, one, chunks)
        assert policy.ticks[i] == own.ticks
        np.testing.assert_array_equal(policy.observation[i], own.observation)
        np.testing.assert_array_equal(policy.action[i], own.action)
        np.testing.assert_array_equal(policy.command_now[i], own.command_now)
        for field in ("time", "qpos", "qvel", "ctrl"):
            np.testing.assert_array_equal(batch.data(field)[i], getattr(world.data, field), field)
    return batch


@pytest.mark.parametrize("count", [1, 3, 5])
def test_the_bundled_walk_has_the_bits_of_worlds_alone(count: int) -> None:
    batch = mjrig.PolicyBatch(WALK, count)
    policy = batch.policy("quadruped")
    commands = np.random.default_rng(count).uniform(-0.3, 0.6, (count, 3))
    policy.set_command(commands)
    batch.step(333)
    assert policy.together and not policy.reason
    for i in range(count):
        world = mjrig.World(WALK, "native")
        own: Any = world["quadruped"].part("Policy")
        own.command = commands[i]
        world.step(333)
        np.testing.assert_array_equal(batch.qpos[i], world.data.qpos)
        np.testing.assert_array_equal(batch.qvel[i], world.data.qvel)
    assert len({row.tobytes() for row in batch.qpos}) == count


def test_every_term_has_the_bits_of_a_world_alone(tmp_path: Path) -> None:
    same_bits(tmp_path, 5, 3, all_terms=True)


@pytest.mark.parametrize("seed", [0, 1])  # one with a file for one world, one with an open size
def test_recurrent_networks_keep_a_state_per_world(tmp_path: Path, seed: int) -> None:
    assert same_bits(tmp_path, seed, 3, kind="lstm").policy().together


@pytest.mark.campaign
def test_random_policies_have_the_bits_of_worlds_alone(tally: Tally, tmp_path: Path) -> None:
    for i, random in enumerate(tally.cases("policies in a batch, and alone", 2, 2000)):
        folder = tmp_path / str(i)
        folder.mkdir()
        seed = random.randrange(10**9)
        try:
            same_bits(folder, seed, random.choice([1, 2, 3, 4, 7]))
        except AssertionError as error:
            tally.found(f"seed {seed}: {str(error).splitlines()[:3]}")


def walking(folder: Path, network: Path | None = None, **said: Any) -> Path:
    """The scene of the bundled walk with another network or more in its policy file."""
    data = PolicyFile.load(made.ASSETS / "walk/policy.yaml").to_data()
    data["network"] = str(network or made.ASSETS / "walk/walk.onnx")
    PolicyFile.from_data(data | said).save(folder / "policy.yaml")
    text = WALK.read_text().replace("../../assets/walk/policy.yaml", "policy.yaml")
    (folder / "scene.yaml").write_text(text.replace("../../assets", str(made.ASSETS)))
    return folder / "scene.yaml"


def odd(folder: Path) -> Path:
    """The walk with a network of odd width and exponentials: a call for many changes bits."""
    random = np.random.default_rng(3)
    make, shapes = made.onnx.helper.make_node, {"a": (47, 13), "b": (13, 12)}
    weights = [made.tensor(n, 0.2 * random.normal(size=s)) for n, s in shapes.items()]
    nodes = [
        make("MatMul", ["obs", "a"], ["x"]),
        make("Elu", ["x"], ["y"]),
        make("MatMul", ["y", "b"], ["actions"]),
    ]
    ends = [made.value("obs", [1, 47])], [made.value("actions", [1, 12])]
    return walking(folder, made.save(folder / "odd.onnx", nodes, *ends, weights, None))


def test_a_network_whose_bits_depend_on_the_batch_runs_world_by_world(tmp_path: Path) -> None:
    scene = odd(tmp_path)
    exact = mjrig.PolicyBatch(scene, 3)
    world = mjrig.World(scene, "native")
    exact.step(50)
    world.step(50)
    np.testing.assert_array_equal(exact.qpos, [world.data.qpos] * 3)
    policy = exact.policy()
    if policy.together:
        pytest.skip("onnxruntime gives the same bits for one world and many on this processor")
    assert policy.reason.startswith("odd.onnx: 3 worlds in a call differ from one by ")
    near = mjrig.PolicyBatch(scene, 3, exact=False)
    near.step(1)
    assert near.policy().together and near.policy().reason == policy.reason
    exact.reset()
    exact.step(1)
    np.testing.assert_allclose(near.policy().action, exact.policy().action, rtol=0, atol=1e-6)


def test_a_network_made_for_one_world_runs_world_by_world(tmp_path: Path) -> None:
    make = made.onnx.helper.make_node
    weights = [
        made.tensor("w", 0.05 * np.random.default_rng(0).normal(size=(47, 12))),
        made.onnx.numpy_helper.from_array(np.array([1, 47]), "one_row"),
    ]
    nodes = [
        make("Reshape", ["obs", "one_row"], ["row"]),
        make("MatMul", ["row", "w"], ["actions"]),
    ]
    ends = [made.value("obs", [1, 47])], [made.value("actions", [1, 12])]
    scene = walking(tmp_path, made.save(tmp_path / "fixed.onnx", nodes, *ends, weights, None))
    batch, world = mjrig.PolicyBatch(scene, 3), mjrig.World(scene, "native")
    assert not batch.policy().together
    assert batch.policy().reason.startswith("fixed.onnx: made for one world: ")
    batch.step(70)
    world.step(70)
    np.testing.assert_array_equal(batch.qpos, [world.data.qpos] * 3)


def test_masses_and_frictions_differ_by_world() -> None:
    batch = mjrig.PolicyBatch(WALK, 3)
    factors = np.array([1.0, 1.3, 0.7])
    batch.expand("body_mass")[:] *= factors[:, None]
    batch.expand("geom_friction")[:, :, 0] *= factors[:, None]
    batch.set_const()
    batch.reset()
    batch.step(150)
    for i, factor in enumerate(factors):
        world = mjrig.World(WALK, "native")
        world.model.body_mass[:] *= factor
        world.model.geom_friction[:, 0] *= factor
        made.set_const(world)
        world.reset()
        world.step(150)
        np.testing.assert_array_equal(batch.qpos[i], world.data.qpos)


def test_a_world_that_diverges_is_reset_and_marked() -> None:
    batch, world = mjrig.PolicyBatch(WALK, 3), mjrig.World(WALK, "native")
    batch.step(30)
    world.step(30)
    batch.qvel[1, 8] = world.data.qvel[8] = 1e12
    for _ in range(90):  # in a longer step, the batch resets it at the end
        batch.step()
        world.step()
    assert batch.diverged.tolist() == [False, True, False]
    assert [event.kind for event in world.events] == ["diverged"]
    np.testing.assert_array_equal(batch.qpos[1], world.data.qpos)
    np.testing.assert_array_equal(batch.qpos[0], batch.qpos[2])
    batch.reset([1])
    assert not batch.diverged.any()


def test_an_action_that_is_not_finite_holds_the_target_of_its_world(tmp_path: Path) -> None:
    weights = np.zeros((3, 12))
    weights[0, 0] = 1.0
    observation = {"terms": [{"type": "CommandTerm"}]}
    network = linear(tmp_path / "policy.onnx", weights)
    batch = mjrig.PolicyBatch(walking(tmp_path, network, observation=observation), 2)
    policy = batch.policy()
    policy.set_command([[0.1, 0, 0], [0.4, 0, 0]])
    batch.step(20)
    before = batch["quadruped"].position.copy()
    policy.set_command([0.2, 0, 0], worlds=0)
    policy.set_command([np.finfo(np.float64).max, 0, 0], worlds=1)
    batch.step(20)
    assert policy.bad_actions.tolist() == [0, 1] and policy.ticks.tolist() == [2, 2]
    after = batch["quadruped"].position
    np.testing.assert_array_equal(after[1], before[1])
    assert after[0, 0] != before[0, 0]


def test_what_cannot_be_batched_is_refused_with_the_reason(tmp_path: Path) -> None:
    switch = BUNDLED / "quadruped_switch.yaml"
    with refused(
        ExecutionError,
        "quadruped.PolicySwitch: a PolicySwitch cannot run in … Policy …",
    ):
        mjrig.PolicyBatch(switch, 2)
    with refused(ExecutionError, "no actor has a … mjrig.Batch"):
        mjrig.PolicyBatch(BUNDLED / "quadruped.yaml", 2)
    write(tmp_path, phase="inside")
    scene = write_scene(tmp_path, SERVOS, "{type: Policy, file: policy.yaml}")
    with refused(
        ExecutionError,
        "with RK4 a batch cannot … {integrator: implicitfast}, …",
    ):
        mjrig.PolicyBatch(scene, 2)
    textbook = walking(tmp_path)
    textbook.write_text(textbook.read_text().replace("kv: 5", "kv: 5\n        order: textbook"))
    with pytest.raises(ExecutionError, match=r"quadruped.PDController"):
        mjrig.PolicyBatch(textbook, 2)


def test_wrong_commands_and_seeds_change_nothing() -> None:
    batch = mjrig.PolicyBatch(WALK, 3)
    policy, before = batch.policy(), batch.policy().command_now
    with refused(PropertyError, "quadruped.Policy.command: must have a row … 3 … 2"):
        policy.set_command([[0, 0, 0], [1, 0, 0]])
    with refused(PropertyError, "quadruped.Policy.command: must have 3 values (vx, vy, wz), got 2"):
        policy.set_command([[0, 0]] * 3)
    with refused(PropertyError, "quadruped.Policy.seed: must be one number, … 3 …"):
        policy.set_seed([1, 2])
    with refused(BindingError, "the batch has no … 'cat'; … quadruped"):
        batch.policy("cat")
    np.testing.assert_array_equal(policy.command_now, before)


@pytest.mark.parametrize(
    "worlds", [[2, 0], [0, 0, 2], np.array([True, False, True]), slice(0, 3, 2)]
)
def test_worlds_are_reset_in_any_order_and_form(worlds: Any) -> None:
    batch = mjrig.PolicyBatch(WALK, 3)
    batch.step(45)
    before = batch.data("qpos")[1].copy()
    batch.reset(worlds)
    assert batch.policy().ticks.tolist() == [0, 3, 0]
    assert batch.data("time").ravel().tolist()[::2] == [0.0, 0.0]
    np.testing.assert_array_equal(batch.data("qpos")[1], before)
    batch.reset(1)
    assert not batch.policy().ticks.any()


def test_what_is_no_world_command_or_seed_is_refused_and_changes_nothing() -> None:
    batch = mjrig.PolicyBatch(WALK, 2)
    batch.step(25)
    policy = batch.policy()
    ticks, command = policy.ticks.copy(), policy.command_now.copy()
    wrong_worlds: tuple[Any, ...] = ([2], "a", [0.5])
    for worlds in wrong_worlds:
        for call in (batch.reset, lambda w: policy.set_command([0.1, 0, 0], worlds=w)):
            with pytest.raises(PropertyError, match=regex("worlds: must be numbers from 0 … 1")):
                call(worlds)
    wrong_commands: tuple[Any, ...] = ([np.nan, 0.0, 0.0], "fast", {"vx": 0.3})
    for wrong in wrong_commands:
        with pytest.raises(PropertyError, match="command: must be numbers"):
            policy.set_command(wrong)
    for wrong_seed in (-3, [0.5, 1.5]):
        with pytest.raises(PropertyError, match=regex("seed: must be whole numbers >= 0")):
            policy.set_seed(wrong_seed)
    np.testing.assert_array_equal(policy.ticks, ticks)
    np.testing.assert_array_equal(policy.command_now, command)
    policy.command = [0.1, 0.0, 0.3]
    np.testing.assert_array_equal(policy.command, [[0.1, 0.0, 0.3]] * 2)
    with pytest.raises(ExecutionError, match=r"use mjrig\.PolicyBatch"):
        mjrig.Batch(WALK, 2)
