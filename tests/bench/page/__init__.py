"""One page of figures: what callers of `footnote serve all` get, beside the bare engine in the same run."""
