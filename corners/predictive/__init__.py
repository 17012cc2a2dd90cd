"""Predictive distributions in original units: what every method hands to the scores."""
