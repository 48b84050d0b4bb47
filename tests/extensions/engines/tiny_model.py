"""Makes a tiny model with random weights, a byte-level tokenizer and a chat template; run inside an engine's environment.

Its answers mean nothing, but everything else about it is real: vLLM and transformers load it like any other.

python tiny_model.py FOLDER ADAPTER_FOLDER
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

CONTEXT_TOKENS = 2048
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] | trim }}"
    "{% if not loop.last or message['role'] != 'assistant' %}<|end|>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
_SPECIAL = ["<|begin|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]


def _tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=512,
        special_tokens=_SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([Path(__file__).read_text()], trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|begin|>", eos_token="<|end|>", pad_token="<|end|>"
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def _model(vocabulary: int) -> LlamaForCausalLM:
    torch.manual_seed(7)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=CONTEXT_TOKENS,
        initializer_range=0.2,  # scores far enough apart that rounding never decides
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=1,
        dtype="float32",
    )
    return LlamaForCausalLM(config)


def _save_adapter(model: LlamaForCausalLM, folder: Path) -> None:
    """A LoRA adapter whose matrices are no zeros, so that it changes what the model says."""
    rank, names = 8, ("q_proj", "v_proj")
    tensors = {}
    for layer in range(model.config.num_hidden_layers):
        for name in names:
            stem = f"base_model.model.model.layers.{layer}.self_attn.{name}"
            tensors[f"{stem}.lora_A.weight"] = torch.randn(rank, 64)
            tensors[f"{stem}.lora_B.weight"] = torch.randn(64, rank)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "adapter_model.safetensors")
    content = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": rank, "lora_alpha": rank}
    content |= {"target_modules": list(names), "base_model_name_or_path": "tiny"}
    (folder / "adapter_config.json").write_text(json.dumps(content))


def main(folder: Path, adapter: Path) -> None:
    tokenizer = _tokenizer()
    model = _model(len(tokenizer))
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
    _save_adapter(model, adapter)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
