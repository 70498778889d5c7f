"""Options: what a command accepts, declared once with the property kinds.

A class derived from `Options` declares the options of a command; classes that several commands
share are its bases. `command` makes the sub-command: argparse, help pages and docs/commands.md
follow from the declarations, and so do the forms of the editor. `mjrig --help` imports this module,
so neither it nor the property kinds load NumPy.
"""

import argparse
import math
from abc import ABC
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from mjrig.cli.terminal import examples as add_examples
from mjrig.core.errors import PropertyError
from mjrig.core.properties import scalar_kinds
from mjrig.core.properties.declaration import Bounds, Property, number
from mjrig.core.properties.has_properties import HasProperties

T = TypeVar("T")
#: Category of properties that belong to no group of options.
_GENERAL = "General"


class Option(Property[T], ABC):
    """One option of a command: a property, and how it is written on a command line.

    Args:
        default: the value when the option is not given; a required one starts a form with it.
        doc: help text and tooltip; unit and default follow it.
        form: stands for the value in the help.
        flag: `--name-of-the-property` if empty.
        short: a second flag of one letter.
        positional: an argument without a flag.
        required: a command line must contain it.
        otherwise: the default in words; empty: not shown.
        initial: value that a form begins with if an option without a default is switched on.
        about: fields of `Property`; `category` is the heading of a group of options.
    """

    def __init__(
        self,
        default: Any,
        doc: str,
        form: str = "",
        *,
        flag: str = "",
        short: str = "",
        positional: bool = False,
        required: bool = False,
        otherwise: str | None = None,
        initial: Any = None,
        **about: Any,
    ) -> None:
        super().__init__(default, doc=doc, **about)
        self.initial = initial
        self.form, self.flag, self.short = form, flag, short
        self.positional, self.required, self.otherwise = positional, required, otherwise

    def read(self, text: str) -> T:
        """The value that a text of the command line stands for.

        Raises:
            ArgumentTypeError: it does not fit.
        """
        try:
            return self.accept(_OnCommandLine, text)[1]
        except PropertyError as error:
            raise argparse.ArgumentTypeError(str(error).partition(": ")[2]) from None

    def argument(self) -> dict[str, Any]:
        """The arguments of `add_argument` that depend on the kind."""
        return {"type": self.read, "metavar": self.form or None}

    def default_text(self) -> str:
        is_shown = not self.required and self.default not in (None, "", ())
        return str(self.default) if is_shown else ""

    def help_text(self) -> str:
        """The documentation with unit and default."""
        unit = f" [{self.unit}]" if self.unit else ""
        default = self.default_text() if self.otherwise is None else self.otherwise
        return f"{self.doc}{unit}{f' ({default})' if default else ''}".replace("%", "%%")

    def add_to(self, container: Any) -> None:
        """Add the option to a parser or one of its groups."""
        about = {"default": argparse.SUPPRESS, "help": self.help_text()} | self.argument()
        if self.positional:
            container.add_argument(self.name, **about)
            return
        flags = [self.short, self.flag or f"--{self.name.replace('_', '-')}"]
        about |= {"dest": self.name, "required": self.required}
        container.add_argument(*filter(None, flags), **about)


class _OnCommandLine:
    """Stands in for an instance while its values are read."""

    label = "option"


# Kinds --------------------------------------------------------------------------------------------


class Flag(Option[bool], scalar_kinds.Bool):
    """A switch, which is off unless it is given."""

    def __init__(self, doc: str, **about: Any) -> None:
        super().__init__(False, doc, **about)

    def argument(self) -> dict[str, Any]:
        return {"action": "store_true"}

    def default_text(self) -> str:
        return ""


class _Number(Option[T]):
    """A number or its text, finite if it has a range; None if that is the default."""

    bounds: Bounds
    noun: ClassVar[str] = "finite number"

    def accept(self, obj: Any, value: object) -> tuple[object, Any]:
        if value is None and self.default is None:
            return None, None
        result = number(value)
        low, high, text = self.bounds.low, self.bounds.high, self.range_text()
        is_bad = result is None or not math.isfinite(result) or self.bounds.problem(result)
        if result is None or (text and is_bad):
            if math.isfinite(low) and math.isfinite(high):
                text = f"from {low:g} to {high:g}"
            raise self.error(obj, f"must be a {self.noun}{f' {text}' if text else ''}, got {value}")
        return result, result

    def default_text(self) -> str:
        return "" if self.required or self.default is None else f"{self.default:g}"


class FloatOption(_Number[float], scalar_kinds.Float):
    """A real number."""


class OptionalFloatOption(_Number[float | None], scalar_kinds.OptionalFloat):
    """A real number, or None."""


class IntOption(_Number[int], scalar_kinds.Int):
    """A whole number."""

    noun = "whole number"

    def accept(self, obj: Any, value: object) -> tuple[Any, Any]:
        result = super().accept(obj, value)[1]
        if result is None:
            return None, None
        if not result.is_integer():
            raise self.error(obj, f"must be a whole number, got {value}")
        try:
            whole = int(str(value))  # a float is not exact beyond 2**53
        except ValueError:
            whole = int(result)
        return whole, whole


class OptionalIntOption(IntOption):
    """A whole number, or None."""


class TextOption(Option[Any], scalar_kinds.Text):
    """A text; None if that is the default."""

    def accept(self, obj: Any, value: object) -> tuple[Any, Any]:
        if value is None and self.default is None:
            return None, None
        return scalar_kinds.Text.accept(self, obj, value)


class OneOf(Option[Any]):
    """One of a few words; None or empty if that is the default.

    The words are written out: the enumerations they belong to are not loaded for a help page.
    """

    kind = "choice"

    def __init__(self, choices: Sequence[str], default: Any, doc: str, **about: Any) -> None:
        super().__init__(default, doc, **about)
        self.choices = tuple(choices)

    def accept(self, obj: Any, value: object) -> tuple[Any, Any]:
        if value != self.default and value not in self.choices:
            raise self.error(obj, f"must be one of {', '.join(self.choices)}; got {value!r}")
        return value, value

    def argument(self) -> dict[str, Any]:
        return {"choices": self.choices, "metavar": self.form or None}


class Parsed(Option[Any]):
    """A value with a syntax: `parse` reads a text, and raises ValueError in plain words.

    Args:
        many: `append`: the option can be repeated; `+`, `*`: it takes several words; `?`: it takes
            one or none. With the first three the value is a tuple.
    """

    def __init__(
        self,
        parse: Callable[[str], Any],
        doc: str,
        form: str = "",
        *,
        default: Any = None,
        many: str = "",
        **about: Any,
    ) -> None:
        super().__init__(default, doc, form, **about)
        self.parse, self.many = parse, many

    def accept(self, obj: Any, value: object) -> tuple[Any, Any]:
        if value is self.default or not isinstance(value, str | list | tuple):
            return value, value
        try:
            if isinstance(value, str):
                value = self.parse(value)
            elif self.many in ("append", "+", "*"):
                value = tuple(self.parse(v) if isinstance(v, str) else v for v in value)
        except ValueError as error:
            raise self.error(obj, str(error)) from None
        return value, value

    def argument(self) -> dict[str, Any]:
        about: dict[str, Any] = {"type": self.read, "metavar": self.form or None}
        if self.many:
            about |= {"action": "append"} if self.many == "append" else {"nargs": self.many}
        if self.many == "?":  # argparse would read the mark of a missing value as a text
            about["default"] = self.default
        return about


class Texts(Parsed):
    """Several texts."""

    def __init__(self, doc: str, form: str = "", **about: Any) -> None:
        defaults: dict[str, Any] = {"default": (), "many": "append"}
        super().__init__(str, doc, form, **defaults | about)


class InputFile(Parsed):
    """A file or folder to read; None if it is not given."""

    kind = "path"

    def __init__(self, doc: str, form: str, **about: Any) -> None:
        default = () if about.get("many") in ("append", "+", "*") else None
        super().__init__(Path, doc, form, default=default, **about)

    def argument(self) -> dict[str, Any]:
        return super().argument() | {"type": Path}


class OutputFile(InputFile):
    """A file or folder to write, checked before the work begins.

    Args:
        suffixes: what its name may end in.
        folder: it is a folder.
        or_folder: a name without a suffix is a folder, next to the files that end in `suffixes`.
        keeps: an existing file is rejected unless `--overwrite` is given.
        may_be_input: it may be the file that is read.
        resumes: a second run of the same command continues the results of the first.
        default_name: the name to write where none is given; None: then nothing is written.
        needs: its name in messages, the package it needs and the extra that has it.
    """

    def __init__(
        self,
        doc: str,
        form: str,
        *,
        suffixes: tuple[str, ...] = (),
        folder: bool = False,
        or_folder: bool = False,
        keeps: bool = False,
        may_be_input: bool = False,
        resumes: bool = False,
        default_name: Callable[[Any], Path] | None = None,
        needs: tuple[str, str, str] | None = None,
        **about: Any,
    ) -> None:
        super().__init__(doc, form, **about)
        self.suffixes, self.folder, self.or_folder = suffixes, folder, or_folder
        self.keeps, self.may_be_input, self.resumes = keeps, may_be_input, resumes
        self.default_name, self.needs = default_name, needs


# Options ------------------------------------------------------------------------------------------


class Options(HasProperties):
    """Base of the options of a command; the help lists those of a class before its bases'."""

    #: Heading of the options that a class declares; empty: none.
    heading: ClassVar[str] = ""
    #: Names of options that exclude each other.
    exclusive: ClassVar[tuple[tuple[str, ...], ...]] = ()

    debug = Flag("show the traceback of an error")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for option in cls.declared():
            if vars(cls).get("heading") and option.category == _GENERAL and option.owner is cls:
                option.category = cls.heading

    @classmethod
    def declared(cls) -> list[Option[Any]]:
        """The options in the order of the help."""
        return [
            member
            for base in cls.__mro__
            for name, member in vars(base).items()
            if isinstance(member, Option) and cls._properties[name] is member
        ]

    @classmethod
    def outputs(cls) -> list[OutputFile]:
        """The options that name files or folders to write."""
        return [option for option in cls.declared() if isinstance(option, OutputFile)]

    @classmethod
    def add_to(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options to a parser; positional arguments of base classes come first."""
        groups: dict[Any, Any] = {_GENERAL: parser}
        exclusive = {names for base in cls.__mro__ for names in vars(base).get("exclusive", ())}
        for option in cls.properties():
            if isinstance(option, Option) and option.positional:
                option.add_to(parser)
        for option in cls.declared():
            if option.positional:
                continue
            heading = option.category
            if heading not in groups:
                groups[heading] = parser.add_argument_group(heading)
            container = groups[heading]
            for names in exclusive:
                if option.name in names:
                    if names not in groups:
                        groups[names] = container.add_mutually_exclusive_group()
                    container = groups[names]
            option.add_to(container)
        parser.set_defaults(options=cls)

    def values(self, *names: str) -> dict[str, Any]:
        """Some options by name, as the arguments of a function."""
        return {name: getattr(self, name) for name in names}


Run = Callable[[Any], int]


def command(
    name: str,
    options: type[Options],
    run: Run,
    summary: str,
    *,
    examples: Sequence[str],
    description: str = "",
) -> Callable[[Any], None]:
    """A function that adds a sub-command; an entry point of `mjrig.commands` names it.

    Args:
        name: name of the command.
        options: its options.
        run: the work, which takes an instance of `options` and returns the exit code.
        summary: its line in the list of commands.
        examples: command lines that can be run as they are.
        description: first paragraph of the help page; the summary if empty.
    """

    def add(commands: Any) -> None:
        about = description or f"{summary[0].upper()}{summary[1:]}."
        parser = commands.add_parser(name, help=summary, description=about)
        options.add_to(parser)
        add_examples(parser, *examples)
        parser.set_defaults(run=run)

    return add


def read_options(namespace: argparse.Namespace) -> Any:
    """The options that were parsed; commands of other packages may use argparse directly."""
    cls: type[Options] | None = getattr(namespace, "options", None)
    if cls is None:
        return namespace
    return cls(**{n: v for n, v in vars(namespace).items() if n in cls._properties})
