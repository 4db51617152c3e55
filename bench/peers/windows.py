"""What a peer in Python tells the bench: a line of JSON when it is ready, and one after each window."""

import json
import sys


def serve(run, **ready):
    """Answers each line `run SECONDS` of standard input with `run(SECONDS)`, until it ends."""
    say({"ready": True, **ready})
    for line in sys.stdin:
        command, seconds = line.split()
        if command != "run":
            raise ValueError(f"command: received {command}; use run SECONDS")
        say(run(float(seconds)))


def say(answer):
    print(json.dumps(answer), flush=True)
