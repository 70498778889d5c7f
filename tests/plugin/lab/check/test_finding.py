"""How findings are merged, ordered and shown."""

from mjrig.core.findings import arranged, counted, error, lines_of, note, warning


def test_what_is_said_alike_is_said_once() -> None:
    found = arranged(warning("c", "dog", (n,), "text") for n in ("hip", "knee", "hip"))
    assert [f.names for f in found] == [("hip", "knee")]
    assert str(found[0]) == "dog.(hip, knee): text"


def test_what_differs_is_kept_apart() -> None:
    found = arranged(
        [
            warning("c", "dog", ("hip",), "text"),
            warning("c", "cat", ("tail",), "text"),
            warning("c", "dog", ("knee",), "other text"),
            note("c", "dog", ("foot",), "text"),
        ]
    )
    assert len(found) == 4


def test_what_is_said_of_each_copy_is_said_once() -> None:
    actors = ("dog_0", "dog_1")
    (finding,) = arranged(warning("c", a, (n,), "text") for a in actors for n in ("hip", "knee"))
    assert finding.where == "dog_0.hip, dog_0.knee, dog_1.hip, dog_1.knee"
    (finding,) = arranged(note("c", a, ("hip",), "hip 3", spelled=True) for a in actors)
    assert str(finding) == "dog_0, dog_1: hip 3"
    (finding,) = arranged(note("c", a, (), "text") for a in actors)
    assert finding.paths == ["dog_0", "dog_1"]


def test_the_worst_comes_first() -> None:
    found = arranged(
        [
            note("a", "dog", (), ""),
            warning("z", "dog", (), ""),
            warning("b", "dog", (), ""),
            error("y", "dog", (), ""),
        ]
    )
    assert [f.code for f in found] == ["y", "b", "z", "a"]


def test_where_it_is() -> None:
    assert note("c", "dog", ("hip",), "").where == "dog.hip"
    assert note("c", "dog", (), "").where == "dog"
    assert note("c", "", (), "").where == "world"
    assert note("c", "", ("dog/floor", "cat/floor"), "").where == "dog/floor, cat/floor"


def test_a_long_list_is_cut_for_the_eye_only() -> None:
    names = [f"j{i}" for i in range(10)]
    finding = note("c", "dog", names, "text")
    assert finding.where == "dog.(j0, j1, j2, j3, j4, j5, j6, j7, … 10 in all)"
    assert finding.data()["where"] == [f"dog.{n}" for n in names]


def test_names_in_the_text_are_not_said_twice() -> None:
    finding = note("c", "dog", ("hip",), "hip 3 N·m", spelled=True)
    assert str(finding) == "dog: hip 3 N·m"
    assert finding.paths == ["dog.hip"]


def test_lines_have_level_code_and_fix() -> None:
    found = [warning("loose", "dog", ("hip",), "is loose", "tighten it"), note("c", "dog", (), "t")]
    assert lines_of(found) == [
        "  warning [loose] dog.hip: is loose",
        "    fix: tighten it",
        "  note [c] dog: t",
    ]


def test_the_count_names_each_level() -> None:
    one, two = error("c", "dog", (), ""), note("c", "dog", (), "")
    assert counted([one, two, two]) == "1 error, 2 notes"
    assert counted([]) == "none"
