"""Programs that show what the library does; the gallery among them."""
