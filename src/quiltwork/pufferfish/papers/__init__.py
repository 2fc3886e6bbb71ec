"""Rules of the paper for comparison; nothing here certifies a release."""
