"""Where time went: of ranks, GPUs and jobs, for the last minute and for the whole watch."""
