"""Scores of a predictive at its targets, one file each: per-point values, mean, standard error, unit, direction."""

from corners.comparison.scores._base import DEFAULT_SCORES, SCORES, Score, ScoreRule, evaluate

__all__ = ["DEFAULT_SCORES", "SCORES", "Score", "ScoreRule", "evaluate"]
