"""More callers than can be served, in processes of their own, so that what they do is not what is measured."""
