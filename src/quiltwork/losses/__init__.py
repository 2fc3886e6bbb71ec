"""One file a family: the worst pair of output laws of one release."""
