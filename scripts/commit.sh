#!/usr/bin/env bash
# Prints of which commit the sources are, and where they have been changed since, a + and six digits of how: two changed trees are not one.
set -euo pipefail
commit=$(git rev-parse --short=12 HEAD)
if [[ -n $(git status --porcelain) ]]; then
  commit+=+$({ git diff HEAD --binary && git ls-files --others --exclude-standard -z | xargs -0 -r sha256sum --; } | sha256sum | cut -c1-6)
fi
echo "$commit"
