"""GLView: MuJoCo drawn into a texture. The only module that uses OpenGL."""

from typing import Any

import mujoco
import numpy as np
import OpenGL

OpenGL.ERROR_CHECKING = False  # must be set before OpenGL.GL is imported
from OpenGL import GL  # noqa: E402

from mjrig.editor.viewport.scene_renderer import Photographed  # noqa: E402

#: Names of renderers that have no GPU.
_SOFTWARE = (
    b"llvmpipe",
    b"softpipe",
    b"swrast",
    b"swiftshader",
    b"software",
    b"gdi generic",
    b"microsoft basic render",
)


def is_software() -> bool:
    """Whether pixels are made by the CPU; needs a current context."""
    return is_software_name(GL.glGetString(GL.GL_RENDERER) or b"")


def is_software_name(renderer: bytes) -> bool:
    """Whether a renderer of that name, `llvmpipe (LLVM 15)`, works without a GPU."""
    return any(word in renderer.lower() for word in _SOFTWARE)


class GLView:
    """Renders prepared scenes of one model into a texture; made with a current context."""

    def __init__(self, model: Any) -> None:
        self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150)
        self._texture = int(GL.glGenTextures(1))
        self._target = int(GL.glGenFramebuffers(1))
        self._size = (0, 0)

    def _resize(self, width: int, height: int) -> None:
        GL.glBindTexture(GL.GL_TEXTURE_2D, self._texture)
        GL.glTexImage2D(
            GL.GL_TEXTURE_2D,
            0,
            GL.GL_RGBA8,
            width,
            height,
            0,
            GL.GL_RGBA,
            GL.GL_UNSIGNED_BYTE,
            None,
        )
        for name in (GL.GL_TEXTURE_MIN_FILTER, GL.GL_TEXTURE_MAG_FILTER):
            GL.glTexParameteri(GL.GL_TEXTURE_2D, name, GL.GL_LINEAR)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._target)
        GL.glFramebufferTexture2D(
            GL.GL_FRAMEBUFFER, GL.GL_COLOR_ATTACHMENT0, GL.GL_TEXTURE_2D, self._texture, 0
        )
        context = self._context
        wide, high = max(width, context.offWidth), max(height, context.offHeight)
        if (wide, high) != (context.offWidth, context.offHeight):
            mujoco.mjr_resizeOffscreen(wide, high, context)
        self._size = (width, height)

    def render(self, scene: Any, width: int, height: int) -> int:
        """Draw a scene and return the texture that shows it."""
        if (width, height) != self._size:
            self._resize(width, height)
        context = self._context
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, context)
        mujoco.mjr_render(mujoco.MjrRect(0, 0, width, height), scene, context)
        sources = [context.offFBO]
        if context.offSamples:
            sources.append(context.offFBO_r)  # samples are resolved on the way
        for source, target in zip(sources, [*sources[1:], self._target], strict=True):
            GL.glBindFramebuffer(GL.GL_READ_FRAMEBUFFER, source)
            GL.glReadBuffer(GL.GL_COLOR_ATTACHMENT0)
            GL.glBindFramebuffer(GL.GL_DRAW_FRAMEBUFFER, target)
            box = (0, 0, width, height)
            GL.glBlitFramebuffer(*box, *box, GL.GL_COLOR_BUFFER_BIT, GL.GL_NEAREST)
        self._leave()
        return self._texture

    def pixels(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """(height, width, 3) picture of what was drawn last."""
        width, height = self._size
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._target)
        GL.glPixelStorei(GL.GL_PACK_ALIGNMENT, 1)
        raw: Any = GL.glReadPixels(0, 0, width, height, GL.GL_RGB, GL.GL_UNSIGNED_BYTE)
        self._leave()
        picture = np.frombuffer(raw, np.uint8).reshape(height, width, 3)
        return picture[::-1].copy()

    def photograph(self, then: Photographed) -> None:
        """Call with a (height, width, 3) picture of what was drawn last."""
        then(self.pixels())

    def _leave(self) -> None:
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, 0)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_WINDOW, self._context)

    def free(self) -> None:
        """Free its OpenGL objects; needs the context it was made with."""
        GL.glDeleteTextures([self._texture])
        GL.glDeleteFramebuffers(1, [self._target])
        self._context.free()


def upload(picture: np.ndarray[Any, np.dtype[np.uint8]]) -> int:
    """A (height, width, 3) picture as a texture, for thumbnails."""
    texture = int(GL.glGenTextures(1))
    height, width = picture.shape[:2]
    GL.glBindTexture(GL.GL_TEXTURE_2D, texture)
    GL.glPixelStorei(GL.GL_UNPACK_ALIGNMENT, 1)
    GL.glTexImage2D(
        GL.GL_TEXTURE_2D,
        0,
        GL.GL_RGB8,
        width,
        height,
        0,
        GL.GL_RGB,
        GL.GL_UNSIGNED_BYTE,
        np.ascontiguousarray(picture),
    )
    for name in (GL.GL_TEXTURE_MIN_FILTER, GL.GL_TEXTURE_MAG_FILTER):
        GL.glTexParameteri(GL.GL_TEXTURE_2D, name, GL.GL_LINEAR)
    return texture
