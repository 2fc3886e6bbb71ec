"""Characteristic functions of privacy losses, with bounds on their errors."""
