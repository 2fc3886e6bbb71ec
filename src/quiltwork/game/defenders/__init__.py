"""Defenders in closed form, each with its certificate: noise, noise that follows the data, constants."""

from quiltwork.game.defenders.closed_forms import RateDistortion, WaterFilling
from quiltwork.game.defenders.noise import Constant, Exact, Gaussian, Laplace

__all__ = ["Constant", "Exact", "Gaussian", "Laplace", "RateDistortion", "WaterFilling"]
