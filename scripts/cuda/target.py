"""target.py [--first] FIELD least|most VALUE [KEY=VALUE ...]: passes on the lines of stdin as they come, and ends with 1 where the last FIELD of those
that are JSON objects with these keys misses the target, or where there is none; with --first it is the first one's, after which nothing is read."""

import json
import sys

given = sys.argv[1:]
first = given[0] == "--first"
field, side, value, *keys = given[first:]
target, wanted, found = float(value), dict(key.split("=") for key in keys), None
for line in sys.stdin:
    print(line, end="", flush=True)
    try:
        told = json.loads(line)
    except ValueError:
        continue
    if isinstance(told, dict) and isinstance(told.get(field), (int, float)) and all(str(told.get(key)) == each for key, each in wanted.items()):
        found = told[field]
        if first:
            break
if found is None:
    sys.exit(f"target: {field} was not measured")
reached = found >= target if side == "least" else found <= target
print(f"target: {field} is {found:g}, at {side} {target:g} wanted{'' if reached else ': MISSED'}")
sys.exit(0 if reached else 1)
