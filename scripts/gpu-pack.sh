#!/usr/bin/env bash
# Packs what `scripts/gpu-day.sh` needs on a machine with a GPU and without a network into .gpu/bundle.tar.xz, about 48 MB: Node, the packages
# that running needs, everything compiled, oneDNN, and the headers that a CUDA toolkit does not bring. Carry it there in the checkout.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
node scripts/build-cuda.js --packed --check || {
  echo 'gpu-pack: the CUDA library is not of these sources, and would be compiled there for minutes: run npm run build:cuda -- --arch 90 first' >&2
  exit 1
}
# Of these sources too, and for whatever processor is there.
# The bench after the package, whose output it imports: one call for both would have looked for that before it is there.
node node_modules/typescript/bin/tsc -b .
node node_modules/typescript/bin/tsc -b bench
# With the stand-in, whose lowering some of the tests ask for.
ARBALEST_KERNELS=all node scripts/build-native.js --tests
# A fresh build has nothing but its own in the folder where the addon looks.
node scripts/build-cuda.js --packed

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
mkdir -p "$work"/{bin,lib,native/build,node_modules,bench,.cuda,.gpu} .gpu
# What is measured there is told of these sources.
scripts/commit.sh >"$work/.gpu/commit"

cp "$(readlink -f "$(command -v node)")" "$work/bin/node"
cp -r dist bin package.json "$work/"
mkdir -p "$work/bench/node_modules" "$work/bench/peers"
cp -r bench/dist bench/package.json "$work/bench/"
# Without the Python packages that `bench/peers/setup` has put beside them: those of the machine are measured.
cp bench/peers/*.py "$work/bench/peers/"
# But airbench, which is small and is on no such machine: the step `record` finds it beside the script that trains it.
airbench=$(compgen -G 'bench/peers/.venv/lib/python*/site-packages/airbench' || true)
if [[ -n $airbench ]]; then
  cp -r "${airbench%%$'\n'*}" "$work/bench/peers/" && rm -rf "$work/bench/peers/airbench/__pycache__"
  touch "$work/.gpu/with-airbench"
else
  echo 'gpu-pack: no airbench in bench/peers/.venv, beside which the record is to be measured: run bench/peers/setup first' >&2
fi
cp -r native/build/Release "$work/native/build/"
if [[ -e native/build-cuda/Release/arbalest-cuda-probe ]]; then
  mkdir -p "$work/native/build-cuda/Release"
  cp native/build-cuda/Release/* "$work/native/build-cuda/Release/"
  # By which it is known there that nothing needs to be compiled.
  cp native/build-cuda/stamp.json "$work/native/build-cuda/" 2>/dev/null || true
fi
# What the CPU library is linked with, but for what every system has.
ldd native/build/Release/libarbalest-cpu.so | awk '$3 ~ /lib(dnnl|gomp|OpenCL)/ { print $3 }' | xargs -r -I{} cp -L {} "$work/lib/"
# Development tools, image decoders and what drives a browser are not needed to run tests of the engine and benches.
tar -C node_modules -c --dereference \
  --exclude=./@arbalest --exclude=./onnxruntime-node --exclude=./@typescript --exclude=./typescript --exclude='./@oxlint*' --exclude=./oxlint --exclude=./oxlint-tsgolint \
  --exclude='./bare-*' --exclude=./bintrees/test --exclude=./puppeteer-core --exclude=./@puppeteer --exclude=./chromium-bidi --exclude=./axe-core --exclude=./devtools-protocol --exclude=./zod \
  --exclude=./prettier --exclude=./@img --exclude=./@types --exclude='*.map' --exclude='*.d.ts' . |
  tar -C "$work/node_modules" -x
if [[ -d .cuda/include ]]; then cp -r .cuda/include "$work/.cuda/"; fi
strip --strip-debug "$work"/lib/*.so* "$work"/native/build/Release/*.so "$work"/native/build/Release/*.node \
  "$work"/native/build-cuda/Release/* 2>/dev/null || true
strip "$work/bin/node"
# The CUDA library is in both folders, farther from each other than xz looks back.
if [[ -e $work/native/build-cuda/Release/libarbalest-cuda.so ]]; then ln -f "$work"/native/build{-cuda,}/Release/libarbalest-cuda.so; fi

# Whatever a bench or a test loads at its beginning has come along.
(cd "$work" && LD_LIBRARY_PATH=$PWD/lib bin/node bench/dist/main.js --help >/dev/null && bin/node bin/arbalest.js --help >/dev/null)
(cd "$work" && LD_LIBRARY_PATH=$PWD/lib bin/node node_modules/mocha/bin/mocha.js --dry-run --reporter dot 'dist/test/engine/*.test.js' dist/test/run/{gpu-faults,learner-bank}.test.js >/dev/null)

tar -C "$work" -c . | xz -T0 -6 >.gpu/bundle.tar.xz
du -h .gpu/bundle.tar.xz
# It travels beside the working tree.
if (($(stat -c %s .gpu/bundle.tar.xz) > 54 << 20)); then echo 'gpu-pack: the bundle is larger than 54 MiB, and may not be taken along' >&2 && exit 1; fi
