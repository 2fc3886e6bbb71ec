"""Many losses, one certified curve."""
