"""SharedTextures: equal textures of several actors are compiled once."""

from collections.abc import Hashable
from typing import Any

from mjrig.model_files.vectors import values_of

_FIELDS = ("type", "colorspace", "builtin", "mark", "random", "width", "height", "nchannel", "file",
           "content_type", "hflip", "vflip")  # fmt: skip
_VECTORS = ("rgb1", "rgb2", "markrgb", "gridsize", "gridlayout", "cubefiles")


class SharedTextures:
    """Lets actors of one model use the textures of the first one: each copy would cost megabytes.

    `take_out` before an actor is attached, `put_back` when all of them are.
    """

    def __init__(self) -> None:
        self._first: dict[Hashable, str] = {}
        self._users: list[tuple[Any, int, str]] = []

    def take_out(self, name: str, source: Hashable, spec: Any) -> None:
        """Remove the textures that an earlier actor has too, unless a light shows them.

        Args:
            name: the actor's.
            source: where its model was read from.
            spec: its own, not attached yet.
        """
        lit = {light.texture for light in spec.lights}
        instead = {}
        for texture in spec.textures:
            own = f"{name}/{texture.name}"
            shared = self._first.setdefault((source, texture.name, _picture(texture)), own)
            if shared != own and texture.name and texture.name not in lit:
                instead[texture.name] = shared
        if not instead:
            return
        for material in spec.materials:
            for role, used in enumerate(values_of(material.textures)):
                if used in instead:
                    self._users.append((material, role, instead[used]))
                    material.textures[role] = ""
        # Deleted in the small spec: in that of the world each one would cost a search of it all.
        for texture in list(spec.textures):
            if texture.name in instead:
                spec.delete(texture)

    def put_back(self) -> None:
        """Give the attached materials the textures of the first actor."""
        for material, role, texture in self._users:
            material.textures[role] = texture


def _picture(texture: Any) -> Hashable:
    """All that makes a texture what it is."""
    return (
        *(str(getattr(texture, name)) for name in _FIELDS),
        *(tuple(map(str, values_of(getattr(texture, name)))) for name in _VECTORS),
        bytes(texture.data),
    )
