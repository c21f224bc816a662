"""Whether a text is worth a closer look for credentials: most command lines are not."""

from __future__ import annotations

import re

from .secret_programs import HABITS

MASK = "***"
_NAMES = ("pass", "pwd", "secret", "token", "key", "auth", "cred", "cookie", "bearer", "signature")
_MORE = (
    "jwt",
    "netrc",
    "psk",
    "basic",
    "login",
    "extraheader",
    "://",
    "private key",
    "sudo -s",
    "stdin",
)
_HINTS = (*_NAMES, *_MORE)
_SHORT_NAMES = re.compile(r"(?i:pat|sas|sig|otp|pw)(?![a-z])")
_BETWEEN = dict.fromkeys(map(ord, "\0/;|&()=\"'`"), " ")
_PROGRAMS = frozenset(HABITS)

_SHAPE_STARTS = (
    "hf_",
    "api_org_",
    "sk-",
    "pk-",
    "rk-",
    "sk_",
    "pk_",
    "rk_",
    "gsk_",
    "gsk-",
    "xai-",
    "xai_",
    "pplx-",
    "pplx_",
    "tvly-",
    "tvly_",
    "csk-",
    "csk_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "gldt-",
    "glrt-",
    "glptt-",
    "glcbt-",
    "glsoat-",
    "glc_",
    "glsa_",
    "xoxa-",
    "xoxb-",
    "xoxc-",
    "xoxd-",
    "xoxe-",
    "xoxp-",
    "xoxr-",
    "xoxs-",
    "xapp-",
    "nvapi-",
    "dckr_",
    "pypi-Ag",
    "npm_",
    "rubygems_",
    "AKIA",
    "ASIA",
    "ABIA",
    "ACCA",
    "AIza",
    "ya29.",
    "GOCSPX-",
    "1//0",
    "wandb_v1_",
    "hvs.",
    "hvb.",
    "hvr.",
    "tskey-",
    "SG.",
    "doo_v1_",
    "dop_v1_",
    "dor_v1_",
    "lin_api_",
    "lin_oauth_",
    "shpat_",
    "shpca_",
    "shppa_",
    "shpss_",
    "dapi",
    "r8_",
    "AGE-SECRET-KEY-1",
    "whsec_",
    "sntrys_",
    "ATATT3",
    "ATCTT3",
    "PMAK-",
    "NRAK-",
    "xkeysib-",
    "lsv2_",
    "nfp_",
    "sbp_",
    "pul-",
    "figd_",
    "dp.pt.",
    "dp.st.",
    "dp.ct.",
    "dp.sa.",
    "key-",
    "eyJ",
)
"""What they begin with."""


def may_hold_secret(text: str) -> bool:
    """Whether a name or a program in the text could make it hold a credential; ``False`` is certain."""
    lowered = text.lower()
    return (
        any(hint in lowered for hint in _HINTS)
        or not _PROGRAMS.isdisjoint(text.translate(_BETWEEN).split())
        or _SHORT_NAMES.search(text) is not None
    )


def may_have_shape(text: str) -> bool:
    """Whether a key that is known by its form may be in the text; ``False`` is certain."""
    return any(start in text for start in _SHAPE_STARTS)
