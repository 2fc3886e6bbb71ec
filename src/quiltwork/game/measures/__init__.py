"""What attacks reach: receiver operating characteristics, advantage, intervals for true positive rates."""
