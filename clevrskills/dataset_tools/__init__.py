"""Datasets of demonstrations: record, generate, read, replay, view."""

from clevrskills.dataset_tools.dataset import Dataset, Episode
from clevrskills.dataset_tools.layout import DatasetError

__all__ = ["Dataset"]
