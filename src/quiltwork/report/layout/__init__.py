"""The model of a report, and how it is written: HTML, Markdown, JSON, plain text."""
