"""From what the channels brought to the chunks returned: one list of named steps (`steps.py`)."""
