"""HW 2xx: what is wrong with, or oddly idle on, a GPU."""
