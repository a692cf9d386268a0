"""Makes a vocabulary out of a `.tiktoken` file: python3 vocabulary.py < o200k_base.tiktoken > o200k_base.deflate

Deflated: the lengths of all tokens, a byte each, in the order of their ranks, then all tokens without a gap. Seven
tenths smaller than the text they come from.
"""

import base64
import sys
import zlib

tokens = []
for rank, line in enumerate(sys.stdin):
    token, number = line.split()
    assert int(number) == rank
    tokens.append(base64.b64decode(token))
data = bytes(map(len, tokens)) + b"".join(tokens)
packer = zlib.compressobj(9, zlib.DEFLATED, -15)
sys.stdout.buffer.write(packer.compress(data) + packer.flush())
