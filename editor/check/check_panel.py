"""The check panel: findings of the pre-flight with what they are about, and the binding table."""

from collections.abc import Sequence

from imgui_bundle import imgui

from mjrig.check.check import ActuatorRow
from mjrig.check.finding import Finding, Level
from mjrig.check.remedy import Remedy
from mjrig.editor.check.preflight import Preflight
from mjrig.editor.session.state import EditorState
from mjrig.editor.texts.texts import tr
from mjrig.editor.ui.colours import AMBER, GREEN, GREY, RED
from mjrig.editor.ui.panel import Panel

COLOURS = {Level.ERROR: RED, Level.WARNING: AMBER, Level.NOTE: GREY}
_TABLE = imgui.TableFlags_.row_bg | imgui.TableFlags_.borders_inner_v | imgui.TableFlags_.resizable
_HEADER = ("actuator", "joint", "kind", "gear", "driven by", "execution")


class CheckPanel(Panel):
    """What `mjrig check` says about the scene as it is edited now."""

    title = "Check"
    place = "bottom"

    def __init__(self, state: EditorState) -> None:
        super().__init__(state)
        self.preflight = Preflight(state)

    def draw(self) -> None:
        text, level = self.preflight.badge
        imgui.text_colored(GREEN if level is None else COLOURS[level], text)
        if self.preflight.is_running:
            imgui.same_line()
            imgui.text_colored(GREY, tr("checking…"))
        for problem in (self.preflight.problem, self.state.problems.get("check")):
            if problem:
                imgui.text_wrapped(problem)
        checked = self.preflight.latest
        if checked is None:
            return
        for i, finding in enumerate(checked.findings):
            imgui.push_id(i)
            self._finding(finding)
            imgui.pop_id()
        for actor, rows in checked.tables.items():
            bound = sum(1 for row in rows if not row.reason)
            if imgui.collapsing_header(
                tr(
                    "{actor}: {count} actuators, {bound} bound to a law",
                    actor=actor,
                    count=len(rows),
                    bound=bound,
                )
            ):
                self._bindings(actor, rows)

    def _finding(self, finding: Finding) -> None:
        imgui.text_colored(COLOURS[finding.level], str(finding.level))
        imgui.same_line()
        if imgui.text_link(finding.where):
            self._select(finding)
        imgui.set_item_tooltip(tr("Select it"))
        imgui.indent()
        imgui.text_wrapped(finding.text)
        if finding.fix:
            imgui.push_style_color(imgui.Col_.text, GREY)
            imgui.text_wrapped(finding.fix)
            imgui.pop_style_color()
        self._remedies(finding)
        imgui.unindent()

    def _remedies(self, finding: Finding) -> None:
        """A button for each way out; without one, why there is none."""
        if finding.by_hand:
            imgui.push_style_color(imgui.Col_.text, GREY)
            imgui.text_wrapped(tr("by hand: {why}", why=finding.by_hand))
            imgui.pop_style_color()
        # While an edit is being checked, the findings are those of the scene before it.
        imgui.begin_disabled(self.preflight.is_running)
        for i, remedy in enumerate(finding.remedies):
            label = tr("Fix: {remedy}", remedy=remedy.text)
            if i and _fits(label):
                imgui.same_line()
            if imgui.small_button(f"{label}###fix{i}"):
                self.fix(finding, remedy)
            edits = "\n".join(map(str, remedy.edits))
            imgui.set_item_tooltip(tr("One edit, which can be undone:\n{edits}", edits=edits))
        imgui.end_disabled()

    def fix(self, finding: Finding, remedy: Remedy) -> bool:
        """Make a remedy, as one edit; returns whether the scene took it."""

        def edit() -> None:
            name = tr("Fix {where}: {remedy}", where=finding.where, remedy=remedy.text)
            with self.state.session.edit(name) as scene:
                remedy.apply(scene)

        return self.state.attempt(edit, "check")

    def _select(self, finding: Finding) -> None:
        """Select what a finding is about; joints and actuators by their own pages."""
        robot = self.state.simulation.world.articulations.get(finding.actor)
        if robot is None:
            self.state.selection.only("scene")
            return
        actuators = {b.actuator for b in robot.actuators}
        paths = []
        for name in finding.names:
            kind = "actuator:" if name in actuators else "joint:" * (name in robot.joint_names)
            paths.append(f"{finding.actor}.{kind}{name}")
        self.state.selection.paths = paths or [finding.actor]

    def _bindings(self, actor: str, rows: Sequence[ActuatorRow]) -> None:
        if not imgui.begin_table(f"bindings {actor}", len(_HEADER), int(_TABLE)):
            return
        for name in _HEADER:
            imgui.table_setup_column(name)
        imgui.table_headers_row()
        for row in rows:
            cells = (row.actuator, row.joint, row.kind, f"{row.gear:g}", row.owner, row.execution)
            imgui.table_next_row()
            for column, text in enumerate(cells):
                imgui.table_set_column_index(column)
                imgui.text_unformatted(text)
            if row.reason and imgui.is_item_hovered():
                imgui.set_tooltip(row.reason)
        imgui.end_table()


def _fits(label: str) -> bool:
    """Whether a small button still fits behind the last one."""
    style = imgui.get_style()
    width = imgui.calc_text_size(label).x + 2.0 * style.frame_padding.x + style.item_spacing.x
    right = imgui.get_cursor_screen_pos().x + imgui.get_content_region_avail().x
    return imgui.get_item_rect_max().x + width < right
