# SPDX-License-Identifier: Apache-2.0
"""Decodes with a small language model of random weights, four texts at once, 96 tokens in each of five loops: every token is some 550
kernels of a few microseconds. Prints the tokens a second of each loop."""
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

TEXTS, TOKENS, LOOPS = 4, 96, 5

torch.manual_seed(0)
config = LlamaConfig(hidden_size=1024, intermediate_size=2816, num_hidden_layers=12, num_attention_heads=16, num_key_value_heads=4,
                     vocab_size=16000, bos_token_id=1, eos_token_id=2, pad_token_id=0)
model = LlamaForCausalLM(config).to("cuda", torch.bfloat16).eval()
prompt = torch.randint(5, 16000, (TEXTS, 64), device="cuda")


def decode(tokens):
    with torch.inference_mode():
        model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False)
    torch.cuda.synchronize()


decode(16)
speeds = []
for _ in range(LOOPS):
    begin = time.perf_counter()
    decode(TOKENS)
    speeds.append(TEXTS * TOKENS / (time.perf_counter() - begin))
print(" ".join(f"{speed:.0f}" for speed in sorted(speeds)), "tokens a second", flush=True)
