"""Programs that load a model; they import the standard library, their engine and each other, and are run by path."""
