"""Saved objects: any value of quiltwork as a document, and back."""
