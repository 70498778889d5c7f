"""How findings are merged, ordered and shown."""

from mjrig.core.findings import error, note, warning
from mjrig.lab.findings.ranking import arrange, count_by_severity, lines


def test_equal_findings_are_merged() -> None:
    (finding,) = arrange(warning("no-shape", "dog", (n,)) for n in ("hip", "knee", "hip"))
    assert finding.names == ("hip", "knee")
    assert finding.where == "dog.(hip, knee)"


def test_findings_that_differ_stay_separate() -> None:
    findings = [
        warning("motor-curve", "dog", ("hip",), motor="a"),
        warning("motor-curve", "cat", ("tail",), motor="a"),
        warning("motor-curve", "dog", ("knee",), motor="b"),
        note("motor-curve", "dog", ("foot",), motor="a"),
    ]
    assert len(arrange(findings)) == 4


def test_findings_about_copies_are_merged() -> None:
    actors = ("dog_0", "dog_1")
    (finding,) = arrange(warning("no-shape", a, (n,)) for a in actors for n in ("hip", "knee"))
    assert finding.where == "dog_0.hip, dog_0.knee, dog_1.hip, dog_1.knee"
    (finding,) = arrange(note("no-shape", a, ("hip",), spelled=True) for a in actors)
    assert finding.paths == ["dog_0", "dog_1"]
    (finding,) = arrange(note("no-shape", a) for a in actors)
    assert finding.paths == ["dog_0", "dog_1"]


def test_the_most_severe_come_first() -> None:
    findings = [
        note("float32", "dog"),
        warning("no-shape", "dog"),
        warning("no-gains", "dog"),
        error("no-range", "dog"),
    ]
    kinds = ["no-range", "no-gains", "no-shape", "float32"]
    assert [f.kind for f in arrange(findings)] == kinds


def test_the_place_of_a_finding() -> None:
    assert note("no-shape", "dog", ("hip",)).where == "dog.hip"
    assert note("no-shape", "dog").where == "dog"
    assert note("no-shape", "").where == "world"
    assert note("no-shape", "", ("dog/floor", "cat/floor")).where == "dog/floor, cat/floor"


def test_a_long_list_is_cut_in_the_text_only() -> None:
    names = [f"j{i}" for i in range(10)]
    finding = note("no-shape", "dog", names)
    assert finding.where == "dog.(j0, j1, j2, j3, j4, j5, j6, j7, … 10 in all)"
    assert finding.data()["where"] == [f"dog.{n}" for n in names]


def test_names_in_the_text_are_not_repeated() -> None:
    finding = note("no-shape", "dog", ("hip",), spelled=True)
    assert (finding.where, finding.paths) == ("dog", ["dog.hip"])


def test_lines_have_severity_kind_and_fix() -> None:
    findings = [warning("no-limit", "dog", ("hip",)), note("no-range", "dog")]
    first, fix, last = lines(findings)
    assert first.startswith("  warning [no-limit] dog.hip: ")
    assert fix.startswith("    fix: torque_limit: ")
    assert last.startswith("  note [no-range] dog: ")


def test_the_count_names_each_severity() -> None:
    one, two = error("no-limit", "dog"), note("no-limit", "dog")
    assert count_by_severity([one, two, two]) == "1 error, 2 notes"
    assert count_by_severity([]) == "none"
