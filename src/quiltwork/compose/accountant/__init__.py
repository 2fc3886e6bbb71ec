"""From a question to an answer: directions, choice of method, solving for the asked end."""
