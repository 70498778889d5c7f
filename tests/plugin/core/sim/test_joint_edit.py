"""Joint parameters of a running robot: written into its model as a new world would compile them."""

import random
from typing import Any

import mujoco
import numpy as np
import pytest

from mjrig.core.errors import BindingError
from mjrig.core.scene.editing.scene import Actor
from mjrig.core.sim.runtime_edits import rejoint
from tests.campaign import Tally
from tests.plugin.core.model.test_model_edits import same_model
from tests.worlds import make_world

_NUMBERS = ("armature", "damping", "frictionloss", "stiffness")
_KINDS = ("hinge", "slide", "ball")


def some_tree(rng: random.Random) -> tuple[str, dict[str, str]]:
    """A model with joints of all kinds, and the kinds by name."""
    kinds: dict[str, str] = {}

    def body(depth: int) -> str:
        name, kind = f"j{len(kinds)}", rng.choice(_KINDS)
        kinds[name] = kind
        has = [f'{n}="{rng.choice([0, 0.1, 0.7])}"' for n in _NUMBERS if rng.random() < 0.4]
        has += (
            ['damping="1 0.3 0.1"']
            if rng.random() < 0.1 and not any("damp" in h for h in has)
            else []
        )
        has += ['springdamper="0.1 1"'] if rng.random() < 0.03 else []
        inner = "".join(body(depth + 1) for _ in range(rng.choice([0, 1, 1, 2])) if depth < 3)
        return (
            f'<body pos=".2 {rng.uniform(-0.1, 0.1):.3f} -.1"><joint name="{name}" type="{kind}" '
            f'axis="{rng.choice(["1 0 0", "0 1 0"])}" {" ".join(has)}/>'
            f'<geom size="{rng.uniform(0.03, 0.08):.3f}"/>{inner}</body>'
        )

    base = '<freejoint name="base"/>' if rng.random() < 0.5 else ""
    tree = f'<body name="root" pos="0 0 1">{base}<geom size=".1"/>{body(0)}{body(0)}</body>'
    single = [n for n, k in kinds.items() if k != "ball"]
    acts, tendon = "", ""
    for name in single[:2]:
        ratio = rng.choice(['kv="1"', 'dampratio="0.8"'])
        acts += rng.choice(
            [f'<motor joint="{name}"/>', f'<position joint="{name}" kp="20" {ratio}/>']
        )
    if len(single) > 1:
        tendon = f'<tendon><fixed name="t"><joint joint="{single[0]}" coef="1"/></fixed></tendon>'
        acts += rng.choice(["", '<motor tendon="t"/>', '<muscle tendon="t" lengthrange="0 1"/>'])
    more = rng.choice(["", '<statistic extent="2" center="1 0 0"/>', '<compiler angle="radian"/>'])
    text = (
        f"<mujoco>{more}<worldbody>{tree}</worldbody>{tendon}<actuator>{acts}</actuator></mujoco>"
    )
    return text, kinds


def some_dynamics(rng: random.Random, kinds: dict[str, str]) -> dict[str, Any] | None:
    """Values by joint name, sometimes by a pattern of all; rarely limits too."""
    if rng.random() < 0.15:
        return None
    found: dict[str, Any] = {}
    for name in _NUMBERS:
        if rng.random() < 0.5:
            chosen = [j for j in kinds if rng.random() < 0.5]
            found[name] = {j: rng.choice([0, 0.05, 1.5]) for j in chosen} or {".*": 0.2}
    single = [j for j, k in kinds.items() if k != "ball"]
    if single and rng.random() < 0.15:
        found["range"] = {single[0]: [-0.5, rng.choice([0.5, 0.9])]}
    return found


@pytest.mark.campaign
def test_joints_of_a_running_robot_are_those_of_a_new_world(tally: Tally) -> None:
    taken = 0
    for rng in tally.cases("joint parameters live against a new world", 15, 3_000):
        xml, kinds = some_tree(rng)
        first, second = some_dynamics(rng, kinds), some_dynamics(rng, kinds)
        world, new = make_world(xml, dynamics=first), make_world(xml, dynamics=second)
        before = {n: getattr(world.model, f"dof_{n}").copy() for n in _NUMBERS[:3]}
        if not rejoint(world, [world["robot"]], new.scene.actors[0]):
            if any(
                getattr(world.model, f"dof_{n}").tobytes() != v.tobytes() for n, v in before.items()
            ):
                tally.found(f"refused, but changed: {xml} {first} {second}")
            continue
        taken += 1
        try:
            same_model(new.model, world.model)
            assert world.model.stat.extent == new.model.stat.extent
            world.reset()
            for one in (world, new):
                one.step(20)
            assert world.data.qpos.tobytes() == new.data.qpos.tobytes()
        except AssertionError as error:
            tally.found(f"{error}: {xml} {first} {second}")
    assert taken > tally.tried / 10


def test_a_pattern_without_a_joint_leaves_the_robot_as_it_was() -> None:
    xml, kinds = some_tree(random.Random(1))
    world = make_world(xml)
    before = world.model.dof_damping.copy()
    wrong = Actor(name="robot", dynamics={"damping": {next(iter(kinds)): 9, "nobody": 1}})
    with pytest.raises(BindingError, match="'nobody' matches no joint"):
        rejoint(world, [world["robot"]], wrong)
    assert np.array_equal(world.model.dof_damping, before)
    assert mujoco.mj_name2id(world.model, mujoco.mjtObj.mjOBJ_JOINT, "robot/j0") >= 0


def test_an_armature_from_which_another_joints_spring_is_computed_needs_a_new_world() -> None:
    sprung = """<mujoco><worldbody><body><joint name="a"/><geom size=".1"/>
    <body pos="1 0 0"><joint name="b" springdamper="0.1 1"/><geom size=".1"/></body></body>
    </worldbody></mujoco>"""
    world = make_world(sprung)
    heavier = Actor(name="robot", dynamics={"armature": {"a": 1}})
    assert not rejoint(world, [world["robot"]], heavier)
    assert not world.model.dof_armature.any()
    damped = Actor(name="robot", dynamics={"damping": {"a": 1}})
    assert rejoint(world, [world["robot"]], damped)
    assert world.model.dof_damping[0] == 1.0
