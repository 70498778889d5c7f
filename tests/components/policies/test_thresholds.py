"""Where policies decide by numbers: each case is on one of the two sides of a threshold."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components.policies.batch_loop import _difference
from mjrig.components.policies.policy_file import CommandInput
from mjrig.components.policies.policy_loop import Commands
from tests.components.policies import batch_variants as made
from tests.components.policies.test_policy_batch import walking


@pytest.mark.parametrize(("early", "begins"), [(0.8e-6, True), (1.25e-6, False)])
def test_a_command_may_begin_a_microsecond_early(early: float, begins: bool) -> None:
    commands = Commands(CommandInput(names=["vx"]), "policy")
    commands.follow([(0.0, [0.1]), (2.0, [0.5])])
    assert (commands.at(2.0 - early).tolist() == [0.5]) is begins


@pytest.mark.parametrize(("difference", "is_rounding"), [(0.8e-4, True), (1.25e-4, False)])
def test_worlds_in_a_call_may_differ_by_a_ten_thousandth(
    tmp_path: Path, difference: float, is_rounding: bool
) -> None:
    """The outputs of this network grow with the number of rows, by half of that for each."""
    make = made.onnx.helper.make_node
    nodes: list[Any] = [
        make("Shape", ["obs"], ["shape"]),
        make("Gather", ["shape", "first"], ["count"]),
        make("Cast", ["count"], ["rows"], to=made.onnx.TensorProto.FLOAT),
        make("Mul", ["rows", "each"], ["more"]),
        make("Add", ["more", "rest"], ["factor"]),
        make("MatMul", ["obs", "w"], ["x"]),
        make("Mul", ["x", "factor"], ["actions"]),
    ]
    weights = [
        made.tensor("w", 0.05 * np.random.default_rng(0).normal(size=(47, 12))),
        made.tensor("each", [0.5 * difference]),
        made.tensor("rest", [1.0 - 0.5 * difference]),
        made.onnx.numpy_helper.from_array(np.array([0]), "first"),
    ]
    ends = [made.value("obs", [1, 47])], [made.value("actions", [1, 12])]
    path = made.save(tmp_path / "grows.onnx", nodes, *ends, weights, None)
    near = mjrig.PolicyBatch(walking(tmp_path, path), 3, exact=False).policy()
    assert near.together is is_rounding


@pytest.mark.parametrize(("worlds", "calls"), [(2, 512), (1000, 3)])
def test_calls_are_compared_on_a_thousand_observations_of_three_sizes(
    worlds: int, calls: int
) -> None:
    sizes: list[float] = []

    def answer(rows: Any, *_: object) -> Any:
        sizes.append(float(np.std(rows)))
        return rows[:, :1].copy()

    many: Any = SimpleNamespace(answer=answer)
    one: Any = SimpleNamespace(
        memory=lambda: None, restore=lambda memory: None, run=lambda row, tick: row[:1]
    )
    assert _difference(many, one, (worlds, 2000 // worlds + 50)) == 0.0
    assert len(sizes) == calls
    assert sizes[:3] == pytest.approx([0.1, 1.0, 10.0], rel=0.1)
