"""Knowledge of languages: words, numbers, units, places, and the service's own sentences."""
