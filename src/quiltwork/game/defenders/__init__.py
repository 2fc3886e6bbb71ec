"""Defenders in closed form, each with its certificate: noise, noise that follows the data, constants, peeling."""

from quiltwork.game.defenders.closed_forms import RateDistortion, WaterFilling
from quiltwork.game.defenders.noise import Constant, Exact, Gaussian, Laplace
from quiltwork.game.defenders.private import PeelingMean, SupNormNoise

__all__ = ["Constant", "Exact", "Gaussian", "Laplace", "PeelingMean", "RateDistortion", "SupNormNoise", "WaterFilling"]
