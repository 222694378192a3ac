"""What a request meets before it is read: connections, sizes, origins, credentials; and how it is refused."""
