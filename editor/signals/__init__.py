"""Signals: numbers of a running world by path, sampled after every step into ring buffers."""
