"""A journal that cannot be used never stops the host: some of the ways, the rest is in `make recovery`."""

from __future__ import annotations

import pytest

from tests.recovery.test_unreachable import assert_the_host_works, killed

__all__ = ["killed"]


@pytest.mark.parametrize("kind", ["a newer schema", "a pipe as journal", "no permission for the file"])
def test_the_host_starts_and_says_what_to_do(model, tmp_path, killed, kind):
    assert_the_host_works(model, tmp_path, killed, kind)
