#!/usr/bin/env bash
# Everything that a GPU has to tell, in one command and in the order of its worth: what was found goes to results/gpu (or the folder given), a file
# a step. A step that has succeeded is not run again, so that a session that was cut off is gone on with by the same command.
#
#   scripts/gpu-day.sh [FOLDER] [--only STEP,...] [--force]
#
# Needs a driver and a CUDA toolkit of release 13; nothing is fetched. Where there is no Node, or nothing built, .gpu/bundle.tar.xz is unpacked
# first (scripts/gpu-pack.sh makes it).
set -uo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."

results=results/gpu
only=''
force=false
while (($# > 0)); do
  case $1 in
    --only) only=,$2, && shift ;;
    --force) force=true ;;
    --*) echo "gpu-day: received $1; the options are --only and --force" >&2 && exit 2 ;;
    *) results=$1 ;;
  esac
  shift
done
mkdir -p "$results"
failed=()

# step NAME SECONDS COMMAND...: its output in NAME.txt, with how long it took; NAME.done once it has succeeded.
step() {
  local name=$1 limit=$2 began=$SECONDS status=0
  shift 2
  if [[ -n $only && $only != *",$name,"* ]]; then return 0; fi
  if ! $force && [[ -e $results/$name.done ]]; then echo "$name: done before" && return 0; fi
  timeout --kill-after=10 "$limit" "$@" >"$results/$name.txt" 2>&1 || status=$?
  echo "$name: $([[ $status == 0 ]] && echo done || echo "FAILED ($status)") in $((SECONDS - began))s"
  if ((status == 0)); then touch "$results/$name.done"; else failed+=("$name") && tail -n 15 "$results/$name.txt"; fi
  return $status
}

unpack() {
  if [[ ! -e dist/src/index.js || ! -e native/build/Release/arbalest.node ]]; then
    [[ -e .gpu/bundle.tar.xz ]] || { echo 'gpu-day: nothing is built here and there is no .gpu/bundle.tar.xz' >&2; exit 1; }
    tar -xJf .gpu/bundle.tar.xz
  fi
  if [[ -d $PWD/bin && -x $PWD/bin/node ]]; then export PATH=$PWD/bin:$PATH; fi
  if [[ -d $PWD/lib ]]; then export LD_LIBRARY_PATH=$PWD/lib:${LD_LIBRARY_PATH:-}; fi
  # PyTorch's packages have cuDNN, cuBLASLt, NVRTC and NCCL, and their headers.
  local packages
  packages=$(python3 -c 'import site, sys; print(":".join(p for p in sys.path if p.endswith("-packages")))' 2>/dev/null)
  export ARBALEST_CUDA_PATH=${ARBALEST_CUDA_PATH:-$packages:${CUDA_HOME:-/usr/local/cuda}}
  export ARBALEST_CACHE=$PWD/$results/cache ARBALEST_PYTHON=${ARBALEST_PYTHON:-$(command -v python3)}
}

machine() {
  nvidia-smi && nvcc --version && node --version
  python3 -c 'import torch; print(torch.__version__, torch.version.cuda, torch.backends.cudnn.version())'
  node bin/arbalest.js doctor
}

unpack
# What `timeout` starts is a program, not a function of this one.
export -f machine
step toolkit 20 node scripts/setup-cuda.js --check
step build 280 node scripts/build-cuda.js --packed --arch "${ARBALEST_CUDA_ARCH:-90}"
step machine 60 bash -c machine
step operators 180 node scripts/test-gpu.js operators
step curves 150 node scripts/test-gpu.js curves
step probe-32 60 env CUDA_DEVICE_MAX_CONNECTIONS=32 native/build-cuda/Release/arbalest-cuda-probe
step synchronisers 120 node scripts/test-gpu.js synchronisers
step bench-resnet32 240 node bench/dist/main.js gpu resnet32 b16 k1 k8 bf16 --pairs 3 --seconds 2 --json
step probe-8 60 env CUDA_DEVICE_MAX_CONNECTIONS=8 native/build-cuda/Release/arbalest-cuda-probe
step bench-lenet 200 node bench/dist/main.js gpu lenet b16 k1 k8 bf16 --pairs 3 --seconds 2 --json
step memcheck 300 node scripts/test-gpu.js operators --sanitizer memcheck
step racecheck 300 node scripts/test-gpu.js operators --sanitizer racecheck
step bench-vgg16 300 node bench/dist/main.js gpu vgg16 b8 b64 k1 k4 bf16 --pairs 3 --seconds 2 --json
step bench-resnet50 400 node bench/dist/main.js gpu resnet50 b16 b32 k1 k2 bf16 --pairs 3 --seconds 3 --json
step learners 500 node bench/dist/main.js gpu resnet32 b8 b16 b32 b64 k1 k2 k4 k16 k32 bf16 --pairs 2 --seconds 2 --json

if ((${#failed[@]} > 0)); then echo "failed: ${failed[*]}; outputs in $results" && exit 1; fi
echo "all done; results in $results"
