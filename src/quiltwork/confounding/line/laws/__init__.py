"""Laws on the line: normal, Laplace, mixtures and laws given by the user."""
