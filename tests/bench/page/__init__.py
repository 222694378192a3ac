"""One page of figures: what callers of `footnote serve all` get, compared with the bare engine in the same run."""
