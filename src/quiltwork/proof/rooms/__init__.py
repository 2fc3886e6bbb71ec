"""What rooms beside the losses claim: worlds of finite tables, secrets of Markov chains.

Each module reads a plain description, as `description` reads that of a loss, and shares nothing with the room.
"""
