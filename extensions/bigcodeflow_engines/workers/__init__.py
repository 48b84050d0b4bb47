"""Programs that load a model. They are run by path, and import only the standard library, engines and each other."""
