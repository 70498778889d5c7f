"""Gymnasium environments of scenes; needs the extra `gym`."""
