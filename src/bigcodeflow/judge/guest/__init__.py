"""Code that runs inside the sandbox, shipped as files: standard library only, Python 3.10 or newer."""
