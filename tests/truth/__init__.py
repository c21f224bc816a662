"""The corpus that keeps verdicts true: real jobs, faulty and healthy, and what gputop says of them."""
