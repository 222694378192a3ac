"""How sources reach other machines: which addresses they may, and with which limits."""
