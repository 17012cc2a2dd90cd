"""Comparison of fits: scores, paired tests, ordering, identifiability and agreement with sampled posteriors."""
