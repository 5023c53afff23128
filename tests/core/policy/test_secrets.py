from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.policy.secrets import looks_secret, redact

# Made up, and put together here so that no scanner takes this file for a leak.
SECRETS = {
    "API key": "sk-" + "proj-abcDEF123456ghiJKL789012",
    "GitHub token": "ghp_" + "a1B2" * 9,
    "GitLab token": "glpat-" + "a1B2c3D4e5F6g7H8i9J0",
    "AWS key": "AKIA" + "ABCDEFGHIJ234567",
    "Google key": "AIza" + "aB3" * 11 + "xy",
    "Slack token": "xoxb-" + "123456789012-abcdefABCDEF",
    "Hugging Face token": "hf_" + "aBcD" * 8,
    "Stripe key": "sk_live_" + "a1B2c3D4e5F6g7H8",
    "package token": "npm_" + "a1B2c3" * 6,
    "SendGrid key": "SG." + "a1B2c3D4e5F6g7H8" + "." + "a1B2c3D4e5F6g7H8",
    "Databricks token": "dapi" + "0123456789abcdef" * 2,
    "xAI key": "xai-" + "a1B2" * 10,
    "NVIDIA key": "nvapi-" + "a1B2_" * 8,
    "Replicate token": "r8_" + "a1B2" * 9,
    "Groq key": "gsk_" + "a1B2" * 10,
    "Telegram token": "123456789:" + "AA" + "aB3" * 11,
    "JWT": "eyJhbGciOiJIUzI1" + ".eyJzdWIiOiIxMjM0" + ".SflKxwRJSMeKKF2QT4",
    "private key": "-----BEGIN RSA PRIVATE" + " KEY-----\nMIIEab+/=\n-----END RSA PRIVATE KEY-----",
}


@pytest.mark.parametrize("kind", SECRETS)
def test_each_shape_is_found_and_taken_out(kind: str) -> None:
    secret = SECRETS[kind]
    text = f"before {secret} after"
    assert looks_secret(text) == kind
    assert redact(text) == f"before [redacted: {kind}] after"
    assert redact(f"x={secret}\ny") == f"x=[redacted: {kind}]\ny"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer abcdef1234567890xyz", "Authorization: Bearer [redacted: token]"),
        ("postgres://me:hunter22@host/db", "postgres://me:[redacted: password]@host/db"),
        ("Bearer abcdefghijKLMNOPqrstuv", "Bearer [redacted: token]"),
        ("API_KEY=abcd1234efgh5678", "API_KEY=[redacted: secret]"),
        ("AccountKey=ab12+/cd34EF56gh==;", "AccountKey=[redacted: secret];"),
        ("client_secret: ab8Q~cd12.ef34-gh", "client_secret: [redacted: secret]"),
        ("password=hunter2hunter2", "password=[redacted: password]"),
        ('password: "Tr0ub4dor&3xyz"', 'password: "[redacted: password]"'),
        (
            "https://discord.com/api/webhooks/123456789012345678/" + "aB3_" * 17,
            "https://discord.com/api/webhooks/123456789012345678/[redacted: webhook]",
        ),
        ("password='a1;b2|c3,d4'", "password='[redacted: password]'"),
        (
            "https://x/y?se=1&sig=" + "aB3%2F" * 8 + "%3D",
            "https://x/y?se=1&sig=[redacted: signature]",
        ),
        (
            "Set-Cookie: sessionid=abc123def456ghi7; Path=/",
            "Set-Cookie: sessionid=[redacted: cookie]; Path=/",
        ),
        ("PASSWORD=Abc12345!", "PASSWORD=[redacted: password]"),
        ("db_pwd: 's3cret#word'", "db_pwd: '[redacted: password]'"),
        ('{"password": "correct9horse9battery"}', '{"password": "[redacted: secret]"}'),
    ],
)
def test_only_the_secret_part_goes(text: str, expected: str) -> None:
    assert redact(text) == expected and looks_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        "token = tokenizer.encode_plus_2(text)",
        "token = tokenizer2.encode_batch_fast",
        "password = getpass.getpass()",
        "password = config2.database.password",
        "PWD=/home/user1/project2",
        "password=$DB_PASSWORD1",
        "the password: 8 characters, 1 digit",
        'password=f"{user1}"',
        "max_tokens: 4096, secret santa",
        "task-1234567890123456789012345 risk-analysis",
        "sk-learn-pipeline-with-many-steps",
        "https://host:8080/a@b",
        "the bearer of good news in 2023",
        "-----BEGIN CERTIFICATE-----",
        "df.groupby('key').mean()",
        "we verify stripe webhook signatures with the signing secret",
        "use pnpm",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact(text) == text and not looks_secret(text)


def test_a_private_key_cut_short_is_taken_out_too() -> None:
    head = SECRETS["private key"].partition("\n-----END")[0]
    assert redact(head) == "[redacted: private key]"
    assert json.loads(redact(json.dumps({"a": head, "b": 1}))) == {
        "a": "[redacted: private key]",
        "b": 1,
    }


TEXT = st.lists(
    st.sampled_from([*SECRETS.values(), '"', "\\", "\n", "é", " ", "word", "password: '"]),
    max_size=8,
).map("".join)


@given(TEXT)
def test_json_stays_json(text: str) -> None:
    """The arguments of a call are kept as the JSON text that the model wrote."""
    told = redact(json.dumps({"code": text}))
    assert list(json.loads(told)) == ["code"]


@given(st.text(), st.sampled_from(sorted(SECRETS)), st.text())
def test_a_secret_set_off_by_blanks_never_survives(before: str, kind: str, after: str) -> None:
    told = redact(f"{before} {SECRETS[kind]} {after}")
    assert SECRETS[kind] not in told
    assert redact(told) == told


def test_known_keys_are_taken_out_whatever_their_shape() -> None:
    known = ("plain-old-key", "plain-old-key-longer", "short", "")
    assert redact("a=plain-old-key-longer b=plain-old-key short", known) == (
        "a=[redacted: key] b=[redacted: key] short"
    )


@pytest.mark.parametrize("noise", ["\x1b[31m", "\r", "\0", "\n", "\r\n", "\x1b[0m\x1b[1;32m"])
def test_a_known_key_is_taken_out_with_what_a_terminal_hides_in_it(noise: str) -> None:
    assert redact(f"a=plain-{noise}old-key b\n", ["plain-old-key"]) == "a=[redacted: key] b\n"
