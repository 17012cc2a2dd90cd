"""The alphabet: one factor node a file, with its ports, messages, joint rules and average energy."""
