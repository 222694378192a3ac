"""Documents at the public API: in, out, changed, watched and gone."""
