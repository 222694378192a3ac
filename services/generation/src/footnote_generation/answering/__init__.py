"""From a model's stream to the text, titles and costs that a caller receives."""
