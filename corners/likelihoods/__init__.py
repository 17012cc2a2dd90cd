"""Likelihoods of one target given its latent value (theory 6)."""

from corners.registry import Registry

LIKELIHOODS = Registry("likelihood", "corners.likelihoods")
