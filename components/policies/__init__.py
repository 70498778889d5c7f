"""Policies: a network with its observation recipe, rate, joint order and action scale."""
