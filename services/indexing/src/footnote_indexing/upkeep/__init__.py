"""What goes on by itself: sweeping what is gone, and comparing the ledger with the store."""
