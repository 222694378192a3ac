"""Which databases the settings name."""

from pathlib import Path

import pytest
from footnote_edge.adapters.database import Database
from footnote_edge.settings import Settings
from pydantic import ValidationError

OIDC = {
    "AUTH": "jwt",
    "JWT_JWKS_URL": "https://login.example/keys",
    "JWT_ISSUER": "https://login.example",
    "OIDC_CLIENT_ID": "console",
}


@pytest.mark.parametrize(
    ("own", "jobs", "expected"),
    [
        ("", "", "sqlite:///folder/jobs.db"),
        ("sqlite+aiosqlite:///x.db", "", "sqlite:///folder/jobs.db"),
        ("postgresql://u@h/d", "", "postgresql://u@h/d"),
        ("postgresql+asyncpg://u@h/d", "", "postgresql://u@h/d"),
        ("postgresql://u@h/d", "postgresql+asyncpg://u@h/jobs", "postgresql://u@h/jobs"),
        ("postgresql://u@h/d", "sqlite:///jobs.db", "sqlite:///jobs.db"),
    ],
)
def test_jobs_are_kept_with_the_rest_unless_told_otherwise(own: str, jobs: str, expected: str) -> None:
    assert Settings(database_url=own, jobs_database_url=jobs).dbos_url(Path("folder")) == expected


@pytest.mark.parametrize(
    ("url", "driver"),
    [
        ("sqlite:///x.db", "aiosqlite"),
        ("postgresql://u@h/d", "asyncpg"),
        ("postgres://u@h/d", "asyncpg"),
        ("postgresql+psycopg://u@h/d", "asyncpg"),
    ],
)
async def test_the_driver_is_ours_whatever_the_url_names(url: str, driver: str) -> None:
    database = Database(url)
    assert database.engine.dialect.driver == driver
    await database.close()


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"AUTH": ""}, "auth"),
        ({"AUTH": " "}, "auth"),
        ({"AUTH": ","}, "auth"),
        ({"AUTH": "keys,"}, "auth"),
        ({"AUTH": "none"}, "auth"),
        ({"AUTH": "off"}, "auth"),
        ({"AUTH": "Keys"}, "auth"),
        ({"AUTH": "keys,jwt"}, "jwt_jwks_url"),
        ({"AUTH": "jwt", "JWT_JWKS_URL": "http://x", "JWT_AUDIENCE": ""}, "jwt_audience"),
        ({"AUTH": "jwt", "JWT_JWKS_URL": "http://x", "JWT_DEFAULT_ROLE": "root"}, "jwt_default_role"),
        ({"AUTH": "keys", "KEYLESS": "true"}, "keyless"),
        ({"KEYLESS": "perhaps"}, "keyless"),
        ({"FIRST_KEY_FILE": "/data/k"}, "first_key_file"),
        ({"CORS_ORIGINS": "*"}, "cors_origins"),
        ({"CORS_ORIGINS": "null"}, "cors_origins"),
        ({"CORS_ORIGINS": ""}, "cors_origins"),
        ({"AUTH": "keys", "CORS_ORIGINS": "console.example"}, "cors_origins"),
        ({"AUTH": "keys", "CORS_ORIGINS": "https://a.example/path"}, "cors_origins"),
        ({"ALLOWED_HOSTS": "*"}, "allowed_hosts"),
        ({"OIDC_CLIENT_ID": "console"}, "jwt in auth"),
        ({"AUTH": "keys", "OIDC_CLIENT_ID": "console"}, "jwt in auth"),
        ({**OIDC, "JWT_ISSUER": ""}, "jwt_issuer"),
        ({**OIDC, "JWT_ISSUER": "http://login.example"}, "jwt_issuer"),
        ({**OIDC, "JWT_ISSUER": "https://login.example; script-src *"}, "jwt_issuer"),
        ({**OIDC, "JWT_ISSUER": "https://a@login.example"}, "jwt_issuer"),
        ({**OIDC, "JWT_ISSUER": "https://login.example/?x"}, "jwt_issuer"),
        ({**OIDC, "JWT_ISSUER": "https://login.example/a#"}, "jwt_issuer"),
        ({**OIDC, "JWT_ISSUER": "javascript://login.example"}, "jwt_issuer"),
        ({**OIDC, "OIDC_SCOPES": "profile"}, "oidc_scopes"),
        ({**OIDC, "OIDC_SCOPES": "openid  profile"}, "oidc_scopes"),
        ({**OIDC, "OIDC_TOKEN": "id"}, "jwt_audience"),
        ({**OIDC, "OIDC_TOKEN": "refresh"}, "oidc_token"),
        ({**OIDC, "OIDC_ORIGINS": "*"}, "oidc_origins"),
        ({**OIDC, "OIDC_ORIGINS": "https://a.example/token"}, "oidc_origins"),
        ({"AUTH": "keys", "OIDC_SCOPES": "openid"}, "oidc_scopes has no effect"),
        ({"AUTH": "keys", "OIDC_ORIGINS": "https://a.example"}, "oidc_origins has no effect"),
        ({"ALLOWED_HOSTS": "a.example:80"}, "allowed_hosts"),
        ({"ALLOWED_HOSTS": "a.example,,b"}, "allowed_hosts"),
    ],
)
def test_a_switch_that_opens_a_door_is_clear_or_nothing_starts(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], said: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"FOOTNOTE_EDGE_{name}", value)
    with pytest.raises(ValidationError, match=said):
        Settings()


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"AUTH": "keys", "CORS_ORIGINS": "*"},
        {"AUTH": " keys , jwt ", "JWT_JWKS_URL": "http://x"},
        {"CORS_ORIGINS": "http://localhost:3000, https://[::1]:8443", "ALLOWED_HOSTS": "footnote.lan,fd00::1"},
        {"KEYLESS": "true"},
        OIDC,
        {**OIDC, "JWT_ISSUER": "https://login.example/realms/a", "OIDC_SCOPES": "openid offline_access"},
        {**OIDC, "JWT_ISSUER": "http://127.0.0.1:8080", "OIDC_ORIGINS": "https://tokens.example"},
        {**OIDC, "OIDC_TOKEN": "id", "JWT_AUDIENCE": "console"},
    ],
)
def test_what_is_clear_starts(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"FOOTNOTE_EDGE_{name}", value)
    assert set(Settings().auth) == {part.strip() for part in variables.get("AUTH", "").split(",") if part.strip()}


def test_an_installation_with_a_higher_limit_of_questions_still_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTE_EDGE_MAX_QUESTION_CHARACTERS", "50000")
    assert Settings().max_question_characters == 20_000
