"""Which names and lines tell of a secret."""

from __future__ import annotations

import pytest

from journal.telling import is_secret, pairs


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("X_TOKEN", "/9j/4AAQSkZJRg==", True),
        ("MY_PASSWORD", "~tilde-first", True),
        ("A0_SHARED", "something-long", True),
        ("A0_FOLDER", "/srv/data", False),
        ("A0_SET_theme", "something-long", False),
        ("A0_SET_api_key", "something-long", True),
        ("A0_PORT", "50001", False),
        ("HOME", "/root", False),
    ],
)
def test_a_name_that_tells_is_believed_whatever_its_value_looks_like(name: str, value: str, secret: bool) -> None:
    assert is_secret(name, value) is secret


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("token=plain-value", "TOKEN", "plain-value"),
        ("  export TOKEN = spaced-value  ", "TOKEN", "spaced-value"),
        ('TOKEN="in quotes # kept"', "TOKEN", "in quotes # kept"),
        ("TOKEN='single $kept' # remark", "TOKEN", "single $kept"),
        ("TOKEN=value # remark", "TOKEN", "value"),
        ("TOKEN=value#no-remark", "TOKEN", "value#no-remark"),
        (r'TOKEN="two\nlines \"said\""', "TOKEN", 'two\nlines "said"'),
        ('TOKEN="over\ntwo lines"', "TOKEN", "over\ntwo lines"),
        ("# TOKEN=remark\nNEXT=here", "NEXT", "here"),
        ("TOKEN=\r\nNEXT=here\r\n", "NEXT", "here"),
    ],
)
def test_a_file_of_secrets_is_read_as_the_server_reads_it(line: str, name: str, value: str) -> None:
    assert (name, value) in list(pairs(line))
