"""What a sweep goes through: names, grids, ranges, samples, random draws."""

import mujoco
import numpy as np
import pytest

from mjrig.lab.rollouts.experiment import ParameterTarget
from mjrig.lab.rollouts.randomisation import Randomisation
from mjrig.lab.sweep.search_space import Choices, Range, Space
from tests.plugin.lab.sweep.swept import refused
from tests.worlds import hinge


def test_a_name_is_a_path_or_a_path_with_a_pattern() -> None:
    assert ParameterTarget.of("dog.PDController.kp") == ParameterTarget("dog.PDController.kp")
    assert ParameterTarget.of("dog.pd.kp[.*_calf]") == ParameterTarget("dog.pd.kp", ".*_calf")
    assert ParameterTarget.of("dog.pd.clamps[0].max_effort") == ParameterTarget(
        "dog.pd.clamps[0].max_effort"
    )
    narrowed = ParameterTarget.of("dog.pd.clamps[0].max_effort[F[LR].*]")
    assert narrowed == ParameterTarget("dog.pd.clamps[0].max_effort", "F[LR].*")


def test_a_grid_is_a_list_of_values_or_evenly_spaced_numbers() -> None:
    assert Choices.read("a.b.c=1,2.5,[3, 4]") == Choices("a.b.c", (1, 2.5, [3, 4]))
    assert Choices.read("a.b.c=0:10:3") == Choices("a.b.c", (0.0, 5.0, 10.0))
    logarithmic = Choices.read("a.b.c[x=y]=1:100:3:log")
    assert logarithmic.name == "a.b.c[x=y]"
    np.testing.assert_allclose(np.array(logarithmic.values, dtype=float), [1, 10, 100])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a.b.c", "'a.b.c': write PATH=a,b,c or PATH=low:high:count, as in "
         "dog.PDController.kp=20:80:4"),
        ("a.b.c=1:5", "a.b.c: write low:high:count with at least 2 … a,b,c; … '1:5'"),
        ("a.b.c=1:x:3", "a.b.c: write low:high with two numbers, got '1:x:3'"),
        ("a.b.c=5:1:3", "a.b.c: low must be below … 5 … 1"),
        ("a.b.c=0:1:3:log", "a.b.c: a logarithmic range begins … 0, … 0"),
    ],
)  # fmt: skip
def test_a_wrong_grid_says_what_would_be_right(text: str, message: str) -> None:
    with refused(message):
        Choices.read(text)


def test_a_wrong_range_says_what_would_be_right() -> None:
    with refused("a.b.c: 'lg' is no option of … 'log'?"):
        Range.read("a.b.c=1:2:lg")
    with refused("a.b.c: low must be below … 1 … inf"):
        Range.read("a.b.c=1:inf")
    with refused("a.b.c: the ends must be …"):
        Range.read("a.b.c=1:2.5:int")


def test_a_space_is_every_combination_of_choices_with_the_samples() -> None:
    space = Space(
        (Choices("a", (1, 2)), Choices("b", ("x", "y", "z"))), (Range("c", 0.0, 1.0),), samples=4
    )
    points = space.points()
    assert len(points) == 24
    assert space.names == ("a", "b", "c")
    assert [p["c"] for p in points[:4]] == [p["c"] for p in points[4:8]]
    assert points == space.points()


def test_a_latin_hypercube_has_one_sample_in_each_slice_of_every_axis() -> None:
    ranges = (Range("a", 0.0, 20.0), Range("b", 1.0, 2.0**20, log=True))
    points = Space(ranges=ranges, samples=20, seed=3).points()
    slices = sorted(int(float(str(p["a"]))) for p in points)
    octaves = sorted(int(np.log2(float(str(p["b"])))) for p in points)
    assert slices == octaves == list(range(20))


def test_random_samples_stay_inside_and_differ_with_the_seed() -> None:
    ranges = (Range("a", -1.0, 1.0), Range("n", 1, 3, whole=True))
    first, second = (
        Space(ranges=ranges, samples=50, method="random", seed=s).points() for s in (0, 1)
    )
    assert first != second
    assert all(-1.0 <= float(str(p["a"])) < 1.0 for p in first)
    assert {p["n"] for p in first} == {1, 2, 3}


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({"ranges": (Range("a", 0, 1),)}, "a: a range needs a …"),
        ({"samples": 3}, "3 samples but no range: …"),
        (
            {"choices": tuple(Choices(n, tuple(range(200))) for n in "abc")},
            "the space has 8000000 points; … 1000000 …",
        ),
    ],
)
def test_a_space_without_end_or_beginning_is_refused(
    space: dict[str, object], message: str
) -> None:
    made = Space(**space)  # type: ignore[arg-type]
    with refused(message):
        made.points()


def test_a_parameter_is_given_once_and_methods_are_known() -> None:
    with refused("a: is given twice"):
        Space((Choices("a", (1,)), Choices("a", (2,))))
    with refused("unknown sampling method 'lsh'; did … 'lhs'?"):
        Space((Choices("a", (1,)),), method="lsh")


def test_randomisation_is_read_from_words() -> None:
    read = Randomisation.read("mass=0.9:1.1, friction=0.5:1.5,noise=0.01")
    assert read == Randomisation(mass=(0.9, 1.1), friction=(0.5, 1.5), noise=0.01)
    assert Randomisation.read("") == Randomisation()
    with refused("'mas' cannot be randomised; did … 'mass'?"):
        Randomisation.read("mas=1:2")
    with refused("mass: write low:high, factors above 0, as … 0.9:1.1; … '0:1'"):
        Randomisation.read("mass=0:1")
    with refused("noise: must be a number >= 0, … 'nan'"):
        Randomisation.read("noise=nan")


def test_a_seed_draws_the_same_whatever_else_is_drawn() -> None:
    def armature(random: Randomisation, seed: int) -> float:
        model = mujoco.MjModel.from_xml_string(hinge(joint='armature="1"'))
        random.apply(model, mujoco.MjData(model), seed)
        assert model.body_subtreemass[0] == pytest.approx(model.body_mass[1])
        return float(model.dof_armature[0])

    alone, both = Randomisation(armature=(0.5, 2)), Randomisation(mass=(2, 3), armature=(0.5, 2))
    assert armature(alone, 7) == armature(both, 7) != armature(alone, 8)
    assert 0.5 <= armature(alone, 7) <= 2.0
