"""Memory in a recording with other types, shapes and values: unknown, or an error with the file."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components import PIDController
from mjrig.core.errors import MjrigError, RecordingError
from mjrig.data.recording.component_memory import StoredMemory
from mjrig.data.recording.readers import read_recording
from mjrig.data.recording.recording import Recording
from tests.campaign import Tally
from tests.components.executions.rewind_cases import build, draw_case, settings
from tests.components.executions.rewind_subjects import subjects
from tests.plugin.data.recording.test_begun_mid_run import Plant, record_mid_run, take

pytest.importorskip("h5py")
pytest.importorskip("numba", reason="needs the extra 'fast'")
pytest.importorskip("onnxruntime", reason="networks need onnxruntime (extra `policy`)")

#: Forms of values that a part of a memory is replaced by.
FORMS: tuple[Any, ...] = (
    None, True, -1, 0, 3, 10**30, 1.5, {"float": "7ff8000000000000"}, "x", "", [], [1], [[1]], {},
    {"dict": []}, {"dict": [[1, 2]]}, {"tuple": []}, {"tuple": [1, "x"]}, {"set": [1]},
    {"deque": [1], "maxlen": 2}, {"array": "nothing"}, {"array": 5}, {"enum": "os:system"},
    {"generator": "PCG64"}, {"dataclass": {"dict": []}, "type": "os:system"},
)  # fmt: skip


def places(node: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    if isinstance(node, dict | list):
        for key, item in node.items() if isinstance(node, dict) else enumerate(node):
            yield from places(item, (*at, key))


def damaged(memory: StoredMemory, rng: Random) -> StoredMemory:
    """The memory with one or two values, array shapes or kinds of numbers replaced."""
    parts: Any = copy.deepcopy(dict(memory.parts))
    arrays = dict(memory.arrays)
    for _ in range(rng.choice((1, 1, 2))):
        if arrays and rng.random() < 0.3:
            name = rng.choice(sorted(arrays))
            array = arrays[name]
            changes = [
                array.astype(np.float32), array.astype("U8"), array.astype(np.int64, copy=True),
                array.reshape(-1)[:-1], array[None], np.zeros(0), array.astype(complex),
            ]  # fmt: skip
            arrays[name] = rng.choice(changes)
            continue
        *way, last = rng.choice([place for place in places(parts) if place])
        node = parts
        for key in way:
            node = node[key]
        if rng.random() < 0.15:
            del node[last]
        else:
            others = (*FORMS, *({"array": name} for name in list(arrays)[:2]))
            node[last] = copy.deepcopy(rng.choice(others))
    return replace(memory, parts=parts, arrays=arrays)


def with_damage(recording: Recording, rng: Random) -> Recording:
    return replace(recording, memories=tuple(damaged(m, rng) for m in recording.memories))


@pytest.mark.campaign
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning", "ignore::RuntimeWarning")
def test_damaged_memory_is_unknown_or_an_error_with_the_file(
    tally: Tally, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # for MuJoCo's own log
    components, values = list(subjects(tmp_path).values()), settings()
    few, path = len(components), tmp_path / "run.h5"
    for number, rng in enumerate(tally.cases("damaged memories", few // 2, 100 * few)):
        case = draw_case(components[number % few], rng.choice(values), rng)
        try:
            world = build(case.data, tmp_path, case.execution)
        except MjrigError:
            continue
        record_mid_run(case, world, path, "nothing")
        recording = read_recording(path)
        for _ in range(4):
            other = build(case.data, tmp_path, case.execution)
            broken = with_damage(recording, rng)
            try:
                mjrig.replay(broken, other, diagnose=False)
            except MjrigError as error:
                if path.name not in str(error):
                    tally.found(f"does not name the file: {error}")
            except Exception as error:
                tally.found(f"{case.data}: {type(error).__name__}: {error}")


def altered(recording: Recording, form: Any) -> Recording:
    (memory,) = recording.memories
    part = {"tuple": [*memory.parts["robot.Trusting"]["tuple"][:2], {"tuple": [None, form]}]}
    return replace(
        recording, memories=(replace(memory, parts={**memory.parts, "robot.Trusting": part}),)
    )


class Trusting(Plant):
    """A component whose restore takes anything, and whose reset relies on it."""

    def prepare(self) -> None:
        self._heat, self._random, self._last = np.zeros(2), np.random.default_rng(7), None

    def reset(self) -> None:
        self._heat[:] = 0.0
        self._random, self._last = np.random.default_rng(7), None

    def compute_and_apply(self, model: Any, data: Any, source: Any) -> None:
        super().compute_and_apply(model, data, source)
        self._last = 1.0 if self._last is None else self._last + 1.0

    def memory(self) -> Any:
        return (self._heat, self._last)

    def restore(self, memory: Any) -> None:
        self._heat, self._last = memory


def test_a_memory_of_another_type_is_unknown_and_the_replay_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    other = take(Trusting(), path)
    for form in ("x", 3, {"tuple": ["x", 1.0]}, {"tuple": [None, 1.0]}, {"dict": []}):
        result = mjrig.replay(altered(read_recording(path), form), other)
        assert "does not fit" in result.unknown_memory["robot.Trusting"]


def test_a_component_that_fails_with_its_memory_is_named_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    other = take(Trusting(), path)
    recording = read_recording(path)
    heat = recording.memories[0].parts["robot.Trusting"]["tuple"][2]["tuple"][1]["tuple"][0]
    with pytest.raises(RecordingError, match=r"run.h5: .*robot.Trusting.compute_and_apply"):
        mjrig.replay(altered(recording, {"tuple": [heat, "x"]}), other)


def test_arrays_of_another_shape_are_unknown(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    other = take(PIDController(kp=20, ki=5), path)
    recording = read_recording(path)
    (memory,) = recording.memories
    arrays = {
        name: array[None] if name.endswith("_raw") else array
        for name, array in memory.arrays.items()
    }
    result = mjrig.replay(replace(recording, memories=(replace(memory, arrays=arrays),)), other)
    assert "of shape (1, 2)" in result.unknown_memory["robot.PIDController"]
