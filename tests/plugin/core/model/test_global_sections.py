"""Everything a model says about all of itself is kept in a world, or refused.

MuJoCo's own schema is walked: an attribute that a new MuJoCo has appears here by itself.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.core.errors import ExecutionError, MjrigError, PropertyError
from mjrig.core.model.build import build
from mjrig.core.sim.mujoco_export import export
from mjrig.lab.check.preflight import findings
from tests.campaign import CAMPAIGN, Tally
from tests.mjcf_schema import Attribute, attributes, values
from tests.mjcf_walk import OTHER, differences, model_with, share_differs, write_files
from tests.wording import mentions, regex
from tests.worlds import refused

SECTIONS = ("compiler", "option", "size", "statistic", "visual", "custom", "extension")
#: Not an attribute with a value: a class is what the walk puts defaults into.
STRUCTURE = {"default/class"}
#: Values that no model compiles with in bare MuJoCo.
NEVER_VALID = {"compiler/coordinate"}
#: How far numbers may be off in an XML: the frames of meshes are computed anew.
XML = 1e-9

Case = tuple[str, dict[Attribute, str], bool]


def cases() -> Iterator[Case]:
    """Label, attributes, and whether they are in a nested class.

    In `make test` the compiler's attributes one by one, others of one element together.
    """
    for attribute in attributes("compiler"):
        yield from ((f"{attribute}={v}", {attribute: v}, False) for v in values(attribute))
    together: dict[str, dict[Attribute, str]] = {}
    for attribute in attributes(*SECTIONS[1:]):
        if attribute.name not in ("ipc", "key", "gravity") and attribute.path != "custom/tuple":
            together.setdefault(attribute.path, {})[attribute] = values(attribute)[0]
    yield from ((path, given, False) for path, given in together.items())
    if CAMPAIGN:
        for attribute in attributes(*SECTIONS[1:], "default"):
            for value in values(attribute):
                yield f"{attribute}={value}", {attribute: value}, False
                if attribute.path.startswith("default"):
                    yield f"{attribute}={value} in a class", {attribute: value}, True


@pytest.mark.parametrize("section", [*SECTIONS, "default"])
def test_every_attribute_of_the_schema_has_a_value_to_try(section: str) -> None:
    found = attributes(section)
    assert found
    assert [a for a in found if not values(a) and str(a) not in STRUCTURE] == []


def scene(folder: Path, *names: str) -> mjrig.Scene:
    return mjrig.Scene.from_data(
        {"actors": [{"name": name, "model": str(folder / f"{name}.xml")} for name in names]}
    )


def built(folder: Path, *names: str) -> Any:
    return build(scene(folder, *names)).model


@pytest.mark.campaign
@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_a_model_compiles_as_in_bare_mujoco(tmp_path: Path, tally: Tally) -> None:
    write_files(tmp_path)
    todo = list(cases())
    tried: dict[str, bool] = {}
    for _, (label, given, in_class) in zip(
        tally.cases("schema walk", len(todo), len(todo), minutes=15), todo, strict=False
    ):
        (tmp_path / "walked.xml").write_text(model_with(given, in_class=in_class))
        (tmp_path / "stone.xml").write_text(OTHER)
        name = str(next(iter(given)))
        try:
            bare = mujoco.MjModel.from_xml_path(str(tmp_path / "walked.xml"))
        except ValueError:
            tried[name] = tried.get(name, False)
            try:
                built(tmp_path, "walked")
            except MjrigError:
                continue
            tally.found(f"{label}: accepted, though bare MuJoCo refuses it")
            continue
        tried[name] = True
        try:
            for what in wrong(tmp_path, bare, given):
                tally.found(f"{label}: {what}")
        except MjrigError as error:
            tally.found(f"{label}: refused: {error}")
    if tally.tried == len(todo) and CAMPAIGN:
        assert {name for name, valid in tried.items() if not valid} == NEVER_VALID


@pytest.mark.campaign
@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_compiler_attributes_together_are_those_of_bare_mujoco(
    tmp_path: Path, tally: Tally
) -> None:
    write_files(tmp_path)
    every = [a for a in attributes("compiler") if str(a) not in NEVER_VALID]
    (tmp_path / "stone.xml").write_text(OTHER)
    for rng in tally.cases("compiler attributes together", 3, 3000, minutes=6):
        given = {a: rng.choice(values(a)) for a in rng.sample(every, rng.randint(2, 6))}
        label = ", ".join(f"{a.name}={value}" for a, value in given.items())
        (tmp_path / "walked.xml").write_text(model_with(given))
        try:
            bare = mujoco.MjModel.from_xml_path(str(tmp_path / "walked.xml"))
        except ValueError:
            with pytest.raises(MjrigError):
                built(tmp_path, "walked")
            continue
        try:
            if found := differences(bare, built(tmp_path, "walked")):
                tally.found(f"{label}: alone: {found}")
            if found := share_differs(bare, built(tmp_path, "stone", "walked"), "walked/"):
                tally.found(f"{label}: beside another: {found}")
        except MjrigError as error:
            tally.found(f"{label}: refused: {error}")


def wrong(folder: Path, bare: Any, given: dict[Attribute, str]) -> Iterator[str]:
    """What a world makes differently from bare MuJoCo: alone, beside another, and exported."""
    if found := differences(bare, built(folder, "walked")):
        yield f"alone: {found}"
    attribute = next(iter(given))
    if attribute.path.startswith("option"):
        yield from not_refused(folder, given)
        option = ElementTree.parse(folder / "walked.xml").getroot().find("option")
        assert option is not None
        same = ElementTree.tostring(option, encoding="unicode")
        (folder / "stone.xml").write_text(OTHER.replace("<option/>", same))
    for names in (("stone", "walked"), ("walked", "stone"))[: 2 if CAMPAIGN else 1]:
        world = built(folder, *names)
        if found := share_differs(bare, world, "walked/"):
            yield f"{' and '.join(names)}: {found}"
        if attribute.path == "statistic":
            said = [a.name for a in given]
            if any(np.any(getattr(bare.stat, n) != getattr(world.stat, n)) for n in said):
                yield f"{' and '.join(names)}: statistic"
    if CAMPAIGN or attribute.name in ("boundmass", "mode"):
        yield from lost_in_export(folder)


def not_refused(folder: Path, given: dict[Attribute, str]) -> Iterator[str]:
    """Options that the other model does not have must be refused, by name."""
    try:
        built(folder, "walked", "stone")
    except PropertyError as error:
        said = [a.name for a in given] + ["integrator"]  # which some flags need
        if not any(name in str(error) for name in said):
            yield f"refused for something else: {error}"
    else:
        yield "silently mixed with the options of another model"


def lost_in_export(folder: Path) -> Iterator[str]:
    """An exported file must compile to the world's own model."""
    for number, names in enumerate((("stone", "walked"), ("walked",))[: 2 if CAMPAIGN else 1]):
        # MuJoCo caches meshes by the names of their files.
        out = folder / f"exported_{len(list(folder.iterdir()))}_{number}"
        out.mkdir()
        try:
            export(scene(folder, *names), out / "world.xml")
        except ExecutionError:  # the file would not be the same, and was not written
            continue
        read = mujoco.MjModel.from_xml_path(str(out / "world.xml"))
        if found := differences(built(folder, *names), read, tolerance=XML):
            yield f"exported with {names}: {found}"


# One for the whole world ------------------------------------------------------------------------


def pair(folder: Path, first: str, second: str) -> mjrig.Scene:
    """Two models that differ in their global sections."""
    for name, text in (("one", first), ("two", second)):
        (folder / f"{name}.xml").write_text(f"<mujoco>{text}</mujoco>")
    return scene(folder, "one", "two")


def body(inside: str = "", actuator: str = "") -> str:
    return f"""<worldbody><body name="b"><joint name="j" range="-60 60" damping="1"/>
      <geom name="g" size=".1 .1 .1" pos="0 0 .2"/>{inside}</body></worldbody>
      <actuator>{actuator}</actuator>"""


def test_check_tells_of_what_models_say_differently(tmp_path: Path) -> None:
    one = '<visual><map znear="0.1"/><global fovy="30"/></visual><statistic extent="2"/>'
    two = '<visual><map znear="0.2"/><global azimuth="9"/></visual><statistic extent="2"/>'
    world = mjrig.World(pair(tmp_path, one + body(), two + body()))
    visual = world.model.vis
    assert (visual.map.znear, visual.global_.fovy) == (np.float32(0.1), 30)
    assert (visual.global_.azimuth, world.model.stat.extent) == (9, 2)
    (finding,) = [f for f in findings(world) if f.kind == "one-for-all"]
    assert finding.paths == ["world"]
    assert mentions(finding.text, "visual.map.znear 0.1 in 'one', 0.2 in 'two'")


def test_the_camera_of_one_model_is_not_that_of_two(tmp_path: Path) -> None:
    one = '<visual><global cameraid="0"/></visual>' + body('<camera name="eye"/>')
    world = mjrig.World(pair(tmp_path, body('<camera name="eye"/>'), one))
    assert world.model.vis.global_.cameraid == -1
    assert [f.kind for f in findings(world) if "cameraid" in f.text] == ["one-for-all"]


def test_one_model_cannot_switch_off_the_actuators_of_another(tmp_path: Path) -> None:
    off = '<option><flag actuation="disable"/></option>'
    with refused(
        PropertyError,
        "two.model: its <flag actuation=\"disable\"/> would switch off … 'one' …",
    ):
        build(pair(tmp_path, body(), off + body()))
    assert build(pair(tmp_path, off + body(), off + body())).model.opt.disableflags


def test_meshes_are_fitted_in_one_way(tmp_path: Path) -> None:
    mesh = '<asset><mesh name="m" vertex="0 0 0 .1 0 0 0 .2 0 0 0 .3"/></asset>'
    fitted = body('<geom type="box" mesh="m"/>')
    models = (mesh + fitted, '<compiler fitaabb="true"/>' + mesh + fitted)
    with pytest.raises(
        PropertyError, match="^" + regex("two.compiler.fitaabb: geoms of 'one' are fitted")
    ):
        build(pair(tmp_path, *models))
    both = pair(tmp_path, *models)
    both.actors[0].assign({"compiler": {"fitaabb": True}})
    built_ = build(both).model
    bare = mujoco.MjModel.from_xml_path(str(tmp_path / "two.xml"))
    assert (built_.geom("two/g").rbound == bare.geom("g").rbound).all()


def test_length_ranges_are_computed_in_each_models_own_way(tmp_path: Path) -> None:
    muscle = body(actuator='<muscle name="m" joint="j"/>')
    ways = [f"<compiler><lengthrange {w}/></compiler>" for w in ('uselimit="true"', 'accel="5"')]
    model = build(pair(tmp_path, *(way + muscle for way in ways))).model
    for name in ("one", "two"):
        bare = mujoco.MjModel.from_xml_path(str(tmp_path / f"{name}.xml"))
        mine = model.actuator_lengthrange[model.actuator(f"{name}/m").id]
        assert (mine == bare.actuator_lengthrange[0]).all(), name
