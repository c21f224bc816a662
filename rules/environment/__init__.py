"""ENV 6xx: how the node and the job are set up."""
