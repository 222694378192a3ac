"""The built-in answerer: no model, no network; it answers with the sources' own sentences, chosen, ordered and cited."""
