"""Collections, their settings and generations, and the rules for which provider may embed their texts."""
