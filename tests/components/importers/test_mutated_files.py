"""Damaged files of other stacks: read, or refused in words, whatever was changed in them."""

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from mjrig.components.importers.policy_import import import_policy
from mjrig.components.importers.recordings.table_log import read
from mjrig.components.importers.sources.overrides import Overrides
from mjrig.components.importers.sources.robot import Robot
from mjrig.components.importers.sources.source import Metadata, open_files
from mjrig.components.importers.stack_registry import recognised, stack_named
from mjrig.components.policies.checkpoints import is_torchscript, what_else
from mjrig.core.errors import MjrigError
from mjrig.data.recording.readers import read_recording
from tests.campaign import Tally
from tests.components.importers import biped
from tests.components.importers.test_importing import CHECKPOINTS

TEXTS = {"gym": biped.GYM, "lab": biped.LAB, "booster": biped.BOOSTER, "sar": biped.SAR}
PIECES = ("0", "-1", "1e999", "nan", "[]", "{}", "null", ",", ";", ":", "\n", "  ", "'", "&a", "*a",
          "!!python/tuple", "\x02", "é", "[[1]]", "true")  # fmt: skip


def mutated(text: str, rng: random.Random) -> str:
    """Some pieces removed, doubled or put in."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text))
        length = rng.choice((0, 0, 1, 3, 12))
        text = text[:at] + rng.choice((*PIECES, text[at : at + 9])) + text[at + length :]
    return text


@pytest.mark.campaign
def test_mutated_configurations_are_read_or_refused(tmp_path: Path, tally: Tally) -> None:
    network = biped.network(tmp_path / "policy.onnx", 23)
    biped.write(tmp_path / "base.yaml", biped.SAR_BASE)
    made = Robot(biped.model(tmp_path))
    for rng in tally.cases("mutated policy configurations", 20, 3000, minutes=3.0):
        text = mutated(TEXTS[rng.choice(list(TEXTS))], rng)
        config = biped.write(tmp_path / "config.yaml", text)
        try:
            source = open_files([config], network, made, Overrides())
            stack_named(recognised(source)).read(source)
            import_policy(
                [config], network, made.path, tmp_path / "s.yaml", overwrite=True, probe=False
            )
        except MjrigError:
            pass
        except Exception as error:
            tally.found(f"{type(error).__name__}: {error} in {text!r}")


@pytest.mark.campaign
def test_mutated_metadata_and_weights_are_read_or_refused(tmp_path: Path, tally: Tally) -> None:
    path = tmp_path / "weights.bin"
    for rng in tally.cases("mutated metadata, weights and tables", 30, 5000):
        texts = {key: mutated(text, rng) for key, text in biped.MIMIC.items()}
        said = Metadata("net.onnx", {**texts, "c": mutated("-inf;inf,[-1, 2],None", rng)})
        content = bytearray(CHECKPOINTS[rng.choice(list(CHECKPOINTS))])
        for _ in range(rng.randint(0, 3)):
            content[rng.randrange(len(content))] = rng.randrange(256)
        path.write_bytes(bytes(content[: rng.randint(1, len(content))]))
        table = tmp_path / "t.csv"
        table.write_text(mutated("time,q_a,q_b,dq_a,cmd_b\n0,1,2,3,4\n0.1,1,2,3,4\n", rng))
        asked: list[Callable[[], object]] = [
            partial(said.names, "joint_names"),
            partial(said.numbers, "joint_stiffness", 4),
            partial(said.lists, "action_scale", 4),
            partial(said.pairs, "c", 3),
            partial(is_torchscript, path),
            partial(what_else, path),
            partial(read_recording, table),
            partial(read, table, {"columns": {"time": "time", "position": "q_{joint}"}}),
        ]
        for ask in asked:
            try:
                ask()
            except MjrigError:
                pass
            except Exception as error:
                tally.found(f"{type(error).__name__}: {error}")
