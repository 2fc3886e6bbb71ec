"""A page is described once, as plain values, and drawn many times: HTML, Markdown, a terminal, a browser's script."""
