"""What runs inside a training process: the standard library, and torch only where it is already there.

Importing this has no effect. It runs on Python 3.9 and later, from a folder of its own where gputop
is not installed in the job's environment, and nothing that goes wrong in it may reach the job.
"""
