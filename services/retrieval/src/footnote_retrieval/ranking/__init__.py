"""From the channels' hits to the chunks returned: one list of named steps (`steps.py`)."""
