"""The explorer: pages about a store's recorded and running runs, for a browser on this machine."""
