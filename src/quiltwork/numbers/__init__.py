"""Numbers as they were typed, rounding outward, tables of probabilities, exact linear algebra."""
