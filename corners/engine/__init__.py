"""The engines: every cell of the design space, trained end to end."""
