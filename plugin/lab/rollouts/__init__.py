"""Rollouts: experiments as data, run on one world or many, here, in processes or on a cluster."""
