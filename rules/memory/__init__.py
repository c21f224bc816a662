"""MEM 3xx: device memory."""
