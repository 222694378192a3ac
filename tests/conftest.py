"""What holds for every test."""

from hypothesis import settings

# A slow machine is no failure, and a change fails by what it changed: the same examples each time.
# `pytest --hypothesis-profile=default` looks for new ones.
settings.register_profile("footnote", deadline=None, derandomize=True)
settings.load_profile("footnote")
