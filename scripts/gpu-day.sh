#!/usr/bin/env bash
# Everything that a GPU has to tell, in one command and in the order of its worth: what was found goes to results/gpu (or the folder given), a file
# a step. A step that has run to its end is not run again for the same commit, whatever came of it: a session that was cut off is gone on with by the
# same command, also on another machine, where the folder has been brought along.
#
#   scripts/gpu-day.sh [FOLDER] [--within SECONDS] [--archive FILE] [--only STEP,...] [--force]
#
#   --within   ends in this time, with 3 where steps are left: a step that would hardly come to its end in what is left of it waits for the next
#              call, and shorter ones go before it
#   --archive  the folder as one .tar.gz, written anew after every step
#   --only     these steps, and what sets the machine up
#   --force    also those that have run
#
# Needs a driver and a CUDA toolkit of release 13; nothing is fetched. Where there is no Node, or nothing built, .gpu/bundle.tar.xz is unpacked
# first (scripts/gpu-pack.sh makes it), and again where it is another one. CIFAR-10's six files (.xz) in .gpu/cifar-10 are unpacked to
# $ARBALEST_DATA (/tmp/arbalest-data), and may come in several turns: `--only data` takes what has come and ends.
set -uo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."

results=results/gpu
only=''
force=false
within=''
archive=''
while (($# > 0)); do
  case $1 in
    --only) only=,${2:-}, && shift ;;
    --within) within=${2:-} && shift ;;
    --archive) archive=${2:-} && shift ;;
    --force) force=true ;;
    --*) echo "gpu-day: received $1; the options are --within, --archive, --only and --force" >&2 && exit 2 ;;
    *) results=$1 ;;
  esac
  shift
done
if [[ -n $within && ! $within =~ ^[1-9][0-9]*$ ]]; then echo "--within: received $within; give whole seconds" >&2 && exit 2; fi
mkdir -p "$results"
results=$(cd -- "$results" && pwd)
failed=()
left=()
begun=false
running=''
keeping=''

# `timeout` ends what it has started, and with a shell not what that shell has: what is left of its process group would keep memory and time of the GPU
# from the next step. What is killed lets go of its memory a moment later.
end_running() {
  local tries=30
  [[ -n $running ]] || return 0
  if kill -KILL -- "-$running" 2>/dev/null; then
    while ((tries-- > 0)) && kill -0 -- "-$running" 2>/dev/null; do sleep 0.1; done
  fi
  running=''
}
trap 'end_running; end_keeping; exit 130' INT
trap 'end_running; end_keeping; exit 143' TERM HUP

# Seconds that a step needs at least, and of its limit, which few come near to, so many hundredths; seconds in which a bench makes a few of its
# measurements, whose journal the next turn goes on with; seconds that this script's own end takes; with what a step ends that has kept what it has
# found so far and is to be gone on with; seconds between two archives of a step that runs.
least=20 share=70 some=90 reserve=15 unfinished=75 often=60

# run NAME SECONDS COMMAND...: its output in NAME.txt. `limit` is what it got.
run() {
  local name=$1
  limit=$2
  shift 2
  if [[ -n $within ]]; then
    local rest=$((within - SECONDS - reserve))
    if ((rest < limit)); then limit=$rest; fi
    # To `timeout` 0 is for ever.
    if ((limit < 1)); then limit=1; fi
  fi
  # Added to what an earlier turn has found.
  echo "== $(date -u +%FT%TZ), at most $limit s: $*" >>"$results/$name.txt"
  local status=0
  step_seconds=$limit timeout --kill-after=10 "$limit" "$@" >>"$results/$name.txt" 2>&1 &
  running=$!
  wait "$running" || status=$?
  end_running
  return $status
}

# What PyTorch has compiled goes along where it is not much: without it, it is compiled again.
keep() {
  [[ -n $archive ]] || return 0
  local without=() megabytes
  megabytes=$(du -sm "$results/cache/inductor" 2>/dev/null | { read -r size _; echo "${size:-0}"; })
  if ((megabytes > 30)); then without=(--exclude=./cache/inductor); fi
  tar -C "$results" "${without[@]}" -czf "$archive.part" . && mv -f -- "$archive.part" "$archive"
}

# While a step runs, and no longer than this script: what it has found is there even where the call is ended with the step.
keep_often() {
  # An archive that is being written is written to its end.
  trap 'kill "$!" 2>/dev/null; exit' TERM
  while kill -0 $$; do sleep "$often" & wait $!; keep; done >/dev/null 2>&1
}

end_keeping() {
  [[ -n $keeping ]] || return 0
  kill "$keeping" 2>/dev/null
  wait "$keeping" 2>/dev/null
  keeping=''
}

# report NAME STATUS SECONDS: one line, and the last words of what failed.
report() {
  local name=$1 status=$2 took=$3 word=done
  if ((status == 124 || status == 137)); then word="FAILED (no end after $limit s)"; elif ((status != 0)); then word="FAILED ($status)"; fi
  echo "$name: $word in ${took}s"
  if ((status != 0)); then failed+=("$name") && tail -n 15 "$results/$name.txt"; fi
}

# set_up NAME SECONDS COMMAND...: every time, for the machine may be another one.
set_up() {
  local began=$SECONDS status=0
  run "$@" || status=$?
  report "$1" $status $((SECONDS - began))
  return $status
}

# fits LIMIT: the first step of a turn does with less, for the next turn will hardly be longer; so does a bench.
fits() {
  [[ -n $within ]] || return 0
  local rest=$((within - SECONDS - reserve)) wanted=$(($1 * share / 100))
  if ${resumable:-false} && ((wanted > some)); then wanted=$some; fi
  ((rest >= least)) && { ! $begun || ((rest >= wanted)); }
}

# chosen NAME: by --only, which leaves out none where it is not given.
chosen() { [[ -z $only || $only == *",$1,"* ]]; }

# marked NAME WORD: whether NAME.WORD is there and tells of this commit and kind of GPU; one of another says nothing of what is here.
marked() { [[ -e $results/$1.$2 && $(<"$results/$1.$2") == "$commit on $gpu" ]]; }

# step NAME SECONDS COMMAND...: NAME.done or NAME.failed once it has run to its end; not failed where the machine is what was missing.
step() {
  local name=$1 began=$SECONDS status=0
  if ! chosen "$name"; then return 0; fi
  if ! $force && marked "$name" 'done'; then echo "$name: done before" && return 0; fi
  if ! $force && marked "$name" failed; then
    echo "$name: FAILED before; --only $name --force runs it again" && failed+=("$name") && return 1
  fi
  if ! fits "$2"; then left+=("$name") && return 3; fi
  begun=true
  rm -f -- "$results/$name".{done,failed}
  keep_often &
  keeping=$!
  run "$@" || status=$?
  end_keeping
  if ((limit < $2 && (status == 124 || status == 137))); then
    echo "$name: cut off after ${limit}s, to be run again" && left+=("$name") && keep && return 3
  fi
  if ((status == unfinished)); then
    echo "$name: not whole after $((SECONDS - began))s, to be gone on with" && left+=("$name") && keep && return 3
  fi
  report "$name" $status $((SECONDS - began))
  if ((status == 0)); then echo "$commit on $gpu" >"$results/$name.done"; elif $ready; then echo "$commit on $gpu" >"$results/$name.failed"; fi
  keep
  return $status
}

# bench NAME SECONDS COMMAND...: a step that keeps each of its measurements, and goes on with the others in the next turn.
bench() { resumable=true step "$@"; }

# What has come of CIFAR-10: there need be no xz.
data=${ARBALEST_DATA:-/tmp/arbalest-data}
take_data() {
  local packed file
  for packed in .gpu/cifar-10/*.xz; do
    [[ -e $packed ]] || continue
    file=${packed##*/} && file=$data/cifar-10/${file%.xz}
    if [[ -e $file ]]; then continue; fi
    mkdir -p "$data/cifar-10"
    python3 -c 'import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.argv[1]), open(sys.argv[2], "wb"))' "$packed" "$file.part" &&
      mv -f -- "$file.part" "$file" && echo "data: $file"
  done
}

# The images for training, and those for the test.
has_cifar() {
  local name
  for name in data_batch_{1..5} test_batch; do [[ -e $data/cifar-10/$name.bin || -e $data/cifar-10/$name.bin.xz ]] || return 1; done
}

unpack() {
  local bundle=.gpu/bundle.tar.xz here='' wanted=false
  if [[ -e $bundle ]]; then here=$(sha256sum <$bundle); fi
  if [[ -n $here && $here != "$(cat .gpu/unpacked 2>/dev/null)" ]]; then wanted=true; fi
  # Of what was unpacked before, a checkout that was brought up to date since may have kept a part alone.
  if [[ -n $here ]] && { [[ ! -x bin/node ]] || ! compgen -G 'lib/*' >/dev/null; }; then wanted=true; fi
  if [[ -n $here && -e .gpu/with-airbench && ! -d bench/peers/airbench ]]; then wanted=true; fi
  if $wanted || [[ ! -e dist/src/index.js || ! -e native/build/Release/arbalest.node ]]; then
    [[ -n $here ]] || { echo 'gpu-day: nothing is built here and there is no .gpu/bundle.tar.xz' >&2; exit 1; }
    if command -v xz >/dev/null; then tar -xJf $bundle; else python3 -c "import tarfile; tarfile.open('$bundle').extractall()"; fi ||
      { echo "gpu-day: $bundle cannot be unpacked by tar with xz, nor by python3" >&2; exit 1; }
    echo "$here" >.gpu/unpacked
  fi
  if [[ -x $PWD/bin/node ]]; then export PATH=$PWD/bin:$PATH; fi
  # What our CPU library is linked with was another machine's: PyTorch shall have this one's.
  local given=${LD_LIBRARY_PATH:-} python=${ARBALEST_PYTHON:-$(command -v python3)}
  mkdir -p .gpu
  printf '#!/usr/bin/env bash\nLD_LIBRARY_PATH=%q exec %q "$@"\n' "$given" "${python:-python3}" >.gpu/python
  chmod +x .gpu/python
  export ARBALEST_PYTHON=$PWD/.gpu/python
  if [[ -d $PWD/lib ]]; then export LD_LIBRARY_PATH=$PWD/lib${given:+:$given}; fi
  # Where neither the PATH nor CUDA_HOME has the toolkit, compute-sanitizer and nvcc are in its usual place.
  export PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
  # Nsight Compute has a folder a release.
  local nsight=(/opt/nvidia/nsight-compute/*/)
  if [[ -d ${nsight[-1]} ]]; then export PATH=$PATH:${nsight[-1]%/}; fi
  # PyTorch's packages have cuDNN, cuBLASLt, NVRTC and NCCL, and their headers.
  local packages
  packages=$(python3 -c 'import sys; print(":".join(p for p in sys.path if p.endswith("-packages")))' 2>/dev/null)
  export ARBALEST_CUDA_PATH=${ARBALEST_CUDA_PATH:-$packages:${CUDA_HOME:-/usr/local/cuda}}
  export ARBALEST_CACHE=$results/cache
  export TORCHINDUCTOR_CACHE_DIR=$results/cache/inductor
  # Of the packed sources, which have come without their history.
  if [[ -e .gpu/commit ]]; then ARBALEST_COMMIT=$(cat .gpu/commit) && export ARBALEST_COMMIT; fi
  commit=${ARBALEST_COMMIT:-$(scripts/commit.sh 2>/dev/null || echo unknown)}
  gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null)
  gpu=${gpu%%$'\n'*}
}

# What is here, each in a command of its own: one that is missing does not hide the others.
machine() {
  local missing=0
  rm -f -- "$results/no-cuda"
  nvidia-smi || missing=1
  nvcc --version || missing=1
  node --version || missing=1
  python3 -c 'import torch; print(torch.__version__, torch.version.cuda, torch.backends.cudnn.version())' || missing=1
  # It ends with 0 where there is a GPU that cannot be trained on: a CPU is all that it needs.
  node bin/arbalest.js doctor --json | python3 -c '
import json, sys
told = sys.stdin.read()
print(told)
checks = [check for line in told.splitlines() if line.startswith("{") for check in json.loads(line).get("checks", [])]
if not any(check["name"] == "CUDA" and check["status"] == "present" for check in checks):
    sys.exit("machine: backend cuda cannot be used here; the check named CUDA says why")' || { missing=1 && touch "$results/no-cuda"; }
  return $missing
}

take_data
if [[ $only == ,data, ]]; then exit 0; fi
unpack
# What `timeout` starts is a program, not a function of this one.
export -f machine
export results
set_up toolkit 20 node scripts/setup-cuda.js --check
ready=true
set_up build 280 node scripts/build-cuda.js --packed --arch "${ARBALEST_CUDA_ARCH:-90}" || ready=false
set_up machine 60 bash -c machine || ready=false
keep
# Everything else would measure PyTorch alone, or nothing.
if [[ -e $results/no-cuda ]]; then
  echo 'gpu-day: backend cuda cannot be used here, so nothing else is run; results of the step machine say why'
  exit 1
fi
# kernels NAME LEARNERS LOCKSTEP SKIPPED LAUNCHES: what each kernel of ResNet-32 takes, of about a step of each learner; unrecorded, so that launches
# are seen one by one.
kernels() {
  set -o pipefail
  export ARBALEST_CUDA_GRAPHS=0
  # It trains until it is ended.
  local child=(node bench/dist/learners-child.js resnet32 16 "$2" bf16 cuda "$3")
  # Plans that this GPU has none of yet are searched for: those launches are not to be measured, nor to be timed beside a profiler.
  timeout --foreground --kill-after=5 20 "${child[@]}" </dev/null
  # After the first steps.
  ncu --clock-control none --cache-control none --metrics gpu__time_duration.sum --csv --print-units base --target-processes all \
    --launch-skip "$4" --launch-count "$5" --kill yes "${child[@]}" </dev/null |
    tee "$results/$1.csv" | python3 scripts/cuda/kernel-times.py
}
export -f kernels
# What is to be reached: the last line says whether it was.
target() { python3 scripts/cuda/target.py "$@"; }
export -f target
# ResNet-20 to its accuracy, as a user would.
accuracy() {
  set -o pipefail
  node bin/arbalest.js train --json --no-config --backend cuda --precision bf16 --model resnet20 --data cifar-10 --data-dir "$data/cifar-10" \
    --batch 32 --learners 4 --lr 0.1 --lr-schedule one-cycle --epochs 30 --seed 1 | target testAccuracy least 0.88
}
export -f accuracy
# Eight replicas of ResNet-32's size, averaged within 25 microseconds. The other probes have steps of their own: the first figure ends it.
average() { native/build-cuda/Release/arbalest-cuda-probe average | target --first averageMicroseconds most 25 probe=average learners=8; }
export -f average
export data
# measure BENCH WORDS...: every measurement is in a journal of results/gpu as soon as it is made, and none is made twice; nothing is begun that would
# hardly end in the step's time.
measure() {
  local hundredths=$(((step_seconds - 20) * 100 / 60))
  if ((hundredths < 1)); then hundredths=1; fi
  # It ends in time by itself, unless something hangs. Cut off it has lost one measurement. In the step's process group, which is ended with it.
  local most=$((step_seconds > 11 ? step_seconds - 10 : 1)) status=0
  timeout --foreground --kill-after=5 "$most" \
    node bench/dist/main.js "$@" --json --out "$results" --budget "$((hundredths / 100)).$(printf %02d $((hundredths % 100)))" || status=$?
  if ((status == 124 || (status == 137 && SECONDS >= most))); then return "$unfinished"; fi
  return $status
}
gpu() { measure gpu "$@"; }
# without PART VARIABLE WORDS...: what a part of ours is worth, which the variable turns off: our learners with it and without it, one after the other,
# each in a journal of its own.
without() {
  local part=$1 variable=$2 all=$results value
  shift 2
  step_seconds=$((step_seconds / 2))
  for value in 1 0; do
    export "$variable=$value"
    results=$all/$part-$value
    gpu "$@" --peers none || return $?
  done
}
# CIFAR-10 to 94% by many learners, and by airbench94 in turns with them.
record() {
  if [[ -e .gpu/with-airbench && ! -d bench/peers/airbench ]]; then echo 'record: the package airbench was packed and is gone' && return 1; fi
  ARBALEST_DATA=$data measure record cuda n20
}
export -f measure gpu without record
export unfinished
# What works, banks before anything is measured in them, and one comparison with what PyTorch does without compiling first.
step operators 180 node scripts/test-gpu.js operators
step curves 150 node scripts/test-gpu.js curves
step banks 120 node scripts/test-gpu.js banks
bench bench-first 260 bash -c 'gpu resnet32 b16 k1 k8 bf16 graph --pairs 3 --seconds 2'
# Many learners: on streams, in lockstep, in one bank and in two.
bench bench-banks 200 bash -c 'gpu resnet32 b16 k32 bf16 graph --pairs 3 --seconds 2'
# What may cost many learners more than it gives: blocks that wait for the kernel before them have their place on the GPU meanwhile.
bench bench-without-dependent 150 bash -c 'without dependent ARBALEST_CUDA_DEPENDENT_LAUNCH resnet32 b16 k32 k1 bf16 --seconds 2'
step average 60 bash -c average
# Whether kernels of different amounts of shared memory keep each other from a multiprocessor, as those of many learners have them.
step split 30 env CUDA_DEVICE_MAX_CONNECTIONS=32 native/build-cuda/Release/arbalest-cuda-probe split
bench bench-compiled 300 bash -c 'gpu resnet32 b16 k1 bf16 graph compile-graph --pairs 3 --seconds 2'
step synchronisers 120 node scripts/test-gpu.js synchronisers
# on_cifar KIND NAME SECONDS
on_cifar() {
  if has_cifar; then "$1" "$2" "$3" bash -c "$2"; elif chosen "$2"; then echo "$2: left out, there is no whole CIFAR-10 in $data/cifar-10"; fi
}
on_cifar step accuracy 120
on_cifar bench record 540
# What parts of ours are worth.
bench bench-without-sums 150 bash -c 'without sums ARBALEST_CUDA_SUMS resnet32 b16 k1 k32 bf16 --seconds 2'
bench bench-without-side 150 bash -c 'without side ARBALEST_CUDA_SIDE_BRANCH resnet32 b16 k1 k32 bf16 --seconds 2'
bench bench-without-readback 150 bash -c 'without readback ARBALEST_CUDA_READBACK lenet b16 k1 k8 bf16 --seconds 2'
# The figures that are to be reached, and why where they are not.
bench bench-resnet32 300 bash -c 'gpu resnet32 b16 k1 k8 bf16 eager graph streams stacked --pairs 3 --seconds 2'
# Attention by tiles beside PyTorch's.
bench bench-gpt 280 bash -c 'gpu gpt b16 k1 k8 bf16 eager graph streams --pairs 3 --seconds 2'
profile() {
  if command -v ncu >/dev/null; then step "$1" "$2" bash -c "kernels $1 $3"; elif chosen "$1"; then echo "$1: left out, there is no ncu on this machine"; fi
}
profile kernels 140 '1 false 3000 400'
profile kernels-k8 260 '8 true 24000 3200'
profile kernels-k8-apart 260 '8 false 24000 3200'
step faults 180 node scripts/test-gpu.js faults
step probe-32 90 env CUDA_DEVICE_MAX_CONNECTIONS=32 native/build-cuda/Release/arbalest-cuda-probe
step probe-8 90 env CUDA_DEVICE_MAX_CONNECTIONS=8 native/build-cuda/Release/arbalest-cuda-probe
step memcheck 300 node scripts/test-gpu.js operators --sanitizer memcheck
# The grid: 1 to 32 learners of each model and batch, without compiling first.
grid=(resnet32-b16 lenet-b16 vgg16-b16 resnet50-b16 resnet32-b8 resnet32-b32 resnet32-b64 lenet-b64 vgg16-b64 resnet50-b32 lenet-b8 lenet-b32 vgg16-b8 vgg16-b32)
for part in "${grid[@]}"; do
  bench "grid-$part" 540 bash -c "gpu full ${part/-/ } eager graph streams stacked --pairs 3 --seconds 1.5"
done
step memcheck-synchronisers 400 node scripts/test-gpu.js banks synchronisers --sanitizer memcheck
step memcheck-curves 500 node scripts/test-gpu.js curves --sanitizer memcheck
step racecheck 300 node scripts/test-gpu.js operators --sanitizer racecheck
for part in "${grid[@]}"; do
  bench "compiled-$part" 540 bash -c "gpu full ${part/-/ } --pairs 3 --seconds 1.5"
done

if ((${#failed[@]} > 0)); then echo "failed: ${failed[*]}; outputs in $results"; fi
if ((${#left[@]} > 0)); then echo "left: ${left[*]}; the same command goes on with them" && exit 3; fi
if ((${#failed[@]} > 0)); then exit 1; fi
echo "all done; results in $results"
