"""Write random lines for sort, or a web server's log for xz.

python make_data.py lines 5000000 lines.txt
python make_data.py log 600000 access.log
"""

import random
import sys
from pathlib import Path

WORDS = ("blog", "shop", "img", "api", "user", "item", "cart", "help")


def lines(count: int, chance: random.Random) -> bytes:
    """Lines of 20 hexadecimal digits."""
    digits = chance.randbytes(10 * count).hex()
    return "".join(f"{digits[start : start + 20]}\n" for start in range(0, 20 * count, 20)).encode()


def log(count: int, chance: random.Random) -> bytes:
    """Requests of many addresses for a few pages above all."""
    pages = [f"/{'/'.join(chance.choices(WORDS, k=3))}/{number}" for number in range(2000)]
    agents = [f"Mozilla/5.0 (X11; Linux x86_64; rv:{chance.randrange(60, 130)}.0) Gecko/20100101" for _ in range(40)]

    def request(number: int) -> str:
        host = ".".join(str(chance.randrange(256)) for _ in range(4))
        time = f"18/Nov/2026:{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02} +0000"
        page, size = pages[int(chance.random() ** 3 * len(pages))], chance.randrange(200, 90000)
        return f'{host} - - [{time}] "GET {page} HTTP/1.1" 200 {size} "-" "{chance.choice(agents)}"\n'

    return "".join(map(request, range(count))).encode()


if __name__ == "__main__":
    kind, count, path = sys.argv[1:]
    Path(path).write_bytes({"lines": lines, "log": log}[kind](int(count), random.Random(1)))
