"""Document revisions: writing, publishing, relabelling and reading them."""
