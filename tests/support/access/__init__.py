"""The access matrix: what every kind of caller may do to every kind of resource, through every interface."""
