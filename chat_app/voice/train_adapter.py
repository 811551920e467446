"""Train an adapter for an embedded model on written talks (LoRA; Hu et al. 2022, "LoRA: Low-Rank Adaptation of Large
Language Models", equation 3), and write it as the engine reads it.

The model's own GGUF file is read, so that the adapter learns on the very weights that it is added to. About a hundred
steps of 640 tokens take 23 minutes on two cores with bfloat16 units, for a model of 1.5 B.
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

from heard.chat_app.models.adapter_files import WEIGHTS
from heard.chat_app.voice.adapter_talks import MARK, SEED, Encode, Sequenced, TalksError
from heard.chat_app.voice.adapter_weights import write_weights

RANK, ALPHA = 8, 16
UPPER = 0.36
"""Below this share of the layers the model stays as it is: what words mean is settled there, and what lies below the
lowest adapted layer needs no gradient."""
RATE, WARM_UP, LEAST_RATE, CLIP = 3e-4, 10, 0.05, 1.0
"""AdamW's learning rate, steps until it is reached, the share of it that is left at the end of the cosine, and the
longest gradient."""
KEEP_EVERY = 10
"""Steps between two copies on the disk, from which a broken run goes on."""
NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
"""The adapted matrices of a layer, by transformers' names and by llama.cpp's."""

OnProgress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Learnt:
    """How well the replies of talks that were kept apart are foretold: mean loss of a token, in nats."""

    before: float
    after: float
    tokens: int
    """Of the replies that it was measured on."""


class AdapterTrainer:
    """A model whose own weights stay, and the few beside them that learn."""

    def __init__(self, model: Path) -> None:
        """`model` is a GGUF file. Reading it takes half a minute."""
        torch.manual_seed(SEED)
        folder, name = str(model.parent), model.name
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, gguf_file=name)
        if self.encode(MARK) != [self._tokenizer.convert_tokens_to_ids(MARK)]:
            raise TalksError(f"{name} does not mark turns with {MARK}, and no others can be learnt yet. Choose a Qwen.")
        base = AutoModelForCausalLM.from_pretrained(
            folder, gguf_file=name, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
        )
        layers = base.config.num_hidden_layers
        adapted = list(range(round(UPPER * layers), layers))
        config = LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=list(NAMES), layers_to_transform=adapted)
        self._config: Any = base.config
        self._model: Any = get_peft_model(base, config)
        self._base: Any = self._model.base_model.model

    @property
    def encode(self) -> Encode:
        """Tokens of a text with chat marks."""
        return lambda text: list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def train(
        self, learnt: Sequence[Sequenced], kept: Sequence[Sequenced], keep: Path, identity: str, on_progress: OnProgress
    ) -> Learnt:
        """Read every sequence once, in an order of chance. With a copy of an earlier run in `keep` that has the same
        `identity`, go on from there."""
        parameters = [parameter for parameter in self._model.parameters() if parameter.requires_grad]
        optimizer = torch.optim.AdamW(parameters, lr=RATE, weight_decay=0.0, betas=(0.9, 0.98))
        order = list(learnt)
        random.Random(SEED).shuffle(order)
        steps = len(order)
        rates = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, steps))
        state = torch.load(keep, weights_only=True) if keep.exists() else {}
        if state.get("identity") == identity:
            set_peft_model_state_dict(self._model, state["weights"])
            optimizer.load_state_dict(state["optimizer"])
            rates.load_state_dict(state["rates"])
            first, before = int(state["step"]), float(state["before"])
        else:
            first, before = 0, self._loss_on(kept)
        self._model.train()
        for step in range(first, steps):
            on_progress("learning", step, steps)
            self._loss(order[step])[0].backward()
            torch.nn.utils.clip_grad_norm_(parameters, CLIP)
            optimizer.step()
            rates.step()
            optimizer.zero_grad(set_to_none=True)
            if step % KEEP_EVERY == KEEP_EVERY - 1:
                _keep(keep, {
                    "identity": identity, "step": step + 1, "before": before, "rates": rates.state_dict(),
                    "optimizer": optimizer.state_dict(), "weights": self._weights(),
                })  # fmt: skip
        on_progress("learning", steps, steps)
        return Learnt(before, self._loss_on(kept), sum(sum(one.replies) for one in kept))

    def write(self, folder: Path) -> Path:
        """Write the strongest part of the weights as llama.cpp reads them; return the file."""
        halves: dict[str, dict[str, torch.Tensor]] = {}
        for name, value in sorted(self._weights().items()):
            layer, matrix, half = _parts(name)
            if half == "b" and self._config.model_type == "llama":
                value = as_llama_cpp(value, matrix, self._config.num_attention_heads, self._config.num_key_value_heads)
            halves.setdefault(f"blk.{layer}.{NAMES[matrix]}.weight", {})[half] = value
        path = folder / WEIGHTS
        write_weights(
            path, str(self._config.model_type), {k: (v["a"], v["b"] * (ALPHA / RANK)) for k, v in halves.items()}
        )
        return path

    def _weights(self) -> dict[str, Any]:
        return dict(get_peft_model_state_dict(self._model, save_embedding_layers=False))

    def _loss_on(self, kept: Sequence[Sequenced]) -> float:
        self._model.eval()
        with torch.no_grad():
            losses = [(float(loss), number) for loss, number in map(self._loss, kept)]
        return sum(loss * number for loss, number in losses) / sum(number for _, number in losses)

    def _loss(self, one: Sequenced) -> tuple[Any, int]:
        """The mean loss of a sequence's reply tokens, and their number."""
        tokens, talks = torch.tensor([one.tokens]), torch.tensor(one.talks)
        seen = (talks[None, :] == 0) | (talks[None, :] == talks[:, None])
        seen &= torch.ones_like(seen).tril()
        mask = torch.zeros(seen.shape, dtype=torch.bfloat16).masked_fill(~seen, torch.finfo(torch.bfloat16).min)
        states = self._base.model(
            input_ids=tokens,
            position_ids=torch.tensor([one.positions]),
            attention_mask=mask[None, None],
            use_cache=False,
        ).last_hidden_state[0]
        at = torch.nonzero(torch.tensor(one.replies))[:, 0]
        # Of the vocabulary's 150,000 logits only those are made that are learnt from.
        logits = self._base.lm_head(states[at - 1]).float()
        return cross_entropy(logits, tokens[0, at]), len(at)


def as_llama_cpp(outer: torch.Tensor, matrix: str, heads: int, kv_heads: int) -> torch.Tensor:
    """The rows of a Llama's query or key in llama.cpp's order, which has the two halves of each head interleaved
    (convert_hf_to_gguf.py, `permute`); those of any other matrix as they are."""
    number = {"self_attn.q_proj": heads, "self_attn.k_proj": kv_heads}.get(matrix)
    if number is None:
        return outer
    return outer.reshape(number, 2, len(outer) // number // 2, -1).transpose(1, 2).reshape(outer.shape)


def _rate(step: int, steps: int) -> float:
    """The share of the learning rate at a step: up in a line, then down along a cosine."""
    cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, step / steps)))
    return min(1.0, (step + 1) / WARM_UP) * (LEAST_RATE + (1 - LEAST_RATE) * cosine)


def _parts(name: str) -> tuple[str, str, str]:
    """Layer, matrix and half of transformers' name of an adapter's tensor: "....layers.3.mlp.up_proj.lora_A.weight"."""
    layer, _, rest = name.rpartition("layers.")[2].partition(".")
    matrix, _, half = rest.removesuffix(".weight").rpartition(".lora_")
    return layer, matrix, half.lower()


def _keep(path: Path, state: dict[str, Any]) -> None:
    """A copy that is whole or not there."""
    part = path.with_suffix(".part")
    torch.save(state, part)
    part.replace(path)
