"""Mechanisms that really draw noise, each tied to the loss it is known to have.

A release is checked and accounted for before anything is drawn; `..._loss` gives the same loss without drawing. Losses
are for one entry of the data that changes to another value; how many entries there are is public.
"""

from quiltwork.mechanisms.histograms import (
    gaussian_histogram,
    gaussian_histogram_loss,
    gaussian_histogram_sigma,
    histogram,
    histogram_loss,
    histogram_scale,
    top_k,
    top_k_loss,
    top_k_of_histogram,
    top_k_scale,
)
from quiltwork.mechanisms.release import Noise, Release
from quiltwork.mechanisms.totals import (
    Total,
    bounded_sum,
    gaussian,
    gaussian_loss,
    gaussian_sigma,
    laplace,
    laplace_loss,
    laplace_scale,
)

__all__ = [
    "Noise",
    "Release",
    "Total",
    "bounded_sum",
    "gaussian",
    "gaussian_histogram",
    "gaussian_histogram_loss",
    "gaussian_histogram_sigma",
    "gaussian_loss",
    "gaussian_sigma",
    "histogram",
    "histogram_loss",
    "histogram_scale",
    "laplace",
    "laplace_loss",
    "laplace_scale",
    "top_k",
    "top_k_loss",
    "top_k_of_histogram",
    "top_k_scale",
]
