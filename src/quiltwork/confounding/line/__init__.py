"""Worlds on the real line: noise, readings, and certified curves of what they tell."""
