"""The command line: one thin module for each command or group; the library and the flows do the work."""
