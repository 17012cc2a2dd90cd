"""Baselines: the methods people use today, one file each, under the same contract as the cells."""
