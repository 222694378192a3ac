"""Collections and their settings, their generations, and who may have their texts embedded where."""
