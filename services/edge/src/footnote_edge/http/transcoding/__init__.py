"""Requests over HTTP to the RPCs behind them, and their responses back."""
