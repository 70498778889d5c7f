"""Objects with properties as plain data, and copies of them."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Self

from mjrig.properties.declared import Declared


class PlainData(Declared):
    """Conversion to and from the data of a scene file; copying and pickling are based on it."""

    def _begin(self, values: Mapping[str, object]) -> None:
        """Assign the first values of a fresh instance."""
        raise NotImplementedError

    def _take_defaults(self) -> None:
        """Give a fresh instance its defaults."""
        raise NotImplementedError

    def to_data(self) -> dict[str, object]:
        """What was authored, as plain data, as in a scene file."""
        return {
            name: self._properties[name].to_data(authored)
            for name, authored in self._authored.items()
            if self._properties[name].stored
        }

    @classmethod
    def from_data(cls, data: Mapping[str, object]) -> Self:
        """The reverse of `to_data`.

        Raises:
            PropertyError: a key is unknown or a value does not fit.
        """
        made = cls.blank()
        made._begin(data)
        return made

    @classmethod
    def blank(cls) -> Self:
        """An instance with nothing authored, whatever arguments the constructor wants."""
        made = cls.__new__(cls)
        made._take_defaults()
        return made

    def copy(self) -> Self:
        """An independent copy of what was authored: not bound, watched or nested anywhere."""
        return type(self)._authored_as(deepcopy(self._assigned()))

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return (type(self)._authored_as, (self._assigned(),))

    def _assigned(self) -> dict[str, object]:
        """What was authored by assignment; nested components as they are, registered or not."""
        return {n: a for n, a in self._authored.items() if not self._properties[n].read_only}

    @classmethod
    def _authored_as(cls, values: Mapping[str, object]) -> Self:
        made = cls.blank()
        made._begin(values)
        return made

    def __repr__(self) -> str:
        inner = ", ".join(f"{n}={v!r}" for n, v in PlainData.to_data(self).items())
        return f"{type(self).__name__}({inner})"
