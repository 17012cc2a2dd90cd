"""The sections of a study's report: each module has ``section(view)``, or None where it has nothing to say."""
