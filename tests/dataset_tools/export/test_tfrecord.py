"""TFRecord files and messages, byte for byte as TensorFlow 2.21 writes them."""

import numpy as np
import pytest

from clevrskills.dataset_tools.export.tfrecord import example, record


def test_records_are_framed_as_by_tensorflow():
    expected = "0300000000000000b099490e6162636e57f121000000000000000029039807d8ea82a2"
    assert b"".join((*record(b"abc"), *record(b""))).hex() == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([b"x", b"", b"yz"], "0a140a120a03612f62120b0a090a01780a000a02797a"),
        (
            np.array([[0.5, -2.0], [0.0, 1.0]]),
            "0a1d0a1b0a03612f62121412120a100000003f000000c0000000000000803f",
        ),
        (
            np.array([0, 1, 300, -1, 2**40]),
            "0a210a1f0a03612f6212181a160a140001ac02ffffffffffffffffff01808080808020",
        ),
        (np.array([True, False]), "0a0f0a0d0a03612f6212061a040a020100"),
    ],
)
def test_messages_are_encoded_as_by_tensorflow(values, expected):
    assert example({"a/b": values}).hex() == expected


def test_a_message_holds_many_features():
    one, two = example({"a": np.array([1])}), example({"b": [b"text"]})
    both = example({"a": np.array([1]), "b": [b"text"]})
    assert len(both) == len(one) + len(two) - 2  # the header of two bytes is there once
    assert one[2:] in both and two[2:] in both


def test_an_array_of_words_is_refused():
    with pytest.raises(TypeError, match="cannot write an array of"):
        example({"a": np.array(["word"])})
