"""The command line: one thin module a command; everything they do is in the library or in the flows."""
