"""The menu bar, drawn from the list of commands."""

from collections.abc import Iterable

from imgui_bundle import imgui

from mjrig.editor.window.command import Command
from mjrig.editor.window.window_commands import WindowCommands


class Menus:
    """The menus of one window."""

    def __init__(self, commands: WindowCommands) -> None:
        self.commands = commands

    def draw(self) -> None:
        """Build the menus; the menu bar is open already."""
        for name, commands in self.commands.menus().items():
            if imgui.begin_menu(name):
                self._entries(name, list(commands()))
                imgui.end_menu()

    def _entries(self, menu: str, commands: Iterable[Command]) -> None:
        """The entries of one menu; a menu below it stands where its first entry is."""
        commands = list(commands)
        drawn: set[str] = set()
        for command in commands:
            below = command.menu[len(menu) + 1 :].partition("/")[0]
            path = f"{menu}/{below}"
            if not below:
                self._entry(command)
            elif path not in drawn:
                drawn.add(path)
                if imgui.begin_menu(below):
                    self._entries(path, [c for c in commands if c.menu.startswith(path)])
                    imgui.end_menu()

    @staticmethod
    def _entry(command: Command) -> None:
        if command.section == "-":
            imgui.separator()
        elif command.section:
            imgui.separator_text(command.section)
        label = f"{command.label}###{command.id}" if command.id else command.label
        if imgui.menu_item(label, command.keys, command.is_on, command.enabled)[0]:
            command.run()
