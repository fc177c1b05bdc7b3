"""A server and a load generator as small as they come, and the faults that either can have.

python tiny.py serve PORT [FAULT]        python tiny.py load PORT CLIENTS [FAULT]
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

HOST, SECONDS = "127.0.0.1", 0.15


def serve(port: int, fault: str) -> None:
    """Answer every byte with one, in a thread per client."""
    if fault == "refuses":
        sys.exit("no such planet")
    if fault == "sleeps":
        time.sleep(60)
    if fault == "leaks":
        subprocess.Popen(["sleep", "60.0625"], start_new_session=True)
    if fault == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    listener = socket.create_server((HOST, port))
    if fault == "keeps-port" and os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.setsid()
        time.sleep(60)
    print(f"ready on {port} with {os.environ.get('WORKERS', '?')} workers", flush=True)
    answered = 0
    while True:
        client, _ = listener.accept()
        threading.Thread(target=answer, args=(client,), daemon=True).start()
        answered += 1
        if fault == "dies" and answered > 2:
            os._exit(3)


def answer(client: socket.socket) -> None:
    with client:
        while piece := client.recv(1):
            client.sendall(piece)


def load(port: int, clients: int, fault: str) -> None:
    """Ask for a while with every client, and print the rate and the slowest answer."""
    if fault == "silent":
        return
    times: list[float] = []
    threads = [threading.Thread(target=ask, args=(port, times)) for _ in range(clients)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"rate: {len(times) / (time.perf_counter() - start):.6f} per second")
    print(f"p99: {1e3 * sorted(times)[int(0.99 * len(times))]:.6f}ms")


def ask(port: int, times: list[float]) -> None:
    with socket.create_connection((HOST, port)) as server:
        end = time.perf_counter() + SECONDS
        while (start := time.perf_counter()) < end:
            server.sendall(b"?")
            if not server.recv(1):
                sys.exit("the server has gone")
            times.append(time.perf_counter() - start)


if __name__ == "__main__":
    what, number, *more = sys.argv[1:]
    if what == "serve":
        serve(int(number), more[0] if more else "")
    else:
        load(int(number), int(more[0]), more[1] if len(more) > 1 else "")
