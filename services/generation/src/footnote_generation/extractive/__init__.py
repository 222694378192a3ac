"""The built-in answerer: no model, no network; the sources' own sentences, chosen, ordered and cited."""
