"""The keys with which pilots and driver know each other (CurveZMQ), carried to the node in the pilot's batch script.

A batch script is the scheduler's, which hands it to the node and shows it only to the user and to administrators. So
nodes need no folder in common with the driver. They get the keys of a client, and of the server only the public one.
Parsl reads keys from files: the pilot makes a folder for them that only the user may enter, and removes it at its end.
"""

import os
import runpy
import shlex
import shutil
import signal
import sys
import tempfile
from pathlib import Path

KEYS = "SCALING_PILOT_KEYS"

# Stands in the arguments of Parsl's worker pool for the pilot's folder, which has no name before it is on the node.
PILOT_FOLDER = "@pilot-folder@"

POOL = "parsl.executors.high_throughput.process_worker_pool"

# A certificate as zmq.auth reads it; keys are written in Z85, whose characters need no escapes in quotes.
CERTIFICATE = 'metadata\ncurve\n    public-key = "{public}"\n    secret-key = "{secret}"\n'


def command(python: str) -> str:
    """How a batch script becomes a pilot, once it has its keys."""
    return f"exec {shlex.quote(python)} -P -m scaling.running.engines.pilot_keys"


def export_line(certificates: Path) -> str:
    """The line of a batch script that carries the keys: a client's, and the server's public one."""
    import zmq.auth

    client, secret = zmq.auth.load_certificate(certificates / "client.key_secret")
    server, _ = zmq.auth.load_certificate(certificates / "server.key")
    return f"export {KEYS}={':'.join(key.hex() for key in (client, secret or b'', server))}"


def write_certificates(folder: Path, keys: str) -> None:
    """Write keys as the files that Parsl reads.

    It reads the server's secret key too, without a use for it in a client, which stands in for it here.
    """
    client, secret, server = (bytes.fromhex(key).decode("ascii") for key in keys.split(":"))
    for name, public in (("client", client), ("server", server)):
        path = folder / f"{name}.key_secret"
        path.touch(mode=0o600)
        path.write_text(CERTIFICATE.format(public=public, secret=secret))


def main() -> None:
    """Be Parsl's worker pool, with the keys of the environment."""
    folder = Path(tempfile.mkdtemp(prefix="scaling-pilot-"))
    signal.signal(signal.SIGTERM, lambda number, _: _remove_and_end(folder, number))
    try:
        write_certificates(folder, os.environ.pop(KEYS))
        sys.argv[1:] = [argument.replace(PILOT_FOLDER, str(folder)) for argument in sys.argv[1:]]
        runpy.run_module(POOL, run_name="__main__", alter_sys=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_and_end(folder: Path, number: int) -> None:
    """End as the signal would have ended us: Parsl's threads wait for each other otherwise."""
    shutil.rmtree(folder, ignore_errors=True)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


if __name__ == "__main__":
    main()
