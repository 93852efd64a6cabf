"""Measures of a trajectory: path length and smoothness."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

PADDING = 4
CUTOFF_HZ = 10.0
LEAST_AMPLITUDE = 0.05
"""Parameters of Balasubramanian et al. (2015): zero padding in powers of two, highest frequency,
and amplitude threshold as a share of the largest one."""


def path_length_m(positions: Sequence[NDArray[np.float64]] | NDArray[np.float64]) -> float:
    """Return the length of the path through positions (n, 3) in meters; 0 for fewer than two."""
    places = np.asarray(positions, float).reshape(-1, 3)
    return float(np.linalg.norm(np.diff(places, axis=0), axis=-1).sum())


def spectral_arc_length(speed: Sequence[float] | NDArray[np.float64], rate_hz: float) -> float:
    """Return the smoothness of a movement, SPARC: about -1.4 for a straight reach, lower for jerky
    movements, 0 without motion.

    It is the negative arc length of the normalized amplitude spectrum of the speed, up to the last
    frequency above the threshold (Balasubramanian, Melendez-Calderon, Roby-Brami, Burdet 2015, "On
    the analysis of movement smoothness", section on SPARC).

    Args:
        speed: Speeds, (n,).
        rate_hz: Sampling rate.

    Raises:
        ValueError: ``speed`` is empty.
    """
    values = np.asarray(speed, float)
    if not len(values):
        raise ValueError("speed is empty")
    size = 2 ** (int(np.ceil(np.log2(len(values)))) + PADDING)
    frequency = np.arange(size) * rate_hz / size
    amplitude = np.abs(np.fft.fft(values, size))
    if not amplitude.max() > 0.0:
        return 0.0
    amplitude /= amplitude.max()
    low = frequency <= min(CUTOFF_HZ, rate_hz / 2)
    frequency, amplitude = frequency[low], amplitude[low]
    counted = np.flatnonzero(amplitude >= LEAST_AMPLITUDE)
    frequency = frequency[counted[0] : counted[-1] + 1]
    amplitude = amplitude[counted[0] : counted[-1] + 1]
    if len(frequency) < 2:
        return 0.0
    along = np.diff(frequency) / (frequency[-1] - frequency[0])
    return -float(np.hypot(along, np.diff(amplitude)).sum())
