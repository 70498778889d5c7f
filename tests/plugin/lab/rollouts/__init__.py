"""Rollouts: experiments as data, and their back ends."""
