"""YAML and JSON text: values with their lines, from files to models and back, JSON Schema."""
