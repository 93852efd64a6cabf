"""Measures of a trajectory: length of the path, smoothness, time to the first contact."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

PADDING = 4
CUTOFF_HZ = 10.0
LEAST_AMPLITUDE = 0.05
"""As Balasubramanian et al. (2015) chose them: powers of two by which the spectrum is refined, the
highest frequency, and the share of the largest amplitude from which one counts."""


def path_length_m(positions: Sequence[NDArray[np.float64]] | NDArray[np.float64]) -> float:
    """Return the length of the path through positions (n, 3) in metres; 0 for fewer than two."""
    places = np.asarray(positions, float).reshape(-1, 3)
    return float(np.linalg.norm(np.diff(places, axis=0), axis=-1).sum())


def spectral_arc_length(speed: Sequence[float] | NDArray[np.float64], rate_hz: float) -> float:
    """Return SPARC, how smooth a movement is: about -1.4 for one straight reach, less for jerky
    ones.

    The negative length of the curve that the amplitudes of the speed's spectrum draw, both axes
    scaled to 1, up to the last frequency that counts (Balasubramanian, Melendez-Calderon,
    Roby-Brami, Burdet 2015, "On the analysis of movement smoothness", section on SPARC).

    Args:
        speed: Speeds, (n,).
        rate_hz: How many of them there are in a second.

    Returns:
        SPARC; 0 where nothing moves.

    Raises:
        ValueError: There is no speed.
    """
    values = np.asarray(speed, float)
    if not len(values):
        raise ValueError("no speed is given")
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
