"""Makes models.json out of a price table in LiteLLM's form: python3 trim.py < table.json > models.json

Each model is a row: [provider, context window, max output, price of an input token, of an output token, of a
token read from the cache, of one written to it, capabilities: v(ision) f(unction calling) r(easoning)].
"""

import json
import sys

NUMBERS = [
    "max_input_tokens",
    "max_output_tokens",
    "input_cost_per_token",
    "output_cost_per_token",
    "cache_read_input_token_cost",
    "cache_creation_input_token_cost",
]
CAPABILITIES = {"v": "supports_vision", "f": "supports_function_calling", "r": "supports_reasoning"}

rows = []
for name, model in sorted(json.load(sys.stdin).items()):
    if model.get("mode") in ("chat", "responses", "completion"):
        provider = model.get("provider") or model.get("litellm_provider")
        capabilities = "".join(letter for letter, field in CAPABILITIES.items() if model.get(field))
        row = [provider, *(model.get(field) for field in NUMBERS), capabilities]
        rows.append(json.dumps(name) + ":" + json.dumps(row, separators=(",", ":")))
print("{" + ",\n".join(rows) + "}")
