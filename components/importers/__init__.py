"""Importers: policies and recordings of other stacks."""
