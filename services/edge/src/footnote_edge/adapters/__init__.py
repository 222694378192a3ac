"""What the edge keeps and whom it asks: its database with its migrations, and the stubs of the stages."""
