"""Scores of a predictive at its targets, one file each: per-point values, mean, standard error, unit, direction."""

from corners.comparison.scores._base import SCORES, Score, ScoreRule, evaluate

__all__ = ["SCORES", "Score", "ScoreRule", "evaluate"]
