"""Durable memory as Markdown."""
