"""Distributed jobs and progress: RUN4xx."""
