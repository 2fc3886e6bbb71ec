"""Equilibria of finite games: commitment, fixed points, rate-distortion."""
