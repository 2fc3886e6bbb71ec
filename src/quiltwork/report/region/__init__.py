"""Privacy regions of guarantees that hold at once: numbers, pictures, page."""
