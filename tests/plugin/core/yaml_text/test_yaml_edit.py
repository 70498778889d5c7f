"""Edits of a YAML text change the lines they must, and nothing else."""

import re
from collections.abc import Callable
from copy import deepcopy
from difflib import SequenceMatcher
from textwrap import dedent
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mjrig.core.errors import SceneError
from mjrig.core.yaml_text.comparison import ItemTree, same
from mjrig.core.yaml_text.formatting import format_block, format_flow
from mjrig.core.yaml_text.yaml_document import Document
from mjrig.core.yaml_text.yaml_edit import updated_text
from tests.campaign import CAMPAIGN, amount


def edited(text: str, change: Callable[[Any], object]) -> str:
    """The text after `change` was applied to its data, parsed back and compared exactly."""
    document = Document(text, "f.yaml")
    data = deepcopy(document.data)
    change(data)
    new = updated_text(document, data)
    assert Document(new, "f.yaml").data == data
    return new


def difference(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines that went and the lines that came, line breaks included."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    went: list[str] = []
    came: list[str] = []
    for tag, i, i_end, j, j_end in SequenceMatcher(None, old, new, False).get_opcodes():
        if tag != "equal":
            went += old[i:i_end]
            came += new[j:j_end]
    return went, came


def change_of(text: str, change: Callable[[Any], object]) -> tuple[list[str], list[str]]:
    return difference(text, edited(text, change))


def setter(*path: Any, to: Any) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = to

    return change


def rename_key(data: dict[str, Any], old: str, new: str) -> None:
    """Another key for the same value, in the same place."""
    items = [(new if key == old else key, value) for key, value in data.items()]
    data.clear()
    data.update(items)


def renamer(*path: Any, to: str) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        rename_key(data, path[-1], to)

    return change


def remover(*path: Any) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        del data[path[-1]]

    return change


ROBOT = dedent("""\
    # A robot.
    mjrig: 1
    actors:
      # the only one
      - name: dog        # its name
        model: dog.xml   # its file
        pose: {position: [0, 0, 1], euler_deg: [0, 0, 90]}  # turned

        components:
          - type: PDController
            kp: {".*_hip": 60, default: 40}
            # damping
            kv: 2.0
          - type: TrotGait   # walks
        # the end of the dog
    # the end
    """)


# Untouched --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        ROBOT,
        ROBOT.replace("\n", "\r\n"),
        ROBOT.removesuffix("\n"),
        "a: 1 #\ta tab\n#\tmore\n",
        "größe: [1,   2,3]   # größer, 大\n\n\n",
        "\ufeffa: 1\n",
        "%YAML 1.1\n---\na: 1\n...\n",
        "a: |+\n  kept\n\n\nb: >-\n  folded\n  text\n",
        "a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}\n",
        "? a\n: b\n",
        "a: 1e-3\nb: inf\nc: .5\nd: +1\ne: 1_000\nf: ~\ng:\n",
    ],
)
def test_an_untouched_text_stays_as_it_is_to_the_byte(text: str) -> None:
    assert edited(text, lambda data: None) == text


def test_a_number_in_another_spelling_is_no_change() -> None:
    document = Document("a: 1e-3\nb: 2.0\nc: inf\n", "f.yaml")
    assert updated_text(document, {"a": 0.001, "b": 2, "c": float("inf")}) == document.text


# Values -----------------------------------------------------------------------------------------


def test_a_scalar_in_a_block_mapping_changes_its_line_and_keeps_the_comment() -> None:
    assert change_of(ROBOT, setter("actors", 0, "model", to="cat.xml")) == (
        ["    model: dog.xml   # its file\n"],
        ["    model: cat.xml   # its file\n"],
    )


def test_a_scalar_in_a_flow_mapping_changes_its_line_only() -> None:
    assert change_of(ROBOT, setter("actors", 0, "components", 0, "kp", ".*_hip", to=80)) == (
        ['        kp: {".*_hip": 60, default: 40}\n'],
        ['        kp: {".*_hip": 80, default: 40}\n'],
    )


def test_an_item_of_a_flow_list_inside_a_flow_mapping_changes_in_place() -> None:
    assert change_of(ROBOT, setter("actors", 0, "pose", "position", 2, to=0.35)) == (
        ["    pose: {position: [0, 0, 1], euler_deg: [0, 0, 90]}  # turned\n"],
        ["    pose: {position: [0, 0, 0.35], euler_deg: [0, 0, 90]}  # turned\n"],
    )


def test_the_first_key_of_a_list_item_can_change() -> None:
    assert change_of(ROBOT, setter("actors", 0, "name", to="cat")) == (
        ["  - name: dog        # its name\n"],
        ["  - name: cat        # its name\n"],
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a:\nb: 1\n", "a: 5\n"),
        ("a: # fill me\nb: 1\n", "a: 5 # fill me\n"),
        ("a: ~ # none\nb: 1\n", "a: 5 # none\n"),
        ("'a':\nb: 1\n", "'a': 5\n"),
        ("a:", "a: 5"),
    ],
)
def test_an_empty_value_is_filled(text: str, line: str) -> None:
    assert edited(text, setter("a", to=5)).splitlines(keepends=True)[0] == line


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("{a: , b: 1}", "{a: 5 , b: 1}"),
        ("{a:, b: 1}", "{a: 5, b: 1}"),
        ("{a, b: 1}", "{a: 5, b: 1}"),
        ('{"a":0,"b":1}', '{"a": 5,"b":1}'),
    ],
)
def test_an_empty_or_tight_value_in_a_flow_mapping_is_filled(text: str, after: str) -> None:
    assert edited(text, setter("a", to=5)) == after


def test_an_empty_value_takes_a_nested_block_on_the_lines_below() -> None:
    text = "a: # soon\nb: 1\n"
    assert edited(text, setter("a", to=[{"x": {"y": [1, 2]}}])) == (
        "a: # soon\n  - x:\n      y: [1, 2]\nb: 1\n"
    )


def test_an_empty_list_item_is_filled() -> None:
    assert edited("a:\n  -\n  - 2\n", setter("a", 0, to=1)) == "a:\n  - 1\n  - 2\n"


def test_a_text_that_needs_quotes_inside_brackets_only_gets_them_there() -> None:
    assert edited("a: [x]\nb: x\n", lambda d: d.update(a=["x,y"], b="x,y")) == (
        "a: ['x,y']\nb: x,y\n"
    )


@pytest.mark.parametrize(
    "value", ["1", "on", "null", "2026-01-01", "# no", "a: b", " pad ", "two\nlines\n", "", "é\t"]
)
def test_a_text_that_looks_like_something_else_comes_back_as_that_text(value: str) -> None:
    assert edited("a: x # why\nb: 1\n", setter("a", to=value)).endswith(" # why\nb: 1\n")


def test_a_value_used_twice_is_written_out_twice_without_an_alias() -> None:
    shared = {"x": [1, 2]}
    assert edited("a: 1\n", lambda d: d.update(b=[shared, shared])) == (
        "a: 1\nb:\n  - x: [1, 2]\n  - x: [1, 2]\n"
    )


# Kinds of value ---------------------------------------------------------------------------------


def test_a_block_mapping_becomes_a_scalar_and_the_comment_of_its_key_stays() -> None:
    text = "kp: # gains\n  hip: 1\n  # inside\n  knee: 2 # last\nkv: 3\n"
    assert edited(text, setter("kp", to=40)) == "kp: 40 # gains\nkv: 3\n"


def test_a_scalar_becomes_a_flat_mapping_on_its_line() -> None:
    text = "kp: 40 # gains\nkv: 3\n"
    assert edited(text, setter("kp", to={"hip": 1, "knee": 2})) == (
        "kp: {hip: 1, knee: 2} # gains\nkv: 3\n"
    )


def test_a_scalar_becomes_a_nested_block_below_its_key() -> None:
    text = "  a: 40 # gains\n  b: 3\n"
    assert edited(text, setter("a", to={"x": [[1], [2]]})) == (
        "  a: # gains\n    x:\n      - - 1\n      - - 2\n  b: 3\n"
    )


def test_a_list_without_indent_becomes_empty_and_full_again() -> None:
    text = "a:\n- 1\n- 2\nb: 1\n"
    empty = edited(text, setter("a", to=[]))
    assert empty == "a: []\nb: 1\n"
    assert edited(empty, setter("a", to=[1, 2])) == "a: [1, 2]\nb: 1\n"


def test_a_block_of_other_keys_replaces_its_lines() -> None:
    text = "a: # why\n  b: 1\n  c: 2\nd: 3\n"
    assert edited(text, setter("a", to={"e": [{"f": 1}]})) == ("a: # why\n  e:\n    - f: 1\nd: 3\n")


def test_an_item_changes_from_mapping_to_scalar_and_back() -> None:
    text = "a:\n  - b: 1\n    c: 2\n  - 3\n"
    flat = edited(text, setter("a", 0, to=9))
    assert flat == "a:\n  - 9\n  - 3\n"
    assert edited(flat, setter("a", 0, to={"b": [{"c": 1}]})) == (
        "a:\n  - b:\n      - c: 1\n  - 3\n"
    )


def test_block_scalars_nearby_are_left_alone() -> None:
    text = "a: 1\nnote: |\n  # not a comment\n    deep: text\n\n  end\n\nb: 2\n"
    assert change_of(text, lambda d: d.update(a=5, b=6, c=7)) == (
        ["a: 1\n", "b: 2\n"],
        ["a: 5\n", "b: 6\n", "c: 7\n"],
    )


@pytest.mark.parametrize("header", ["|", "|-", "|+", ">", ">+ # kept", "|2-"])
def test_a_block_scalar_is_replaced_removed_and_added_to(header: str) -> None:
    text = f"a: {header}\n  one\n  two\n\nb: 1\n"
    assert "b: 1\n" in edited(text, setter("a", to="short"))
    assert "b: 1\n" in edited(text, setter("a", to=[{"x": {"y": 1}}]))
    assert edited(text, remover("a")).strip() == "b: 1"
    inner = f"o:\n  a: {header}\n    one\n\nb: 1\n"
    assert "\n  c: 2\n" in edited(inner, setter("o", "c", to=2))


# Renamed keys -----------------------------------------------------------------------------------


def test_a_renamed_key_stays_where_it_was_with_its_comment() -> None:
    text = "kp:\n  hip: 1   # strong\n  knee: {a: 2} # weak\n  default: 3\n"
    assert change_of(text, renamer("kp", "knee", to="shin")) == (
        ["  knee: {a: 2} # weak\n"],
        ["  shin: {a: 2} # weak\n"],
    )
    assert edited(text, renamer("kp", "hip", to="a b")).startswith("kp:\n  a b: 1   # strong\n")
    assert edited(text, renamer("kp", to="kv")) == text.replace("kp:", "kv:")


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ('a: {"x.*": 1, y: 2} # c\n', "a: {z: 1, y: 2} # c\n"),
        ("a: {y: 2, x.*: 1}\n", "a: {y: 2, z: 1}\n"),
        ("a: {x.*: 1}\n", "a: {z: 1}\n"),
        ("- a:\n    x.*: 1 # c\n", "- a:\n    z: 1 # c\n"),
        ('a: {"x.*":1, y: 2}\n', "a: {z: 1, y: 2}\n"),
        ("a: {&k x.*: 1, y: *k}\n", "a: {z: 1, y: &k x.*}\n"),
    ],
)
def test_a_key_is_renamed_in_any_spelling(text: str, after: str) -> None:
    def change(data: Any) -> None:
        rename_key((data[0] if isinstance(data, list) else data)["a"], "x.*", "z")

    assert edited(text, change) == after


def test_a_renamed_key_may_have_another_value_too() -> None:
    def change(data: Any) -> None:
        data["a"] = {"z": 7, "y": 2}

    assert edited("a: {x: 1, y: 2}\n", change) == "a: {z: 7, y: 2}\n"


def test_new_keys_come_where_they_stand_in_the_data() -> None:
    def change(data: Any) -> None:
        data["a"] = {"n": 0, "x": 1, "m": 5, "y": 2}

    assert edited("a: {x: 1, y: 2}\n", change) == "a: {n: 0, x: 1, m: 5, y: 2}\n"
    text = "a:\n  x: 1 # one\n  # two:\n  y: 2\n"
    assert edited(text, change) == "a:\n  n: 0\n  x: 1 # one\n  m: 5\n  # two:\n  y: 2\n"


def test_what_all_who_share_it_say_anew_is_written_once() -> None:
    def change(data: Any) -> None:
        for owner in data.values():
            rename_key(owner, "old", "new")

    text = "kp: &gains {old: 1, default: 2} # shared\nkv: *gains\n"
    assert edited(text, change) == "kp: &gains {new: 1, default: 2} # shared\nkv: *gains\n"


# Keys -------------------------------------------------------------------------------------------


def test_a_new_key_of_a_block_mapping_is_one_new_line_behind_the_last_entry() -> None:
    went, came = change_of(ROBOT, setter("actors", 0, "components", 0, "torque_limit", to=33.5))
    assert (went, came) == ([], ["        torque_limit: 33.5\n"])
    after = edited(ROBOT, setter("actors", 0, "components", 0, "torque_limit", to=33.5))
    assert "        kv: 2.0\n        torque_limit: 33.5\n" in after


def test_a_new_key_goes_behind_a_last_line_that_has_no_line_break() -> None:
    assert edited("a: 1\nb: 2", setter("c", to=3)) == "a: 1\nb: 2\nc: 3"


def test_a_new_key_of_a_flow_mapping_goes_in_front_of_the_bracket() -> None:
    assert change_of(ROBOT, setter("actors", 0, "components", 0, "kp", ".*_knee", to=7)) == (
        ['        kp: {".*_hip": 60, default: 40}\n'],
        ['        kp: {".*_hip": 60, default: 40, .*_knee: 7}\n'],
    )


def test_new_keys_inside_and_outside_of_the_same_last_line_come_in_order() -> None:
    text = "a:\n- b\n"
    assert edited(text, lambda d: (d["a"].append("c"), d.update({"1": 2}))) == (
        "a:\n- b\n- c\n'1': 2\n"
    )


def test_the_sign_of_zero_is_written() -> None:
    for before, after in (("0", -0.0), ("0.0", -0.0), ("-0.0", 0.0), ("-0.0", 0)):
        text = edited(f"a: [{before}, 1]  # x\n", lambda d, to=after: d.update(a=[to, 1]))
        assert text == f"a: [{after}, 1]  # x\n"
    assert edited("a: 0.0\n", setter("a", to=0)) == "a: 0.0\n"


def test_an_empty_mapping_is_filled() -> None:
    assert edited("a: {} # none\n", setter("a", "b", to=1)) == "a: {b: 1} # none\n"


def test_a_multi_line_flow_mapping_keeps_its_other_lines() -> None:
    text = "a: {\n  b: 1, # one\n  c: 2, # two\n  d: 3 # three\n}\n"
    assert change_of(text, setter("a", "e", to=4)) == (
        ["  d: 3 # three\n"],
        ["  d: 3, e: 4 # three\n"],
    )
    assert change_of(text, remover("a", "b")) == (
        ["  b: 1, # one\n"],
        [],
    )


def test_removing_the_first_key_of_an_item_moves_the_next_one_to_the_dash() -> None:
    text = "- a: 1 # one\n  b: 2 # two\n  c: 3\n"
    assert edited(text, remover(0, "a")) == "- b: 2 # two\n  c: 3\n"


def test_removing_the_first_keys_of_an_item_keeps_the_comment_of_the_next() -> None:
    text = "- a: 1\n  b: 2\n  # about c\n  c: 3\n"
    assert edited(text, lambda d: (d[0].pop("a"), d[0].pop("b"))) == "-\n  # about c\n  c: 3\n"


def test_removing_the_last_key_takes_its_line_only() -> None:
    assert change_of(ROBOT, remover("actors", 0, "components", 0, "kv")) == (
        ["        kv: 2.0\n"],
        [],
    )


def test_removing_a_key_with_a_nested_value_takes_all_of_its_lines() -> None:
    text = "a: 1\nb:\n  c:\n    - 1\n    - 2 # two\n# about d\nd: 3\n"
    assert edited(text, remover("b")) == "a: 1\n# about d\nd: 3\n"


def test_removing_the_only_key_leaves_an_empty_mapping() -> None:
    assert edited("a: # why\n  b: 1\nc: 2\n", remover("a", "b")) == "a: {} # why\nc: 2\n"
    assert edited("a: {b: 1}\nc: 2\n", remover("a", "b")) == "a: {}\nc: 2\n"
    assert edited("- b: 1\n- 2\n", remover(0, "b")) == "- {}\n- 2\n"


def test_removing_keys_of_a_flow_mapping_takes_their_commas() -> None:
    text = "{a: 1, b: 2, c: 3}"
    assert edited(text, remover("a")) == "{b: 2, c: 3}"
    assert edited(text, remover("b")) == "{a: 1, c: 3}"
    assert edited(text, remover("c")) == "{a: 1, b: 2}"
    assert edited(text, lambda d: (d.pop("b"), d.pop("c"), d.update(e=5))) == "{a: 1, e: 5}"


# Lists ------------------------------------------------------------------------------------------


def test_an_appended_item_is_new_lines_behind_the_last_one() -> None:
    item = {"type": "PDController", "kp": {"a": 1}}
    went, came = change_of(ROBOT, lambda d: d["actors"][0]["components"].append(item))
    assert (went, came) == ([], ["      - type: PDController\n", "        kp: {a: 1}\n"])


def test_an_item_is_inserted_in_front_and_between() -> None:
    text = "a:\n  # list\n  - 1 # one\n  - 2\n"
    assert (
        edited(text, lambda d: d["a"].insert(0, 0)) == "a:\n  # list\n  - 0\n  - 1 # one\n  - 2\n"
    )
    assert (
        edited(text, lambda d: d["a"].insert(1, 9)) == "a:\n  # list\n  - 1 # one\n  - 9\n  - 2\n"
    )


def test_removing_an_item_takes_its_lines_only() -> None:
    assert change_of(ROBOT, remover("actors", 0, "components", 1)) == (
        ["      - type: TrotGait   # walks\n"],
        [],
    )


def test_removing_one_of_two_items_alike_takes_that_one() -> None:
    text = "- type: A\n  x: 1 # first\n- type: A\n  x: 2 # second\n"
    assert edited(text, remover(0)) == "- type: A\n  x: 2 # second\n"


def test_items_change_in_a_list_within_a_list() -> None:
    text = "- - 1\n  - 2\n- - 3\n"
    assert edited(text, remover(0, 0)) == "- - 2\n- - 3\n"
    assert edited(text, lambda d: d[0].insert(0, 0)) == "- - 0\n  - 1\n  - 2\n- - 3\n"
    assert edited(text, lambda d: d[1].append(4)) == "- - 1\n  - 2\n- - 3\n  - 4\n"


def test_a_dash_in_a_comment_is_not_a_dash_of_the_list() -> None:
    text = "a:\n  - # one - or two\n    b: 1\n  - c\n"
    assert edited(text, remover("a", 0)) == "a:\n  - c\n"


def test_an_empty_list_is_filled() -> None:
    text = "components: [] # none yet\nb: 1\n"
    assert edited(text, setter("components", to=[{"type": "A", "kp": {"x": 1}}])) == (
        "components: # none yet\n  - type: A\n    kp: {x: 1}\nb: 1\n"
    )


def test_a_flow_list_grows_and_shrinks_in_place() -> None:
    text = "a: [ 1, 2,  3 ] # three\n"
    assert edited(text, lambda d: d["a"].append(4)) == "a: [ 1, 2,  3, 4 ] # three\n"
    assert edited(text, lambda d: d["a"].insert(0, 0)) == "a: [ 0, 1, 2,  3 ] # three\n"
    assert edited(text, remover("a", 1)) == "a: [ 1, 3 ] # three\n"
    assert edited(text, setter("a", to=[])) == "a: [] # three\n"


def test_a_pair_in_a_flow_list_gets_brackets_when_it_grows() -> None:
    assert edited("[a: 1, 2]", setter(0, "b", to=3)) == "[{a: 1, b: 3}, 2]"


# Whole texts ------------------------------------------------------------------------------------


def test_line_endings_of_new_lines_are_those_of_the_text() -> None:
    text = "a: 1\r\nb:\r\n  c: 2\r\nd: 3\r\n"
    after = edited(text, lambda d: (d["b"].update(e=[{"f": 1}]), d.update(g=4)))
    assert after == "a: 1\r\nb:\r\n  c: 2\r\n  e:\r\n    - f: 1\r\nd: 3\r\ng: 4\r\n"
    assert edited(text, remover("b")) == "a: 1\r\nd: 3\r\n"


@pytest.mark.parametrize("text", ["", "# only a comment", "# only a comment\n"])
def test_a_text_without_data_is_filled(text: str) -> None:
    start = text if not text or text.endswith("\n") else text + "\n"
    after = updated_text(Document(text, "f.yaml"), {"a": 1})
    assert after.rstrip("\n") == start + "a: 1"


def test_formatting_keeps_plain_collections_on_one_line() -> None:
    assert format_block({"a": {"b": 1, "c": [1, 2]}, "d": [1, 2]}, 2) == (
        "  a:\n    b: 1\n    c: [1, 2]\n  d: [1, 2]"
    )
    assert format_flow({"a": [1, {"b": None}]}) == "{a: [1, {b: null}]}"


@pytest.mark.parametrize("quote", ["'", '"'])
@pytest.mark.parametrize("text", ["a: {0}x{0}  # c\n", "a: [{0}x{0}, 2]\n", "- {0}x{0}\n- 2\n"])
@pytest.mark.parametrize("new", ["y", 'it\'s "so"', "a: b # c", "on", ""])
def test_a_text_keeps_its_quotes(text: str, quote: str, new: str) -> None:
    text = text.format(quote)
    keys = ("a",) if text.startswith("a: " + quote) else ("a", 0) if text[0] == "a" else (0,)
    written = edited(text, setter(*keys, to=new))
    before, _, after = text.partition(f"{quote}x{quote}")
    assert written.startswith(before + quote) and written.endswith(quote + after)


def test_each_number_of_a_vector_keeps_its_own_place() -> None:
    text = "at:\n  - 0   # x\n  - 0   # y\n  - 0.0 # z\nto: [ 2,0 , 0 ]\n"
    assert edited(text, setter("at", 1, to=5)) == text.replace("0   # y", "5   # y")
    assert edited(text, setter("to", 1, to=5)) == text.replace("[ 2,0 , 0 ]", "[ 2,5 , 0 ]")


# Anchors and aliases ----------------------------------------------------------------------------

SHARED = dedent("""\
    base: &gains
      kp: 1
      kv: 2
    one: *gains
    two:
      <<: *gains
      kv: 3
    """)


ONE = ("one: *gains\n", "one: &gains {kp: 1, kv: 2}\n")


@pytest.mark.parametrize(
    ("change", "gone", "come"),
    [
        (
            setter("base", "kp", to=9),
            ["base: &gains\n", "  kp: 1\n", ONE[0]],
            ["base:\n", "  kp: 9\n", ONE[1]],
        ),
        (remover("base"), ["base: &gains\n", "  kp: 1\n", "  kv: 2\n", ONE[0]], [ONE[1]]),
        (remover("base", "kp"), ["base: &gains\n", "  kp: 1\n", ONE[0]], ["base:\n", ONE[1]]),
        (
            setter("base", "kx", to=9),
            ["base: &gains\n", ONE[0]],
            ["base:\n", "  kx: 9\n", ONE[1]],
        ),
    ],
)
def test_a_changed_value_leaves_its_anchor_to_the_first_alias(
    change: Callable[[Any], object], gone: list[str], come: list[str]
) -> None:
    assert change_of(SHARED, change) == (gone, come)


MERGED = dedent("""\
    base: &gains
      kp: 1 # base
    one:
      <<: *gains # as base
      kv: 3
    """)


@pytest.mark.parametrize(
    ("change", "after"),
    [
        (
            setter("base", "kp", to=9),
            MERGED.replace("kp: 1", "kp: 9").replace("as base\n", "as base\n  kp: 1\n"),
        ),
        (
            setter("base", "kx", to=9),
            MERGED.replace("one", "  kx: 9\none").replace("*gains", "{kp: 1}"),
        ),
        (remover("base"), "one:\n  <<: &gains {kp: 1} # as base\n  kv: 3\n"),
        (remover("one", "kp"), MERGED.replace("*gains", "{}")),
        (remover("one"), MERGED[: MERGED.index("one")]),
    ],
)
def test_what_merges_a_mapping_keeps_its_values(
    change: Callable[[Any], object], after: str
) -> None:
    assert edited(MERGED, change) == after


@pytest.mark.parametrize(
    ("text", "change", "line"),
    [
        ("one: *gains\n", setter("one", "kp", to=9), "one: {kp: 9, kv: 2}\n"),
        ("one: *gains   # same\n", setter("one", "kp", to=9), "one: {kp: 9, kv: 2}   # same\n"),
        ("one: *gains\n", setter("one", to=5), "one: 5\n"),
        ("one: [*gains, 1]\n", setter("one", 0, "kv", to=3), "one: [{kp: 1, kv: 3}, 1]\n"),
        ("one:\n  - *gains\n", setter("one", 0, "kv", to=3), "  - {kp: 1, kv: 3}\n"),
    ],
)
def test_an_alias_that_says_something_of_its_own_is_written_out(
    text: str, change: Callable[[Any], object], line: str
) -> None:
    text = "base: &gains\n  kp: 1\n  kv: 2\n" + text
    old = next(written for written in text.splitlines(keepends=True) if "*gains" in written)
    assert change_of(text, change) == ([old], [line])


def test_an_entry_that_is_an_alias_can_be_removed() -> None:
    assert change_of(SHARED, remover("one")) == (["one: *gains\n"], [])


def test_a_key_can_be_added_behind_an_alias() -> None:
    text = "a: &x {b: 1}\nc:\n  d: *x # shared\ne: 1\n"
    assert change_of(text, setter("c", "f", to=2)) == ([], ["  f: 2\n"])


def test_a_merged_key_gets_an_entry_of_its_own_when_it_changes() -> None:
    assert change_of(SHARED, setter("two", "kp", to=9)) == ([], ["  kp: 9\n"])


def test_items_next_to_an_aliased_item_can_change() -> None:
    text = "a: &x 1\nb:\n  - *x\n  - 2\n"
    assert edited(text, setter("b", 1, to=3)) == "a: &x 1\nb:\n  - *x\n  - 3\n"
    assert edited(text, remover("b", 0)) == "a: &x 1\nb:\n  - 2\n"


def test_an_anchor_nobody_uses_does_not_stand_in_the_way() -> None:
    assert edited("a: &x\n  b: 1\nc: 2\n", setter("a", "b", to=5)) == "a: &x\n  b: 5\nc: 2\n"
    assert edited("a: &x\n  b: 1\nc: 2\n", setter("a", to=5)) == "a: 5\nc: 2\n"
    assert edited("a: &x 1\n", setter("a", to=5)) == "a: 5\n"


# Items that are known by identity ---------------------------------------------------------------

BLOCK = dedent("""\
    all: # every one
      # about a
      - name: a # first
        x: 1
        # end of a
      - {name: b} # second
      - name: c # third
    z: 1
    """)
BRACKETS = dedent("""\
    all: [ # every one
      # about a
      {name: a, x: 1}, # first
      {name: b}, # second
      {name: c} # third
    ]
    z: 1
    """)


def reordered(text: str, order: str, **renamed: str) -> str:
    """The text with the items of `all` in this order; new names are those of new items."""
    document = Document(text, "f.yaml")
    tokens = {item["name"]: object() for item in document.data["all"]}
    items = {item["name"]: item for item in document.data["all"]}
    chosen = [{**items.get(n, {}), "name": renamed.get(n, n)} for n in order]
    before, after = (
        ItemTree(None, {"all": ItemTree(tuple(tokens.get(n, object()) for n in names))})
        for names in (list(tokens), order)
    )
    new = updated_text(document, {**document.data, "all": chosen}, after, before)
    assert Document(new, "f.yaml").data == {**document.data, "all": chosen}
    return new


@pytest.mark.parametrize("text", [BLOCK, BRACKETS], ids=["block", "brackets"])
@pytest.mark.parametrize("order", ["abc", "acb", "bac", "bca", "cab", "cba", "cbax", "xcba"])
def test_moved_items_keep_all_comments(text: str, order: str) -> None:
    new = reordered(text, order, a="c", c="a")  # names that others have
    assert sorted(re.findall("#.*", new)) == sorted(re.findall("#.*", text))
    if text is BLOCK:
        assert "  # about a\n  - name: c # first\n    x: 1\n    # end of a\n" in new
        assert "  - {name: b} # second\n" in new


@pytest.mark.parametrize(
    ("order", "notes"),
    [("ab", "first second"), ("bc", "second third"), ("ac", "first third"), ("ca", "third first")],
)
@pytest.mark.parametrize("text", [BLOCK, BRACKETS], ids=["block", "brackets"])
def test_removed_items_take_only_their_own_comments(text: str, order: str, notes: str) -> None:
    assert set(notes.split()) <= set(re.findall("# (first|second|third)", reordered(text, order)))


def test_other_items_in_the_place_of_all_leave_the_comment_of_the_list() -> None:
    assert reordered(BRACKETS, "xy").startswith("all: [ # every one\n")
    assert reordered(BLOCK, "xy").startswith("all: # every one\n")


# Any document, any edits ------------------------------------------------------------------------

NAMES = st.text("abxy_ 1.*':,#", min_size=1, max_size=4)
# A text that reads as a number counts as that number, so `exactly the new data` needs others.
TEXTS = st.text("ab c:#-,[]{}'\"\n|>é%@&*!?\t", max_size=8).filter(lambda t: not same(t, _float(t)))
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**6), 10**6),
    st.floats(allow_nan=False),
    TEXTS,
    st.sampled_from(["on", "null", "~", "-", "?", "=", "<<", "2026-01-01", ".*_hip|x", "0x1F"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=10,
)
DOCUMENTS = st.dictionaries(NAMES, VALUES, min_size=1, max_size=5)
STYLES = st.sampled_from([True, False, None])


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def containers(data: Any) -> list[Any]:
    """Every list and mapping in the data."""
    inside = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    found = [c for item in inside for c in containers(item)]
    return [data, *found] if isinstance(data, dict | list) else found


def edit_somewhere(draw: st.DrawFn, data: Any) -> None:
    """Replace, add, remove or rename one entry of one collection."""
    place = draw(st.sampled_from(containers(data)))
    what = draw(st.sampled_from(["replace", "add", "remove", "rename"]))
    if what == "add" or not place:
        if isinstance(place, dict):
            items = [*place.items()]
            items.insert(draw(st.integers(0, len(place))), (draw(NAMES), draw(VALUES)))
            place.clear()
            place.update(items)
        else:
            place.insert(draw(st.integers(0, len(place))), draw(VALUES))
        return
    key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
    if what == "rename" and isinstance(place, dict):
        rename_key(place, str(key), draw(NAMES))
    elif what in ("replace", "rename"):
        place[key] = draw(VALUES)
    elif place is not data or len(data) > 1:
        del place[key]


@st.composite
def edit_sequences(draw: st.DrawFn) -> tuple[str, list[Any]]:
    """A text and the states its data goes through."""
    data = draw(DOCUMENTS)
    text = yaml.safe_dump(data, default_flow_style=draw(STYLES), sort_keys=False)
    text = with_comments(draw, text)
    states = []
    for _ in range(draw(st.integers(1, 4))):
        data = deepcopy(data)
        edit_somewhere(draw, data)
        states.append(data)
    return draw(st.sampled_from([text, text.replace("\n", "\r\n"), text.rstrip("\n")])), states


def with_comments(draw: st.DrawFn, text: str) -> str:
    """Comments and blank lines between the lines, where they do not end up inside a text."""
    lines = text.splitlines(keepends=True)
    extra = st.sampled_from(["", "", "", "# note - a: b\n", "      # deep\n", "\n"])
    sprinkled = "".join(draw(extra) + line for line in lines)
    before, after = Document(text, "f.yaml").data, None
    try:
        after = Document(sprinkled, "f.yaml").data
    except SceneError:
        return text
    return sprinkled if after == before else text


@pytest.mark.campaign
@settings(max_examples=amount(100, 3000), deadline=None, derandomize=not CAMPAIGN)
@given(edit_sequences())
def test_any_edits_of_any_document_give_a_text_that_says_exactly_the_new_data(
    case: tuple[str, list[Any]],
) -> None:
    text, states = case
    for data in states:
        text = updated_text(Document(text, "f.yaml"), data)
        assert Document(text, "f.yaml").data == data


@pytest.mark.campaign
@settings(max_examples=amount(50, 3000), deadline=None, derandomize=not CAMPAIGN)
@given(DOCUMENTS, VALUES, VALUES, STYLES)
def test_any_edit_of_an_alias_or_its_anchor_leaves_the_other_as_it_was(
    data: dict[str, Any], shared: Any, other: Any, style: bool | None
) -> None:
    assume(not same(shared, other))
    dumped = yaml.safe_dump({"rest": data}, default_flow_style=style)
    text = f"anchor: &it {format_flow(shared)}\nalias: *it\n"
    text = text + dumped if not dumped.startswith("{") else text
    document = Document(text, "f.yaml")
    for key in ("alias", "anchor"):
        changed = {**document.data, key: other}
        assert Document(updated_text(document, changed), "f.yaml").data == changed
        del changed[key]
        assert Document(updated_text(document, changed), "f.yaml").data == changed
    assert (document.text, document.data["anchor"]) == (text, shared)


@pytest.mark.campaign
@settings(max_examples=amount(80, 3000), deadline=None, derandomize=not CAMPAIGN)
@given(DOCUMENTS)
def test_any_data_formatted_as_a_block_reads_back_as_itself(data: dict[str, Any]) -> None:
    assert Document(format_block(data, 0) + "\n", "f.yaml").data == data
