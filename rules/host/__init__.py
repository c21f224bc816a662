"""HST 1xx: input and host."""
