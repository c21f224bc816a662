"""Values that look like credentials, masked before a text leaves this process.

The shape stays: the same number of arguments, names and hosts as they were. Where it is not clear
whether a value is a credential, it is masked; only names that training scripts use for something else
(``--max-tokens``, ``--num-key-value-heads``) and values that cannot be one (``true``, ``$TOKEN``) are let
through. `secret_names` knows names, `secret_programs` the habits of programs, `secret_values` the forms
of keys, `secret_urls` addresses.
"""

from __future__ import annotations

from collections.abc import Sequence

from .secret_hints import MASK, may_have_shape, may_hold_secret

__all__ = ["MASK", "is_secret_name", "mask_command", "mask_text"]

_ROUNDS = 4
"""A mask changes how what stands around it reads; so it is looked at again, until nothing changes."""


def is_secret_name(name: str) -> bool:
    """Whether a variable or option of this name holds a credential."""
    if not may_hold_secret(name):
        return False
    from .secret_names import is_secret_name as is_one

    return is_one(name)


def mask_command(argv: Sequence[str]) -> tuple[str, ...]:
    """The argument vector with every value that looks like a credential replaced by `MASK`."""
    before = tuple(argv)
    for _ in range(_ROUNDS):
        joined = "\0".join(before)
        shaped = may_have_shape(joined)
        if not shaped and not may_hold_secret(joined):
            break
        from .masking import (
            masked_command,  # most commands need none of it: the first frame comes sooner
        )

        masked = masked_command(before, shaped=shaped)
        if masked == before:
            break
        before = masked
    return before


def mask_text(text: str) -> str:
    """One argument, value or sentence, masked.

    Of a text of several lines each is given by itself: a word that announces a secret may mask all that
    follows it.
    """
    for _ in range(_ROUNDS):
        before = text
        if may_hold_secret(text):
            from .masking import masked_text

            text = masked_text(text, code=False)
        if may_have_shape(text):
            from .secret_values import mask_shapes

            text = mask_shapes(text)
        if text == before:
            break
    return text
