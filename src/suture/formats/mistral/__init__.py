"""Mistral's own Chat Completions."""
