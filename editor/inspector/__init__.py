"""The inspector: rows and widgets generated from property declarations."""
