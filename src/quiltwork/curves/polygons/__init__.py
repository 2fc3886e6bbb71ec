"""Curves made of straight pieces: profiles, trade-off functions and privacy regions, exactly."""
