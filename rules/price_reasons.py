"""Why some findings cannot be priced, in words that several rules share."""

from __future__ import annotations

NO_LOSS_YET = "no time is lost to it yet: it is a risk"
NOT_KNOWN_HOW_MUCH = "how much faster the ranks would be without it is not known"
