"""Redacts private variables and values that look like secrets. Pure.

Secrets are recognised by the name before them, or by the format of well-known services. This is a precaution, not a
guarantee: a secret belongs in a file that the program reads.
"""

import re
from functools import lru_cache

# Variables of a run that its row leaves out: the user, and folders that reveal the user.
PRIVATE_VARIABLES = (
    *("USER", "LOGNAME", "HOME", "SHELL"),
    *("PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX"),
)

# The categories of a locale; ssh forwards all variables whose names begin with LC_.
LOCALE_VARIABLES = tuple(
    f"LC_{category}"
    for category in (
        *("ALL", "ADDRESS", "COLLATE", "CTYPE", "IDENTIFICATION", "MEASUREMENT", "MESSAGES"),
        *("MONETARY", "NAME", "NUMERIC", "PAPER", "TELEPHONE", "TIME"),
    )
)

LEFT_OUT = "***"

_WORD = (
    r"(?:token(?![a-z])|secret|passw(?:or)?d|passphrase|credential|auth(?:orization)?(?![a-z])|"
    r"(?:api|access|private|account)[-_]?key)"
)
_VALUE = r"""(\\"(?:[^"\\]|\\[^"])*\\"|"[^"]*"|'[^']*'|[^\s"',;\\\]]+)"""
# Texts of others may be long, so patterns begin only where a run of name characters begins, and read each run once.
_SECRETS = (
    (re.compile(rf"(?i)((?<![\w.-])(?=[\w.-]*{_WORD})[\w.-]+[\x22']?\s*[=:]\s*){_VALUE}"), rf"\1{LEFT_OUT}"),
    (re.compile(rf"(?i)((?<![\w.-])--?(?=[\w.-]*{_WORD})[\w.-]+(?:[\x22']\s*,)?\s+)(?!-){_VALUE}"), rf"\1{LEFT_OUT}"),
    (re.compile(r"(://[^/\s:@]*:)[^@\s/]+(?=@)"), rf"\1{LEFT_OUT}"),
    (
        re.compile(
            r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|hf_|AKIA|ASIA)[\w-]{10,}|\bsk-[\w-]{20,}|"
            r"(?<![\w-])eyJ[\w-]{10,}\.[\w-]+\.[\w-]*"
        ),
        LEFT_OUT,
    ),
)


@lru_cache(maxsize=4096)
def is_private(variable: str) -> bool:
    """Whether a variable is left out of rows and pages."""
    foreign_locale = variable.startswith("LC_") and variable not in LOCALE_VARIABLES
    return variable in PRIVATE_VARIABLES or foreign_locale or re.search(_WORD, variable, re.IGNORECASE) is not None


@lru_cache(maxsize=256)
def without_secrets(text: str) -> str:
    """Text with *** for every value that looks like a secret."""
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text


def without_home(text: str, home: str | None) -> str:
    """Text with ~ for the user's home."""
    if home is None or len(home.rstrip("/")) < 2:
        return text
    return re.sub(rf"{re.escape(home.rstrip('/'))}(?![\w.-])", "~", text)
