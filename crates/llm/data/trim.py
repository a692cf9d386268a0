"""Makes models.json out of a price table in LiteLLM's form: python3 trim.py < table.json > models.json

Each model is a row: [provider, context window, max output, price of an input token, of an output token, of a
token read from the cache, of one written to it, capabilities], and where a long prompt costs more: [longest prompt
at those prices, the four prices above it]; then the price of a reasoning token, where that is another. A capability is a letter, in upper case where the table says that the
model lacks it: v(ision) f(unction calling) r(easoning) p(arallel calls) a(daptive thinking) s(ystem messages)
t(emperature and the like) e(ndpoint of the Responses API) c(hat endpoint).
"""

import json
import re
import sys

LIMITS = ["max_input_tokens", "max_output_tokens"]
PRICES = [
    "input_cost_per_token",
    "output_cost_per_token",
    "cache_read_input_token_cost",
    "cache_creation_input_token_cost",
]
CAPABILITIES = {
    "v": "supports_vision",
    "f": "supports_function_calling",
    "r": "supports_reasoning",
    "p": "supports_parallel_function_calling",
    "a": "supports_adaptive_thinking",
    "s": "supports_system_messages",
    "t": "supports_sampling_params",
}


def capabilities(model):
    known = {letter: model.get(field) for letter, field in CAPABILITIES.items()}
    endpoints = model.get("supported_endpoints")
    if endpoints:
        known["e"] = "/v1/responses" in endpoints
        known["c"] = "/v1/chat/completions" in endpoints
    elif model["mode"] == "responses":
        known["e"], known["c"] = True, False
    letters = ((letter, known[letter]) for letter in known if known[letter] is not None)
    return "".join(letter if has else letter.upper() for letter, has in letters)


def price(model, field):
    """Prices have at most 12 decimals; what is beyond is noise of somebody's arithmetic."""
    value = model.get(field)
    return value if value is None else round(value, 12)


def long_prices(model):
    """The prices above a size: no model has more than one such size."""
    for field in model:
        if size := re.fullmatch(r"input_cost_per_token_above_(\d+)k_tokens", field):
            suffix = f"_above_{size[1]}k_tokens"
            return [[int(size[1]) * 1000, *(price(model, name + suffix) for name in PRICES)]]
    return []


rows = []
for name, model in sorted(json.load(sys.stdin).items()):
    if model.get("mode") in ("chat", "responses", "completion"):
        provider = model.get("provider") or model.get("litellm_provider")
        row = [provider, *(model.get(field) for field in LIMITS), *(price(model, field) for field in PRICES)]
        row += [capabilities(model), *long_prices(model)]
        reasoning = price(model, "output_cost_per_reasoning_token")
        if reasoning is not None and reasoning != price(model, "output_cost_per_token"):
            row += [None] * (9 - len(row)) + [reasoning]
        rows.append(json.dumps(name) + ":" + json.dumps(row, separators=(",", ":")))
print("{" + ",\n".join(rows) + "}")
