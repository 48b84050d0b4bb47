"""Host side of sandboxes: the interface of all backends (``base``), and the local backend with its parts."""
