"""Programs that load a model; they import the standard library, their engine and one another, and are run by path."""
