"""The menu bar, drawn from the list of commands."""

from collections.abc import Iterable

from imgui_bundle import imgui

from mjrig.editor.window.window_commands import Command, WindowCommands


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
        below: dict[str, list[Command]] = {}
        for command in commands:
            if command.menu == menu:
                self._entry(command)
            else:
                below.setdefault(command.menu, []).append(command)
        for path, entries in below.items():
            if imgui.begin_menu(path.rpartition("/")[2]):
                self._entries(path, entries)
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
