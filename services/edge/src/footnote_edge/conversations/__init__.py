"""Conversations, their messages and answers, and what readers thought of them."""
