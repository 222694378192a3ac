"""Conversations, their messages and answers, and readers' feedback."""
