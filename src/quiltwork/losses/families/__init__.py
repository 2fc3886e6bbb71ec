"""One file a mechanism: everything that is known about its privacy loss."""
