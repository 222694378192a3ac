"""Collections, their settings and index versions, and the rules for which provider may embed their texts."""
