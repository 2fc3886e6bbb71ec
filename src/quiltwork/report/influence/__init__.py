"""How much correlated entries tell about each other: numbers, pictures, page."""
