"""A server of ours to try a client on: started, stopped and started again, with scripted models."""

import os
import pathlib
import signal
import subprocess
import tempfile

KEY = "k-of-the-test"


class Desk:
    """A data directory, a workspace and the server on them."""

    def __init__(self) -> None:
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="deft-clients-"))
        self.work = self.root / "work"
        self.work.mkdir()
        self.port = "0"
        self.start()

    def start(self) -> None:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root),
            "SESSION_API_KEY": KEY,
            # Long enough for a server to come back; no longer, or they outlive the tests.
            "DEFT_EXECUTOR_LINGER": "20",
        }
        command = [os.environ["DEFT"], "serve", "--port", self.port, "--data-dir", str(self.root / "data")]
        self.server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env, cwd=self.work)
        assert self.server.stdout is not None
        line = self.server.stdout.readline()
        self.host = line.split(" at ")[1].strip().rstrip("/")
        self.port = self.host.rsplit(":", 1)[1]

    def stop(self) -> None:
        self.server.send_signal(signal.SIGTERM)
        assert self.server.wait(timeout=30) == 0

    def kill(self) -> None:
        self.server.kill()
        self.server.wait(timeout=30)

    def script(self, name: str, steps: str) -> str:
        file = self.root / f"{name}.yaml"
        file.write_text(steps)
        return f"script:{file}"
