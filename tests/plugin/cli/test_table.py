"""Plain text tables."""

from mjrig.lab.report.output import format_table


def test_columns_are_aligned_numbers_to_the_right() -> None:
    assert format_table(("name", "kp"), [("hip", "5"), ("long_name", "120.5")]) == [
        "name          kp",
        "hip            5",
        "long_name  120.5",
    ]


def test_a_column_with_a_word_in_it_is_text() -> None:
    assert format_table(("a", "b"), [("1", "x"), ("no", "y")]) == ["a   b", "1   x", "no  y"]


def test_columns_that_hold_nothing_are_left_out() -> None:
    assert format_table(("a", "b", "c"), [("1", "", "2"), ("", "", "3")]) == [
        "a  c",
        "1  2",
        "   3",
    ]


def test_a_table_without_rows_is_empty() -> None:
    assert format_table(("a", "b"), []) == [""]


def test_lines_do_not_end_in_blanks() -> None:
    assert format_table(("a", "bbb"), [("x", ""), ("y", "z")]) == ["a  bbb", "x", "y  z"]
