"""LNK 5xx: PCIe, NVLink and networks."""
