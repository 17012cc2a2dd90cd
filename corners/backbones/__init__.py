"""Backbones: from inputs to the features of the last layer."""

from corners.registry import Registry

BACKBONES = Registry("backbone", "corners.backbones")
