"""What the help says of findings, in the order in which a line tells it."""

from __future__ import annotations

from ..drawing.explanations import Term

LINE_TERMS = (
    Term(
        "a line",
        "How bad (mark), id of the rule, its name, what it is about, for how long, how sure, and the "
        "values that "
        "prove it. The same on several GPUs or ranks is one line.",
    ),
    Term(
        "explains:", "Symptoms of the finding above: fixed with it, and not counted on their own."
    ),
    Term(
        "costs",
        "Its price: the share of the affected ranks' or GPUs' time that is lost to it, over the last "
        "minute, and the GPU-hours so far. Worked out by its rule, read from the ledger, or that of its "
        "most expensive symptom; within a severity the most expensive finding comes first.",
    ),
    Term("next:", "What to do first. Key 6 has the whole runbook."),
    Term("pending", "Not certain yet: it must last for some time before it counts."),
    Term(
        "not seen for",
        "What it is about has not been read for so long; it counts until it is read again.",
    ),
    Term(
        "not evaluated",
        "Rules that cannot judge here, for a value that they need is not read; the reason follows.",
    ),
    Term("nothing found", "Every rule could look, and none has found anything."),
)
LIST_TERMS = (
    Term(
        "list",
        "Mark, id of the rule, its name, what it is about and for how long. Those under a fold are "
        "symptoms of the "
        "one above; pending: for how long it has held without being certain; cleared: how long ago.",
    ),
    Term(
        "costs",
        "Its price: the share of the affected ranks' or GPUs' time that is lost to it, over the last "
        "minute, and the GPU-hours so far. Worked out by its rule, read from the ledger, or that of its "
        "most expensive symptom; within a severity the most expensive finding comes first.",
    ),
    Term(
        "cannot be priced", "Nothing that is read tells how much time it takes; the reason follows."
    ),
    Term("pending", "Not certain yet: it must last for some time before it counts."),
    Term("cleared", "Findings that do not hold any more, of the last ten minutes."),
    Term("Evidence", "The values that prove the selected finding, with what they are compared to."),
    Term("Next", "What to do first."),
    Term("Explained by", "The cause of which this is a symptom."),
    Term("Explains", "Symptoms of this finding."),
    Term(
        "not evaluated",
        "Rules that cannot judge here, for a value that they need is not read; the reason follows.",
    ),
)
