"""The next release designed by a linear program, with a certificate."""
