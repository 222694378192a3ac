"""Finding every pattern and text function of ours, and what makes them slow."""
