"""The window put together: loop, menus, keys, toolbar, capture."""
