"""The analytic half of a proof: contour sums in balls."""
