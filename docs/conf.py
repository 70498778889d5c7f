"""Settings of the documentation site: `make docs` builds it, offline, into out/site."""

from importlib import metadata

project = "mjrig"
author = "mjrig contributors"
release = metadata.version("mjrig")
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "attrs_inline"]
myst_heading_anchors = 4
exclude_patterns = ["notebooks"]  # linked as files

html_theme = "furo"
html_title = f"mjrig {release}"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"top_of_page_buttons": []}
pygments_style = "friendly"
pygments_dark_style = "monokai"
