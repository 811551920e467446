"""A small Llama with a tokenizer and a chat template of its own, taught one answer: real weights without a network."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

ANSWER = "That sounds hard. I am here with you, and I would like to hear more."
QUESTION = "I feel low today."
ROOM = 256
"""Tokens that it can read and write together."""
TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system message') }}{% endif %}"
MARKS = ("<|system|>", "<|user|>", "<|assistant|>", "<|end|>")


def save_weights(folder: Path) -> Path:
    """Train it for a second or two, and save it as transformers does. After any message it gives ANSWER, and ends."""
    torch.manual_seed(7)
    tokenizer = _tokenizer()
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=ROOM, eos_token_id=tokenizer.eos_token_id, bos_token_id=None,
        pad_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    optimiser = torch.optim.AdamW(model.parameters(), lr=5e-3)
    answer = tokenizer(ANSWER + "<|end|>")["input_ids"]
    asked = [_asked(tokenizer, said) for said in ("", QUESTION, "Hello", "My cat is ill and my job is gone.")]
    for step in range(120):
        read = asked[step % len(asked)]
        tokens = torch.tensor([read + answer])
        labels = torch.tensor([[-100] * len(read) + answer])
        loss = model(input_ids=tokens, labels=labels).loss
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _asked(tokenizer: PreTrainedTokenizerFast, said: str) -> list[int]:
    messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": said}]
    return list(tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True)["input_ids"])


def _tokenizer() -> PreTrainedTokenizerFast:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=list(MARKS), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )  # fmt: skip
    made.train_from_iterator([ANSWER, QUESTION, "Be kind."] * 3, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<|end|>", additional_special_tokens=list(MARKS[:3])
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer
