"""HST 1xx: the node around the GPUs."""
