"""door: only browsers on this machine that have the token come in."""

from __future__ import annotations

import pytest

from penstock.page.door import PageDoor, PageRequest

DOOR = PageDoor(8080, "secret")
NO_TOKEN = "the token is missing or wrong"
NOT_HERE = "the page is for browsers on this machine"
HERE = {"host": "127.0.0.1:8080"}


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:8080", "[::1]:8080", "localhost:9999", "localhost"])
def test_token_in_the_address_opens(host: str) -> None:
    assert DOOR.refusal(PageRequest("GET", "/", "token=secret", {"host": host})) is None


@pytest.mark.parametrize(
    "host", ["", "evil.example", "evil.example:8080", "127.0.0.1.evil.example", "0.0.0.0:8080", "[", "localhost.evil"]
)
def test_other_hosts_are_refused_with_the_token_too(host: str) -> None:
    assert DOOR.refusal(PageRequest("GET", "/", "token=secret", {"host": host})) == NOT_HERE


@pytest.mark.parametrize(
    "query", ["", "token=", "token=wrong", "token=secre", "token=secret2", "token=wrong&token=secret", "secret"]
)
def test_wrong_token_is_refused(query: str) -> None:
    assert DOOR.refusal(PageRequest("GET", "/", query, HERE)) == NO_TOKEN


def test_cookie_opens_and_is_of_this_port() -> None:
    assert DOOR.refusal(PageRequest("GET", "/events", "", HERE | {"cookie": "a=b; penstock_8080=secret"})) is None
    assert DOOR.refusal(PageRequest("GET", "/events", "", HERE | {"cookie": "penstock_8081=secret"})) == NO_TOKEN
    assert DOOR.refusal(PageRequest("GET", "/events", "", HERE | {"cookie": "\x00;;=,"})) == NO_TOKEN
    assert DOOR.set_cookie() == "penstock_8080=secret; Path=/; HttpOnly; SameSite=Strict"


@pytest.mark.parametrize("other", ['a={"b": 1}', "flag", "a/b=1", "a b=c", "größe=1", "path=/", "=", 'a="b'])
def test_cookies_of_other_programs_on_this_machine_are_in_nobodys_way(other: str) -> None:
    for cookie in (f"{other}; penstock_8080=secret", f"penstock_8080=secret; {other}"):
        assert DOOR.refusal(PageRequest("GET", "/events", "", HERE | {"cookie": cookie})) is None


def test_what_changes_a_run_needs_the_token_in_a_header() -> None:
    cookie = HERE | {"cookie": "penstock_8080=secret"}
    assert DOOR.refusal(PageRequest("POST", "/stop/r1", "token=secret", cookie)) == NO_TOKEN
    assert DOOR.refusal(PageRequest("POST", "/stop/r1", "", cookie | {"x-penstock-token": "wrong"})) == NO_TOKEN
    assert DOOR.refusal(PageRequest("POST", "/stop/r1", "", HERE | {"x-penstock-token": "secret"})) is None


def test_what_changes_a_run_must_not_come_from_another_site() -> None:
    headers = HERE | {"x-penstock-token": "secret"}
    assert DOOR.refusal(PageRequest("POST", "/stop/r1", "", headers | {"origin": "http://127.0.0.1:8080"})) is None
    assert DOOR.refusal(PageRequest("POST", "/stop/r1", "", headers | {"origin": "http://evil.example"})) == NOT_HERE
    for origin in ("null", "http://[::1", "", "http://127.0.0.1@evil.example"):
        assert DOOR.refusal(PageRequest("POST", "/stop/r1", "", headers | {"origin": origin})) == NOT_HERE


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD", "TRACE"])
def test_other_methods_are_refused(method: str) -> None:
    assert DOOR.refusal(PageRequest(method, "/", "token=secret", HERE)) == "only GET and POST are answered"


def test_tokens_are_long_and_not_shown() -> None:
    one, two = PageDoor(1), PageDoor(1)
    assert one.token != two.token
    assert len(one.token) >= 43
    assert one.token not in repr(one)
