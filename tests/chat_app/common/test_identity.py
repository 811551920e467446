"""The signed cookie: who gets an id back, and who does not."""

import os
import stat
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from itsdangerous import URLSafeSerializer

from heard.chat_app.common.identity import (
    VISITOR_COOKIE,
    Identity,
    IdentityError,
    cookies_of,
    country_from_headers,
    new_participant,
)

FIXED = Identity(b"s" * 32)


def test_a_signed_id_comes_back() -> None:
    participant = new_participant()
    header = {"cookie": f"other=1; {VISITOR_COOKIE}={FIXED.sign(participant)}; last=x"}
    assert FIXED.participant_from_headers(header) == participant
    assert uuid.UUID(participant).version == 4


def test_a_changed_character_makes_a_stranger() -> None:
    value = FIXED.sign(new_participant())
    for place in range(len(value)):
        changed = value[:place] + ("A" if value[place] != "A" else "B") + value[place + 1 :]
        if changed != value:
            # The last character of a base64 text carries spare bits, so another letter may mean the same signature.
            assert FIXED.participant(changed) is None or place == len(value) - 1


def test_another_server_s_signature_counts_for_nothing() -> None:
    assert FIXED.participant(Identity(b"t" * 32).sign(new_participant())) is None


def test_a_signature_made_for_another_purpose_counts_for_nothing() -> None:
    assert FIXED.participant(str(URLSafeSerializer(FIXED.secret, salt="else").dumps(new_participant()))) is None


@pytest.mark.parametrize("inside", ["not-a-uuid", "' OR 1=1 --", "", 7, None, ["x"], {"id": "x"}])
def test_a_signed_value_that_is_no_uuid_is_refused(inside: Any) -> None:
    assert FIXED.participant(FIXED.sign(inside)) is None


@given(st.text())
def test_no_header_raises(raw: str) -> None:
    assert FIXED.participant_from_headers({"cookie": raw}) is None
    assert FIXED.participant(raw) is None


def test_a_broken_cookie_of_another_program_does_not_hide_ours() -> None:
    value = FIXED.sign(new_participant())
    header = {"cookie": f'bad name={{"a":1}}; @@@; =x; {VISITOR_COOKIE}={value}'}
    assert cookies_of(header)[VISITOR_COOKIE] == value


def test_the_secret_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    first, second = Identity.load(tmp_path / "data"), Identity.load(tmp_path / "data")
    assert first.secret == second.secret
    assert len(first.secret) == 32
    assert stat.S_IMODE((tmp_path / "data" / "secret").stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["secret"]


def test_two_folders_have_two_secrets(tmp_path: Path) -> None:
    assert Identity.load(tmp_path / "a").secret != Identity.load(tmp_path / "b").secret


def test_servers_that_start_at_once_share_one_secret(tmp_path: Path) -> None:
    found: list[bytes] = []
    gate = threading.Barrier(8)

    def start() -> None:
        gate.wait()
        found.append(Identity.load(tmp_path).secret)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


@pytest.mark.parametrize("content", ["", "zz", "ab" * 16, "ü" * 64])
def test_a_damaged_secret_is_named_and_not_replaced(tmp_path: Path, content: str) -> None:
    (tmp_path / "secret").write_text(content, encoding="utf-8")
    with pytest.raises(IdentityError, match="secret does not hold a secret"):
        Identity.load(tmp_path)
    assert (tmp_path / "secret").read_text(encoding="utf-8") == content


def test_a_folder_that_cannot_be_made_is_a_plain_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(IdentityError, match="set data_dir to another folder"):
        Identity.load(tmp_path / "file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_a_plain_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(IdentityError, match="set data_dir to another folder"):
        Identity.load(tmp_path)


def test_the_chat_secret_is_another_one_and_stays() -> None:
    assert FIXED.chat_secret() == FIXED.chat_secret()
    assert FIXED.chat_secret() != FIXED.secret.hex()
    assert FIXED.chat_secret() != Identity(b"t" * 32).chat_secret()
    assert len(FIXED.chat_secret()) == 64


def test_the_secret_is_in_no_representation() -> None:
    assert "ssss" not in repr(FIXED)
    assert "ssss" not in str(FIXED)


def test_only_a_known_country_counts() -> None:
    known = {"DE": "Germany"}
    assert country_from_headers({"cookie": "heard_country=DE"}, known) == "DE"
    for raw in ("heard_country=XX", "heard_country=de", "heard_country=", "", "heard_country=<script>"):
        assert country_from_headers({"cookie": raw}, known) is None
