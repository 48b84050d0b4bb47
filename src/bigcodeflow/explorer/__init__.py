"""The explorer: pages over a store's recorded runs and those in progress, read-only, for a browser on this machine."""
