"""What is printed moves no cursor, whatever names are in it."""

import json
import sys
import unicodedata
from pathlib import Path

import pytest

from mjrig.cli.main import main
from mjrig.cli.terminal import printable, printing_safely
from tests.conftest import HINGE

HARM = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\u2066\u2028\x7f"


def harmful(text: str) -> list[str]:
    hidden = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return [c for c in text if c != "\n" and unicodedata.category(c) in hidden]


def test_no_hidden_character_is_left() -> None:
    shown = printable("".join(map(chr, range(0x11_0000))))
    assert set(harmful(shown)) <= set("\t\u200c\u200d")
    assert json.loads(f'"{printable(HARM)}"') == HARM


def test_plain_text_stays() -> None:
    for text in ("kp 40 → 50 N·m", "日本\nüber\t½", ""):
        assert printable(text) == text


def test_progress_lines_still_move(capsys: pytest.CaptureFixture[str]) -> None:
    with printing_safely():
        print("\r\033[K40 %", end="", file=sys.stderr)
        print("\r" + " " * 8 + "\r", end="", file=sys.stderr)
        print("\rname", end="")
    out, err = capsys.readouterr()
    assert err == "\r\033[K40 %\r        \r"
    assert out == "\\rname"


@pytest.mark.parametrize(
    "arguments", [["check"], ["run", "--duration", "0"], ["check", "--set", f"a{HARM}=1"]]
)
def test_names_of_files_are_printed_without_control_characters(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    bad = "".join(f"&#x{ord(c):x};" for c in "\u202e\u2066\x9b")
    (tmp_path / "m.xml").write_text(HINGE.replace("swing", f"sw{bad}ing"), encoding="utf-8")
    for name in ("s.yaml", f"s{HARM}.yaml"):
        for model in ("m.xml", "gone\\x1b[31m.xml"):
            text = f'mjrig: 1\nactors: [{{name: a, model: "{model}"}}]\n'
            (tmp_path / name).write_text(text, encoding="utf-8")
            main([arguments[0], str(tmp_path / name), *arguments[1:]])
            out, err = capsys.readouterr()
            assert out or err
            assert not harmful(out + err)
