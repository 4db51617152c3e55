"""kernel-times.py: what `ncu --csv --print-units base --metrics gpu__time_duration.sum` writes, from stdin, as the time of each kernel: its launches,
their microseconds together and on average, its share of all. Ends with 1 where nothing was measured, after what ncu said instead."""

import csv
import sys
from collections import defaultdict

lines = sys.stdin.read().splitlines()
# What the measured program and ncu itself say comes before the table.
begin = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
times = defaultdict(list)
for row in csv.DictReader(lines[begin:]):
    if row.get("Metric Name") == "gpu__time_duration.sum":
        times[row["Kernel Name"]].append(float(row["Metric Value"].replace(",", "")) / 1000)
if not times:
    print("\n".join(lines[-15:]))
    sys.exit("kernel-times: no launch was measured")

total = sum(map(sum, times.values()))
print(f"{'launches':>8} {'us':>10} {'us each':>8} {'share':>6}  kernel")
for name, each in sorted(times.items(), key=lambda item: -sum(item[1])):
    print(f"{len(each):8} {sum(each):10.1f} {sum(each) / len(each):8.2f} {sum(each) / total:6.1%}  {name[:160]}")
print(f"{sum(map(len, times.values())):8} {total:10.1f}")
