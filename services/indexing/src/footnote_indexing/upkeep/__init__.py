"""Background tasks: sweeping removed data, making owed vectors, and comparing the ledger with the store."""
