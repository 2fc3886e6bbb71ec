"""What releases tell about a secret behind the data, and the design of the next one: numbers, words, pictures, page."""
