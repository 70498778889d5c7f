"""The window: viewport, inspector, panels, undo.

`imgui_bundle` comes first, before glfw and mujoco: each brings a GLFW of its own, and the first one
imported is the one everybody gets.
"""

import imgui_bundle  # noqa: F401
