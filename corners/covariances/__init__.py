"""Covariance families of a Gaussian belief over the last layer's weights (theory 5)."""

from corners.registry import Registry

COVARIANCES = Registry("covariance", "corners.covariances")
