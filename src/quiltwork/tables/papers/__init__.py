"""Small explicit channels for comparison with the paper; nothing here certifies a release."""
