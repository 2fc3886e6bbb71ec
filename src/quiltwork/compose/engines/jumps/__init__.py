"""Few or rare releases on samples with Gaussian noise: rare large losses counted apart on the contour."""
