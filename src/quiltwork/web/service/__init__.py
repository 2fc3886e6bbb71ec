"""What stands around every request: who asks, how often, what is refused, and processes that compute."""
