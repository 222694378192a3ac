"""What is known of languages: words, numbers, units, places, and the service's own sentences."""
