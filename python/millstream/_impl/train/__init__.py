"""Optimizers, learning rates and the step counter."""
