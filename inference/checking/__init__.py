"""Judging the rules of a letter by quadrature of its ``log_density``, for authors of letters and for our own tests."""

from inference.checking.node import check_node
from inference.checking.report import CheckReport, CheckRow

__all__ = ["CheckReport", "CheckRow", "check_node"]
