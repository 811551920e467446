"""Settings, read once and frozen: environment (`HEARD_...`) over `settings.toml` over the defaults below.

An unknown key, in the file or as a `HEARD_` variable, is refused with the nearest right name, because a misspelt
setting that is silently ignored is how a study runs under the wrong condition.
"""

import os
import re
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from heard.chat_app.common.addresses import checked_ancestors, checked_host, checked_root
from heard.errors import UserError
from heard.hints import closest
from heard.toml_values import TomlFault, read_values
from heard.validation import faults_of

PREFIX = "HEARD_"
FILE_NAME = "settings.toml"
LONGEST_NAME = 255
"""Bytes of a file's or a folder's name."""
SECRET = ("database_url", "researcher_token", "api_token")
"""Settings whose values, or a part of them, are never shown."""


class SettingsError(UserError):
    """A setting that cannot be used; `str()` names the file or variable, the fault and the next step."""


class Settings(BaseSettings):
    """Everything that a deployment may set. The line under a field is its meaning and unit."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="forbid", use_attribute_docstrings=True, env_ignore_empty=True,
        allow_inf_nan=False,
    )  # fmt: skip

    host: str = "127.0.0.1"
    """Address to listen on. Loopback unless a proxy with TLS stands in front."""
    port: int = Field(default=8000, ge=1, le=65535)
    """TCP port of the page."""
    public_host: str = ""
    """Name by which browsers reach the page through a proxy, such as "chat.example.org", without scheme and port.
    Requests for other names are refused (loopback names always work)."""
    root_path: str = ""
    """Path below that name, such as "/heard", if the page is not at its top (docs/deploy.md)."""
    frame_ancestors: Annotated[tuple[str, ...], NoDecode] = ()
    """Sites that may show the pages in a frame, such as ["https://lab.example.org"]; cookies are then partitioned by
    site, and Secure. Empty: no site may."""
    data_dir: Path = Path("var")
    """Folder of the database, the cookie secret and the page's own files."""
    cache_dir: Path = Field(default_factory=lambda: platformdirs.user_cache_path("heard"))
    """Folder of the downloaded model and encoder; shared between checkouts."""
    database_url: str = ""
    """SQLAlchemy URL with an async driver; empty means SQLite in `data_dir`."""
    models_file: Path = Path("models.toml")
    """Model entries beside the built-in ones; may be absent."""
    prompts_dir: Path | None = None
    """Folder with some of personas/, strategies/, policies/, examples/, guidance.yaml, summary.yaml and
    bot_answers.yaml of your own. What it does not hold comes with heard; unset means all of it."""
    persona_word: str = Field(default="supportive listener", min_length=1, max_length=60)
    """What the persona is called. "therapist" is forbidden for an AI in some places, so it is not the default."""
    operator: str = Field(default="", max_length=200)
    """Who runs this site, and how to reach them, such as "the Empathy Lab (lab@example.org)", told to people who ask.
    Empty: a general phrase."""
    operator_name: str = Field(default="", max_length=200)
    """Who is responsible for this site and for what is stored, as the notice names them."""
    contact: str = Field(default="", max_length=300)
    """How to reach them, such as an address or an e-mail address."""
    purpose: str = Field(default="", max_length=600)
    """What the site is for, and what is done with what people write: a sentence of the notice."""
    legal_basis: str = Field(default="", max_length=600)
    """On which legal ground data about people's health are kept, such as "your explicit consent (GDPR, articles 6(1)(a)
    and 9(2)(a))": a sentence of the notice."""
    complaint_authority: str = Field(default="", max_length=300)
    """Where people may complain about it: the data protection authority, with its address."""
    retention_days: int = Field(default=0, ge=0, le=36_500)
    """Days after which messages, their replies and what was made of them are deleted, once a day; 0 keeps them until
    people erase them. What the votes of a study need stays until the study has ended (`heard study end`)."""
    places: Annotated[tuple[str, ...], NoDecode] = ()
    """Places whose rules for chats with an AI are followed, such as ["US-CA", "EU"]; `heard places` lists them. Where
    several apply, the strictest of each holds. Empty: it is said once that this is an AI, and it is for adults only."""
    places_file: Path = Path("places.toml")
    """Rules of places beside, or in place of, those that come with heard; may be absent (docs/places.md)."""
    nudge_after_minutes: int = Field(default=120, ge=0, le=1440)
    """Minutes of talk without a break of half an hour after which a quiet note suggests one; 0 never."""
    nudge_after_days: int = Field(default=30, ge=0, le=365)
    """Days in a row with a message after which a quiet note speaks of people to talk to; 0 never. A shorter
    `retention_days` turns it off."""
    embedded: str = "auto"
    """Model that runs in this process: a name of `heard models list`, or auto for the best that this machine's memory
    and disk carry."""
    default_model: str = ""
    """Entry of the models that a new visitor starts with; empty: the embedded one."""
    default_strategy: str = "plain"
    """Strategy that a new visitor starts with."""
    research_mode: bool = False
    """Whether people may choose a strategy, and a persona without a system text such as the founding study's. Off: the
    panel and the menu lack them; conversations that have them go on, and studies and commands use them all the same."""
    scorer_head: str = "both"
    """A head: both, counselling or everyday (`scorer/heads/`), or a path to a folder of your own. For `heard score`,
    `compare` and `evaluate` also a classifier's folder or "judge:MODEL"."""
    live_scores: bool = True
    """Whether a new visitor sees scores."""
    scores_outside_studies: bool = True
    """Whether that holds for a new visitor too who is in no study: off, they see scores once they turn them on."""
    auto_improve: bool = False
    """Whether a low reply is written again, for a new visitor."""
    auto_improve_threshold: float = Field(default=1.7, ge=1, le=3)
    """Empathy, or what else the policy watches (1..3), under which auto-improve writes a reply again, for a new
    visitor. It takes the place of `below` in a policy of the kind "below threshold", and moves no other."""
    improve_policy: str = "below-threshold"
    """Policy that auto-improve follows while it is on, in the chat and in studies: a file's name in
    `prompts/policies/`."""
    blind_study: str = ""
    """Live study that answers every message with a blind ballot: the name of a stored one, or the path of its file
    (TOML), which is then stored at start. Empty: no ballots."""
    blind_arms: str = ""
    """The same without a file: two to five "persona/strategy/model", separated by commas."""
    blind_auto_improve: Literal["off", "on", "trial"] = "off"
    """With `blind_arms`: whether low answers are written again, never, always, or by chance for each answer."""
    message_limit: int = Field(default=8000, ge=100, le=100_000)
    """Longest message in characters; a longer one is refused with a sentence."""
    crisis_turns: int = Field(default=5, ge=5, le=100)
    """How many turns after a hand-off are answered by reviewed fixed texts, at least; fewer once the person has said
    that they are safe."""
    crisis_model: str = ""
    """A larger model that answers those turns in their place, an entry of the models: under a safety prompt of heard's
    own and with the guard. What it may not say is said by a fixed text. Empty: fixed texts alone."""
    first_token_seconds: float = Field(default=60.0, gt=0)
    """How long a server may stay silent before its first token, counted from the moment it has a free slot."""
    stall_seconds: float = Field(default=30.0, gt=0)
    """How long a started stream may pause before it counts as cut."""
    total_seconds: float = Field(default=180.0, gt=0)
    """How long a whole reply may take, from its first call to its last token; what has arrived by then is kept."""
    save_seconds: float = Field(default=5.0, gt=0, le=3600)
    """How long a write waits for a database that another process has locked."""
    visitor_per_minute: int = Field(default=120, ge=0, le=100_000)
    """How often one visitor (one cookie) may send something in a minute: forms, votes, texts and what a chat's page
    sends; 0 sets no limit."""
    address_per_minute: int = Field(default=1200, ge=0, le=1_000_000)
    """The same for one address, which many people may share; 0 sets no limit. This machine's own address has none."""
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = ()
    """Addresses or networks of proxies whose X-Forwarded-For tells where a request comes from, such as ["127.0.0.1"].
    Empty: that header is not believed."""
    enrolments_per_address: int = Field(default=200, ge=0, le=1_000_000)
    """How many people of one address a study without a list (`allow`) takes in a day, in memory alone: whoever clears
    cookies counts as new. 0 sets no limit."""
    session_days: int = Field(default=365, ge=0, le=400)
    """Days for which a browser is known after the questions on the first page were answered; 0: until it is closed."""
    secure_cookies: bool = False
    """Set the Secure flag on cookies. Turn on wherever the page is served by TLS."""
    researcher_token: str = Field(default="", repr=False)
    """Long random text (20 characters or more, no spaces) that opens `/results` and `/desk` to whoever leads the
    studies; empty leaves them to the holders of links with a role (`heard study invite`)."""

    api_token: str = Field(default="", repr=False)
    """Long random text (20 characters or more, no spaces) with which programs on other machines may ask `/api/score`,
    in the header "Authorization: Bearer ..."; empty: programs on this machine alone."""

    @field_validator("*", mode="before")
    @classmethod
    def _of_letters(cls, value: Any) -> Any:
        """Refuse what no path, address or page can hold: NUL, and bytes of the environment that are no text."""
        if any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in str(value)):
            raise ValueError("holds a character that is none: NUL, or a byte that is not UTF-8. Write it again")
        return value

    @field_validator("data_dir", "cache_dir", "models_file", "places_file", "prompts_dir")
    @classmethod
    def _at_home(cls, value: Path | None) -> Path | None:
        """Read "~" as a shell does."""
        found = value and Path(os.path.expanduser(value))
        if found and any(len(os.fsencode(part)) > LONGEST_NAME for part in found.parts):
            raise ValueError("has a name in it that is too long for a file")
        return found

    @field_validator("database_url")
    @classmethod
    def _async_driver(cls, value: str) -> str:
        if value and not value.startswith(("sqlite+aiosqlite://", "postgresql+asyncpg://")):
            raise ValueError("needs an async driver: sqlite+aiosqlite:///path or postgresql+asyncpg://...")
        return value

    @field_validator("public_host")
    @classmethod
    def _name_alone(cls, value: str) -> str:
        return checked_host(value)

    @field_validator("root_path")
    @classmethod
    def _path_alone(cls, value: str) -> str:
        return checked_root(value)

    @field_validator("frame_ancestors")
    @classmethod
    def _origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return checked_ancestors(value)

    @field_validator("places", "frame_ancestors", "trusted_proxies", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        """Take "US-CA, EU" of a variable for a list, as the file has it."""
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for one in value:
            try:
                ip_network(one, strict=False)
            except ValueError:
                raise ValueError('needs addresses or networks, such as "127.0.0.1" or "10.0.0.0/8"') from None
        return value

    @field_validator("researcher_token", "api_token")
    @classmethod
    def _long_token(cls, value: str) -> str:
        if value and (len(value) < 20 or any(map(str.isspace, value))):
            raise ValueError("needs 20 characters or more, and no spaces")
        return value

    @property
    def database(self) -> str:
        """The SQLAlchemy URL in force."""
        # In an address a question mark begins parameters, and a per cent sign a character.
        file = os.path.realpath(self.data_dir / "heard.db").replace("%", "%25").replace("?", "%3F")
        return self.database_url or f"sqlite+aiosqlite:///{file}"


def load_settings(folder: Path | None = None, *, file: bool = True, **overrides: Any) -> Settings:
    """Read `settings.toml` in `folder` (default: the working directory) and the environment; `overrides` win over both.

    Without `file` the environment alone: in another program's folder a file of that name is not ours.

    Raises SettingsError for an unknown key, a value out of range, a models file that is not there, or a file that is
    not TOML.
    """
    path = (folder or Path.cwd()) / FILE_NAME
    values = _file_values(path) if file else {}
    _check_variables()
    # pydantic would let the file win over the environment
    values = {key: value for key, value in values.items() if not _variable(key)}
    try:
        settings = Settings(**{**values, **overrides})
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        source = str(path) if name in values else f"{PREFIX}{name.upper()}"
        # A database URL can hold a password, so it is never repeated; nor is the token.
        fault = faults_of(error, Settings.model_json_schema(), quote=name not in SECRET)[0]
        raise SettingsError(f"{source}: {fault.sentence}") from None
    for name in ("models_file", "places_file") if file else ():
        named: Path = getattr(settings, name)
        if name in settings.model_fields_set and not os.path.isfile(named):  # which raises nothing
            source, usual = _variable(name) or str(path), Settings.model_fields[name].default
            raise SettingsError(
                f'{source}: {name}: there is no file "{named}". Name one that is there, or remove the '
                f"setting: {usual} is read if there is one."
            )
    return settings


def setting_sources(folder: Path | None = None) -> dict[str, str]:
    """Return the source of each setting that `load_settings` returns: a variable's name, the file's, or "default".

    Raises SettingsError.
    """
    values = _file_values((folder or Path.cwd()) / FILE_NAME)
    return {name: _variable(name) or (FILE_NAME if name in values else "default") for name in Settings.model_fields}


def printable_value(settings: Settings, name: str) -> str:
    """Return a setting's value as text to print, with secrets replaced by `***`; "-" if it is unset."""
    value = getattr(settings, name)
    if value is None or value in ("", ()):
        return "-"
    if isinstance(value, tuple):
        return ", ".join(value)
    if name == "database_url":
        return re.sub(r"\?.*", "?***", re.sub(r"(://[^:/@]*):.*@", r"\1:***@", value))
    return "***" if name in SECRET else str(value)


def _file_values(path: Path) -> dict[str, Any]:
    """Return the settings in the file; {} if there is no file. Raises SettingsError for bad TOML or an unknown name."""
    if not os.path.lexists(path):
        return {}
    try:
        values = read_values(path)
    except TomlFault as error:
        raise SettingsError(str(error)) from None
    known = set(Settings.model_fields)
    for key in values:
        if key not in known:
            raise SettingsError(f'{path}: unknown setting "{key}".{_nearest(key, known)}')
    return values


def _check_variables() -> None:
    known = set(Settings.model_fields)
    for variable in os.environ:
        key = variable.removeprefix(PREFIX).lower()
        if variable.startswith(PREFIX) and key not in known:
            raise SettingsError(f"Unknown environment variable {variable}.{_nearest(key, known, as_variable=True)}")


def _variable(name: str) -> str:
    """Return the environment variable that sets a setting; "" if there is none or it is empty."""
    return next((key for key, value in os.environ.items() if value and key.upper() == f"{PREFIX}{name.upper()}"), "")


def _nearest(key: str, known: set[str], *, as_variable: bool = False) -> str:
    match = closest(key, known)
    if match is None:
        return " `heard settings` lists them."
    return f" Did you mean {PREFIX + match.upper() if as_variable else match}?"
