"""The same questions asked of this library and of every peer that can answer them."""
