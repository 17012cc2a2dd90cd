"""Routings: whether the belief is bound to the conjugate posterior or trained freely (theory 2)."""

from corners.registry import Registry

ROUTINGS = Registry("routing", "corners.routings")
