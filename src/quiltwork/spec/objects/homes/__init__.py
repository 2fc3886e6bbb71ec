"""Which classes of each room are written as documents."""
