# Sourced by the commands beside it. `prepare TARGET...` builds these programs
# (release) and makes a Python environment with the peers, both under
# build/benchmarks; $python and $programs are then their places. Who needs other
# peers sets `packages` and `venv_name` first, who needs another build `variant`
# (its folder) and `variant_flags` (CMake's).

prepare() {
  local root=$1
  shift
  local build=$root/build/benchmarks
  local proto=$root/proto/trivium/v1
  programs=$build/${variant:-release}/bin

  local venv=$build/venv venv_flags=()
  if [[ -z ${venv_name:-} ]]; then
    packages=(ctranslate2==4.8.5 grpcio==1.85.1 grpcio-tools==1.85.1
      matplotlib numpy sacrebleu sentencepiece)
  else
    venv=$build/venv-$venv_name
    # PyTorch is gigabytes: one that is installed already will do.
    venv_flags=(--system-site-packages)
  fi
  python=$venv/bin/python
  if [[ $(cat "$venv/packages" 2> /dev/null) != "${packages[*]}" ]]; then
    echo "== Installing ${packages[*]} from PyPI into $venv" >&2
    python3 -m venv "${venv_flags[@]}" "$venv"
    "$python" -m pip install -q "${packages[@]}"
    echo "${packages[*]}" > "$venv/packages"
  fi
  if [[ -z ${venv_name:-} && ($proto/inference.proto -nt $build/python/built ||
    $proto/common.proto -nt $build/python/built) ]]; then
    mkdir -p "$build/python"
    "$python" -m grpc_tools.protoc -I "$root/proto" \
      --python_out="$build/python" --grpc_python_out="$build/python" \
      "$proto/common.proto" "$proto/inference.proto" \
      "$root/proto/google/rpc/status.proto"
    touch "$build/python/built"
  fi
  export PYTHONPATH=$build/python

  if (($# > 0)); then
    echo "== Building $*" >&2
    local launcher=()
    if command -v ccache > /dev/null; then
      launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    fi
    (cd "$root" && cmake --preset release -B "$build/${variant:-release}" \
      -DTRIVIUM_BUILD_TESTS=ON "${variant_flags[@]}" "${launcher[@]}" > /dev/null)
    cmake --build "$build/${variant:-release}" --target "$@" >&2
  fi
}
