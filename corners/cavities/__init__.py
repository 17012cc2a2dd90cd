"""Cavities: which data the belief may see when it scores a point (theory 2)."""

from corners.registry import Registry

CAVITIES = Registry("cavity", "corners.cavities")
