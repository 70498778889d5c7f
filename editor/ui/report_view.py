"""Reports in panels: verdicts, tables, curves and lists, as pages and the terminal show them."""

from collections.abc import Callable, Sequence

import numpy as np
from imgui_bundle import ImVec2, ImVec4, imgui, implot

from mjrig.editor.ui.colours import AMBER, GREEN, GREY, RED, TEXT
from mjrig.editor.ui.layout import px
from mjrig.lab.report.content import Report, ReportCurves, ReportFindings, ReportTable, ReportText

#: Colours of what a verdict, a row or a line means.
TONES = {"good": GREEN, "fair": AMBER, "bad": RED, "dim": GREY}
BLUE = ImVec4(0.4, 0.75, 1.0, 1.0)
#: Looks of curves: colour and width.
LOOKS = {
    "blue": (BLUE, 2.0),
    "orange": (AMBER, 1.5),
    "dashed": (GREY, 1.0),
    "wide": (ImVec4(GREY.x, GREY.y, GREY.z, 0.6), 5.0),
}
_SPAN = ImVec4(0.9, 0.7, 0.2, 0.18)
_TABLE = int(
    imgui.TableFlags_.row_bg
    | imgui.TableFlags_.borders_inner_v
    | imgui.TableFlags_.sizing_fixed_fit
    | imgui.TableFlags_.scroll_x
)
#: Above the plot, side by side: next to the curves, not on them.
LEGEND = int(implot.LegendFlags_.outside | implot.LegendFlags_.horizontal)
PLOT = int(implot.Flags_.no_title | implot.Flags_.no_menus)
FIT = int(implot.AxisFlags_.auto_fit)


def draw_report(report: Report, below_item: Callable[[int], None] = lambda i: None) -> None:
    """The verdict, the facts and all sections but figures; `below_item` may add buttons."""
    imgui.text_colored(TONES.get(report.tone, TEXT), report.verdict)
    for name, value in report.facts:
        draw_note(f"{name}: {value}")
    for section in report.sections:
        if isinstance(section, ReportFindings):
            for i, item in enumerate(section.items):
                draw_note(f"{i + 1}. {item.text}", TONES.get(item.tone, AMBER))
                if item.remedy:
                    draw_note(item.remedy)
                below_item(i)
        elif isinstance(section, ReportText) and not section.page_only:
            for line in section.lines:
                draw_note(f"{section.title}: {line}")
        elif isinstance(section, ReportTable) and section.rows:
            imgui.text(section.title)
            draw_table(section.title, section, most_rows=12)


def draw_note(text: str, colour: ImVec4 = GREY) -> None:
    """A line that is wrapped."""
    imgui.push_style_color(imgui.Col_.text, colour)
    imgui.text_wrapped(text)
    imgui.pop_style_color()


def draw_table(
    label: str,
    table: ReportTable,
    *,
    most_rows: int | None = None,
    colours: Sequence[ImVec4 | None] = (),
    chosen: Callable[[int], bool] | None = None,
    choose: Callable[[int], None] = lambda row: None,
) -> None:
    """Rows in the colours of their tones, then remarks.

    Args:
        label: its id.
        table: what is drawn.
        most_rows: so many are visible without scrolling; None: all.
        colours: of the first cells.
        chosen: whether a row is chosen; given: a click chooses one.
        choose: called with the row that is clicked.
    """
    count = len(table.rows) if most_rows is None else min(len(table.rows), most_rows)
    if not count:
        return
    # As high as its rows, with its scroll bar below. The id has the columns in it: imgui keeps
    # widths by id.
    size = ImVec2(0, imgui.get_text_line_height_with_spacing() * (count + 2) + 4)
    flags = _TABLE | (0 if most_rows is None else int(imgui.TableFlags_.scroll_y))
    name = f"{label} {len(table.columns)}"
    if imgui.begin_table(name, len(table.columns), flags, size):
        for i, head in enumerate(table.heads):
            imgui.table_setup_column(f"{head}##{i}")
        imgui.table_setup_scroll_freeze(1, 1)
        imgui.table_headers_row()
        for i, cells in enumerate(table.cells):
            imgui.table_next_row()
            tone = TONES.get(table.tone(i))
            for k, text in enumerate(cells):
                imgui.table_next_column()
                colour = colours[i] if colours and not k else tone
                if k == 0 and chosen is not None:
                    span = int(imgui.SelectableFlags_.span_all_columns)
                    if imgui.selectable(f"{text}###{i}", chosen(i), span)[0]:
                        choose(i)
                else:
                    imgui.text_colored(TEXT if colour is None else colour, text)
        imgui.end_table()
    for line in table.labelled_remarks:
        draw_note(line)


def draw_curves(curves: ReportCurves, height: float, y_label: str = "") -> None:
    """A plot with its legend above."""
    if not implot.begin_plot(f"##{curves.title}", ImVec2(-1, height), PLOT):
        return
    x_label = f"t [{curves.x_unit}]" if curves.x_unit else ""
    implot.setup_axes(x_label, y_label or f"{curves.title} [{curves.unit}]", FIT, FIT)
    implot.setup_legend(implot.Location_.north, LEGEND)
    if curves.spans:
        _shade(curves)
    for one in curves.series:
        spec = implot.Spec()
        spec.line_color, width = LOOKS[one.look]
        spec.line_weight = px(width)
        x, y = (np.ascontiguousarray(values, float) for values in (one.x, one.y))
        implot.plot_line(one.label, x, y, spec)
    implot.end_plot()


def _shade(curves: ReportCurves) -> None:
    """The spans of x, and their meaning in the legend."""
    spec = implot.Spec()
    spec.fill_color = spec.line_color = spec.marker_fill_color = _SPAN
    implot.plot_dummy(curves.spans_label, spec)
    paint, limits = implot.get_plot_draw_list(), implot.get_plot_limits()
    colour = imgui.color_convert_float4_to_u32(_SPAN)
    implot.push_plot_clip_rect()
    for low, high in curves.spans:
        corners = (
            implot.plot_to_pixels(low, limits.y.max),
            implot.plot_to_pixels(high, limits.y.min),
        )
        paint.add_rect_filled(*corners, colour)
    implot.pop_plot_clip_rect()
