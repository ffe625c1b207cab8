#!/usr/bin/env bash
# Installs the field's own clients for the conformance tests into a folder, and prints the variables that the tests read:
#   eval "$(tests/conformance/install-clients.sh FOLDER)"
# Needs Python 3 with venv and a PyPI mirror; what can't be installed is left out, and its tests are skipped with a message.
set -u
folder=${1:?usage: install-clients.sh FOLDER}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
say() { echo "$*" >&2; }
quiet() { "$@" >>"$folder/install.log" 2>&1; }

venv() { # name packages…
  local name=$1
  shift
  if [ ! -x "$folder/$name/bin/python" ]; then
    quiet python3 -m venv "$folder/$name" || return 1
  fi
  [ -f "$folder/$name/.done" ] || { quiet "$folder/$name/bin/pip" install "$@" && touch "$folder/$name/.done"; }
}

if venv clients 'tritonclient[all]==2.73.0' 'schemathesis==4.32.5'; then
  echo "export GIMBAL_PYTHON='$folder/clients/bin/python'"
  echo "export GIMBAL_SCHEMATHESIS='$folder/clients/bin/schemathesis'"
else
  say "not installed: tritonclient, schemathesis (see $folder/install.log)"
fi
if venv kserve 'kserve==0.21.0'; then
  echo "export GIMBAL_PYTHON_KSERVE='$folder/kserve/bin/python'"
else
  say "not installed: kserve (see $folder/install.log)"
fi

# perf_analyzer came inside tritonclient wheels until 2.58; 2.51 is the last that runs on glibc 2.36. It is linked against
# the CUDA runtime, which it needs to start even where there is no GPU, and libb64.
perf=$folder/perf
if [ ! -x "$perf/run" ]; then
  mkdir -p "$perf/wheels"
  if quiet "$folder/clients/bin/pip" download --no-deps -d "$perf/wheels" tritonclient==2.51.0 nvidia-cuda-runtime-cu12==12.9.79; then
    for wheel in "$perf"/wheels/*.whl; do quiet python3 -m zipfile -e "$wheel" "$perf"; done
    binary=$(find "$perf" -type f -name perf_analyzer | head -n 1)
    library=$(dirname "$(find "$perf" -name libcudart.so.12 | head -n 1)")
    chmod +x "$binary"
    ldconfig -p 2>/dev/null | grep -q libb64 || quiet apt-get install -y libb64-0d || { quiet apt-get update && quiet apt-get install -y libb64-0d; }
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$library" "$binary" >"$perf/run"
    chmod +x "$perf/run"
  fi
fi
# It has no --version: its usage text proves that it starts.
if [ -x "$perf/run" ] && "$perf/run" 2>&1 | grep -q SYNOPSIS; then
  echo "export GIMBAL_PERF_ANALYZER='$perf/run'"
else
  say "not installed: perf_analyzer (see $folder/install.log)"
fi
