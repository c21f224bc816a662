"""Credentials in command lines are masked, and nothing else is."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes.sources.procfs.redaction import MASK, is_secret_name, mask_command, mask_text

from support.command_lines import lines_of, scored

SECRET = "Zq9xKw3vTn7Lm2"


@pytest.mark.parametrize(
    ("argv", "masked"),
    [
        (["--token=S"], ["--token=***"]),
        (["--api-key", "S", "t.py"], ["--api-key", "***", "t.py"]),
        (["--hf_token", "-S"], ["--hf_token", "***"]),
        (["--password", "--lr", "1"], ["--password", "--lr", "1"]),
        (
            ["wandb.api_key=S", "+trainer.authToken=S"],
            ["wandb.api_key=***", "+trainer.authToken=***"],
        ),
        # Where the value ends cannot be known, so all of it goes.
        (["password=a b; c"], ["password=***"]),
        (["-eHF_TOKEN=S", "--env=HF_TOKEN=S"], ["-eHF_TOKEN=***", "--env=HF_TOKEN=***"]),
        (["https://u:S@h/x"], ["https://***:***@h/x"]),
        (["https://S@h/x"], ["https://***@h/x"]),
        (["ssh://git@h/x", "git@h:x"], ["ssh://git@h/x", "git@h:x"]),
        (["postgres://u:a@b@h/db"], ["postgres://***:***@h/db"]),
        (["s3://b/k?sig=S&part=1"], ["s3://b/k?sig=***&part=1"]),
        (["x?X-Amz-Signature=S"], ["x?X-Amz-Signature=***"]),
        (["-H", "Authorization: Bearer S"], ["-H", "Authorization: Bearer ***"]),
        (
            ["bash", "-c", "export A_TOKEN=S; t --api-key S -x 1"],
            ["bash", "-c", "export A_TOKEN=***; t --api-key *** -x 1"],
        ),
        (["t --password 'a b' c"], ["t --password '***' c"]),
        (['{"password": "S", "lr": 1}'], ['{"password": "***", "lr": 1}']),
        (["A=b;AccountKey=S==;C=d"], ["A=b;AccountKey=***;C=d"]),
        (["ghp_" + SECRET * 2], ["***"]),
        (["x=hf_" + SECRET * 2, "sk-" + SECRET * 2], ["x=***", "***"]),
    ],
)
def test_masked(argv: list[str], masked: list[str]) -> None:
    assert list(mask_command(argv)) == masked


@pytest.mark.parametrize(
    "argument",
    [
        "--max-tokens=512",
        "--pad-token=<pad>",
        "--num-key-value-heads=8",
        "--tokenizer=gpt2",
        "--author=me",
        "--sort-key=a",
        "--eos_token_id=2",
        "--optimizer.passes=3",
        "--image-token=<i>",
        "--output=/data/run:1",
        "http://host:8080/x",
        "a=b:c",
        "--lr=1e-3",
        "--wandb-project=x",
        "deadbeefdeadbeefdeadbeefdeadbeefdeadbeef",
        "--local_rank=0",
        "--bypass=1",
        "a@b.c",
    ],
)
def test_left_alone(argument: str) -> None:
    assert mask_command([argument, "x"]) == (argument, "x")
    name, _, value = argument.partition("=")
    if value:
        assert mask_command([name, value]) == (name, value)


@pytest.mark.parametrize(
    "name",
    [
        "TOKEN",
        "hfToken",
        "--access-token",
        "HUGGING_FACE_HUB_TOKEN",
        "WANDB_API_KEY",
        "apikey",
        "AWS_SECRET_ACCESS_KEY",
        "db.password",
        "PGPASSWORD",
        "client-secret",
        "SLURM_JWT_TOKEN",
        "SLURM_JWT",
        "sas-token",
        "keyStorePassword",
        "--authkey",
    ],
)
def test_secret_names(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "--token-length",
        "--password-file",
        "PASS_RATE",
        "--sas_rec",
        "key_dim",
        "--no-jwt-enabled",
        "sort-key",
        "num_keys",
        "public-key",
        "--path",
        "design",
        "tokens_per_batch",
        "AUTH_MODE",
    ],
)
def test_names_without_a_secret(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("corpus", ["command_lines.txt", "command_lines_kept_back.txt"])
def test_credentials_are_masked_and_harmless_words_are_not(corpus: str, seed: int) -> None:
    score = scored(corpus, seed)
    print(
        f"{corpus}: {score.secrets} credentials, recall {score.recall:.2%}, precision"
        f" {score.precision:.2%}; {score.words} harmless words, {score.lost_ratio:.2%} masked"
    )
    assert score.recall >= 0.99, score.leaked
    assert score.lost_ratio <= 0.02, score.lost


def test_corpora_stay_masked() -> None:
    for line in lines_of("command_lines.txt"):
        masked = mask_command(line.argv)
        assert mask_command(masked) == masked
        assert len(masked) == len(line.argv)


PIECES = st.sampled_from(
    [
        "docker",
        "login",
        "-p",
        "-u",
        "curl",
        "wandb",
        "mysql",
        "-psecret",
        "a:b",
        "--token",
        "x=y",
        "HF_TOKEN=",
        "'",
        '"',
        ";",
        "|",
        "(",
        ")",
        "\\",
        " ",
        "\n",
        "https://",
        "u:p@h",
        "/hook/",
        "B7x",
        "Authorization: ",
        "Bearer ",
        "Cookie: ",
        "echo ",
        "--password-stdin",
        "Server=a;",
        "Pwd=",
        "***",
        "auth=(",
        "login(",
        "'KEY','v'",
        "eyJhbGciOi",
        "AKIA7",
        "-----BEGIN PRIVATE KEY-----",
        "$X",
        "0123456789abcdef0123456789abcdef",
        "password: ",
        "--from-literal=a=",
        "bash",
        "-c",
        "key=",
        "é",
    ]
)
WORDS = st.lists(PIECES, max_size=8).map("".join) | st.lists(PIECES, max_size=8).map(" ".join)


@given(st.lists(WORDS | st.text(max_size=40), max_size=6))
def test_masking_is_done_once_and_adds_little(argv: list[str]) -> None:
    masked = mask_command(argv)
    assert mask_command(masked) == masked
    assert len(masked) == len(argv)
    for before, after in zip(argv, masked, strict=True):
        assert len(after) <= 4 * len(before) + len(MASK)
    for argument in argv:
        assert mask_text(mask_text(argument)) == mask_text(argument)


NAMES = st.sampled_from(
    ["--token", "--api-key", "--db-password", "HF_TOKEN", "trainer.secret", "--access_token"]
)
SECRETS = st.text(string.ascii_letters + string.digits + "+/._~-", min_size=6).map("q".__add__)
NOISE = st.lists(st.text(max_size=12), max_size=3)


@given(NOISE, NAMES, SECRETS, NOISE, st.sampled_from(["{n}={s}", "x {n}={s} y", "u://u:{s}@h"]))
def test_no_secret_gets_through(
    before: list[str], name: str, secret: str, after: list[str], shape: str
) -> None:
    secret = "Q7#".replace("#", secret) if "/" not in secret or "u://" not in shape else "Q7secret"
    argument = shape.format(n=name, s=secret)
    masked = mask_command([*before, argument, *after])
    assert len(masked) == len(before) + 1 + len(after)
    assert secret not in masked[len(before)]


@given(NAMES, SECRETS)
def test_no_value_after_an_option_gets_through(name: str, secret: str) -> None:
    if name.startswith("--"):
        assert mask_command(["t", name, secret]) == ("t", name, MASK)


@given(st.lists(st.text(max_size=60)))
def test_the_shape_stays(argv: list[str]) -> None:
    masked = mask_command(argv)
    assert len(masked) == len(argv)
    assert mask_command(masked) == masked


@pytest.mark.parametrize(
    "piece",
    [
        "a-",
        '"',
        "a=:",
        "https://",
        "--token ",
        "bearer ",
        "eyJ",
        " ",
        "-----BEGIN ",
        "x:",
        "\\",
        "'",
        "(",
        "login('",
        "'a',",
        "echo x|",
        "login <<< ",
        "curl -u a:b ",
        "https://h/hook/",
        "Server=a;",
        "$(",
        "${",
        "token=${",
        "cookie:",
        "a1B2",
        "wandb login 'x ",
        '\\"',
        "%",
        "sk-",
        "hf_",
    ],
)
def test_long_hostile_text_takes_no_time(piece: str) -> None:
    mask_text(piece * (200_000 // len(piece)))
