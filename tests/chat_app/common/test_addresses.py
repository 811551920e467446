"""Addresses in the settings: what is taken, and what is refused with which right form."""

import pytest

from heard.chat_app.common.settings import Settings, SettingsError, load_settings

HOSTS = [
    ("https://chat.example.org", 'public_host = "chat.example.org"'),
    ("http://chat.example.org/", 'public_host = "chat.example.org"'),
    ("HTTPS://Chat.Example.ORG", 'public_host = "chat.example.org"'),
    ("chat.example.org:443", 'public_host = "chat.example.org"'),
    ("chat.example.org:8443/", 'public_host = "chat.example.org"'),
    ("//chat.example.org", 'public_host = "chat.example.org"'),
    ("wss://chat.example.org", 'public_host = "chat.example.org"'),
    ("https://user:word@chat.example.org:1/", 'public_host = "chat.example.org"'),
    ("https://www.example.org/heard/", 'public_host = "www.example.org", and root_path = "/heard"'),
    ("www.example.org/a/b?x=1", 'public_host = "www.example.org", and root_path = "/a/b"'),
    ("chat.example.org.", 'public_host = "chat.example.org"'),
    ("chät.example.org", 'public_host = "xn--cht-rla.example.org"'),
    ("*.example.org", 'such as "chat.example.org"'),
    ("chat example org", 'such as "chat.example.org"'),
    ("chat.example.org, www.example.org", 'such as "chat.example.org"'),
    ("https://", 'such as "chat.example.org"'),
    (":8000", 'such as "chat.example.org"'),
    ("-chat.example.org", 'such as "chat.example.org"'),
]
ROOTS = [
    ("heard", 'root_path = "/heard"'),
    ("/heard/", 'root_path = "/heard"'),
    ("heard/chat/", 'root_path = "/heard/chat"'),
    ("https://www.example.org/heard", 'root_path = "/heard"'),
    ("//heard", 'root_path = "/heard"'),
    ("/a b", 'such as "/heard"'),
    ("/../heard", 'such as "/heard"'),
    ('/x"y', 'such as "/heard"'),
    ("/heard?x", 'such as "/heard"'),
]
ANCESTORS = [
    ("lab.example.org", 'write "https://lab.example.org"'),
    ("http://lab.example.org", 'write "https://lab.example.org"'),
    ("https://lab.example.org/", 'write "https://lab.example.org"'),
    ("https://lab.example.org/page", 'write "https://lab.example.org"'),
    ("*", 'such as "https://lab.example.org"'),
    ("'self'", 'such as "https://lab.example.org"'),
    ("https://lab.example.org; script-src *", "origin of https"),
    ("https:", "origin of https"),
]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("public_host", *pair) for pair in HOSTS]
    + [("root_path", *pair) for pair in ROOTS]
    + [("frame_ancestors", *pair) for pair in ANCESTORS],
)
def test_a_wrong_address_is_refused_with_the_right_form(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(f"HEARD_{name.upper()}", value)
    with pytest.raises(SettingsError, match=f"HEARD_{name.upper()}") as refused:
        load_settings(file=False)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value", "taken"),
    [
        ("public_host", "chat.example.org", "chat.example.org"),
        ("public_host", "Chat.Example.org", "chat.example.org"),
        ("public_host", "localhost", "localhost"),
        ("public_host", "192.0.2.7", "192.0.2.7"),
        ("public_host", "xn--cht-rla.example.org", "xn--cht-rla.example.org"),
        ("root_path", "/", ""),
        ("root_path", "/heard", "/heard"),
        ("root_path", "/a/b-c_d.e", "/a/b-c_d.e"),
        ("frame_ancestors", ("https://lab.example.org", "https://*.example.org"), None),
        ("frame_ancestors", ("https://lab.example.org:8443", "http://localhost:3000"), None),
        ("frame_ancestors", "https://a.example, https://b.example", ("https://a.example", "https://b.example")),
    ],
)
def test_a_right_one_is_taken(name: str, value: object, taken: object) -> None:
    assert getattr(Settings(**{name: value}), name) == (value if taken is None else taken)  # type: ignore[arg-type]
