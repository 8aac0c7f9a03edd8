#!/usr/bin/env bash
# fieldplay's one script: makes the environment, runs commands in it, tests the workspace.
# How it is made up: ARCHITECTURE.md, "The workspace".
#
# Text for a file that bash reads later is printed between single quotes:
# shellcheck disable=SC2016
set -euo pipefail

root=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
state=$(readlink -m -- "${FIELDPLAY_WS:-$root/.ws}")
disk_mb=1500

usage() {
  cat <<EOF
usage: ./ws COMMAND

  setup [--dry-run]  make the environment, or bring it up to date (every other command does so first)
  setup --with EXTRA the same, with an extra, which stays installed; several: --with view --with batch
                     view: Rerun for \`fieldplay view\` (170 MB download); batch: Dask for \`fieldplay batch\` (28 MB);
                     slam: an environment for each method that \`fieldplay slam\` runs; docs: builds the site of docs/ (mkdocs build)
  setup --oldest     a second environment, without ROS: the oldest supported versions of all libraries
  demo [OPTIONS]     the main job on a sample archive, end to end, into bags/demo/
  test [ARGS...]     every test of the workspace; with ARGS, pytest with these
  test --oldest [ARGS...]  every test that needs no ROS, with the oldest supported versions
  exec CMD...        run CMD in the environment, for example: ./ws exec ros2 topic list
  shell              an interactive shell in the environment
  clean              remove what setup made

State lives in .ws/ beside this script, or in \$FIELDPLAY_WS. \$FIELDPLAY_PYTHON names the Python to use,
\$FIELDPLAY_DISTRO the ROS 2 whose wheels are installed where none is sourced: jazzy, or kilted.
EOF
}

say() { printf 'ws: %s\n' "$*" >&2; }

die() { # MESSAGE [WHAT TO DO...]
  printf 'ws: error: %s\n' "$1" >&2
  shift
  if [ $# -gt 0 ]; then printf '    %s\n' "$@" >&2; fi
  exit 1
}

# --- what to build on ------------------------------------------------------------------------------------------

in_ament_index() { # PACKAGE: does a sourced installation, other than our own environment, provide it?
  local prefix prefixes
  IFS=: read -ra prefixes <<<"${AMENT_PREFIX_PATH:-}"
  for prefix in ${prefixes[@]+"${prefixes[@]}"}; do
    [[ $prefix/ != "$state"/* ]] && [ ! -e "$prefix/pyvenv.cfg" ] || continue
    [ ! -e "$prefix/share/ament_index/resource_index/packages/$1" ] || return 0
  done
  return 1
}

choose_base() { # sets: base (wheels, oldest, or the sourced distribution's name), distro, home, venv, install
  local folder
  base=wheels distro=${FIELDPLAY_DISTRO:-jazzy}
  if [ -n "$oldest" ]; then
    base=oldest # Ubuntu 24.04's versions of the libraries, no ROS
  elif in_ament_index rclpy; then
    case ${ROS_DISTRO:-unnamed} in
      jazzy | kilted) base=$ROS_DISTRO ;;
      humble | rolling)
        base=$ROS_DISTRO
        say "ROS 2 '$base' is sourced: fieldplay is made for jazzy and kilted, and was not tested on this one" ;;
      *)
        say "ROS 2 '${ROS_DISTRO:-unnamed}' is sourced, fieldplay needs jazzy or kilted:" \
          "using the wheels from PyPI instead" ;;
    esac
  fi
  folder=$base
  if [ "$base" = wheels ]; then
    case $distro in
      jazzy) ;;
      kilted) folder=wheels-kilted ;;
      *) die "FIELDPLAY_DISTRO: expected jazzy or kilted, got '$distro'" ;;
    esac
  fi
  home=$state/$folder venv=$home/venv install=$home/install
}

package_dirs() { # one line for each package to build: those of the underlay only where ROS 2 lacks them
  local manifest dir
  if [ "$base" = oldest ]; then return; fi
  for manifest in "$root"/underlay/*/package.xml "$root"/src/*/package.xml; do
    [ -e "$manifest" ] || continue
    dir=${manifest%/package.xml}
    if [[ $manifest == "$root"/underlay/* && $base != wheels ]] && in_ament_index "${dir##*/}"; then continue; fi
    echo "$dir"
  done
}

requirement_files() {
  local name names=(libraries test oldest)
  if [ "$base" = wheels ]; then names=(ros build libraries test); fi
  if [ "$base" = wheels ] && [ -e "$root/requirements/ros-$distro.txt" ]; then names+=("ros-$distro"); fi
  for name in "${names[@]}" $(extras); do echo "$root/requirements/$name.txt"; done
}

extras() { # what was asked for besides, once and for all: names of files in requirements/
  [ "$base" != wheels ] || [ ! -e "$state/extras" ] || cat "$state/extras"
}

add_extra() { # NAME
  choose_base
  if [ "$base" != wheels ]; then
    die "extras are for the wheels from PyPI alone: view needs NumPy 2, what is sourced is compiled for NumPy 1" \
      "In a shell without a sourced ROS 2, ./ws builds on these wheels."
  fi
  extras | grep -qx "$1" && return 0
  mkdir -p "$state" 2>/dev/null || die "cannot write to $state" "Set FIELDPLAY_WS to a folder that you own."
  echo "$1" >>"$state/extras"
}

# --- what it needs from the machine ----------------------------------------------------------------------------

python_verdict() { # PYTHON: prints 'serves', or what keeps it from serving
  "$1" - "$base" 2>/dev/null <<'EOF' || true
import os, sys, sysconfig
header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
name = "%d.%d" % sys.version_info[:2]
if sys.implementation.name != "cpython" or not (3, 10) <= sys.version_info[:2] <= (3, 14):
    print("is %s %s, CPython 3.10 to 3.14 is needed" % (sys.implementation.name, name))
elif sys.argv[1] == "oldest" and not (3, 10) <= sys.version_info[:2] <= (3, 12):
    print("is %s, the oldest libraries are for 3.10 to 3.12" % name)
elif sys.argv[1] == "wheels" and not os.path.exists(header):
    print("has no headers (%s): install python%s-dev" % (header, name))
else:
    try:
        import ensurepip, venv
        print("serves")
    except ImportError:
        print("cannot make virtual environments: install python%s-venv" % name)
EOF
}

find_python() { # sets python
  local candidate verdict faults=() candidates=(python3 python3.12 python3.13 python3.11 python3.14 python3.10)
  if [ "$base" = oldest ]; then candidates=(python3.12 "${candidates[@]}"); fi # Ubuntu 24.04's
  if [ -n "${FIELDPLAY_PYTHON:-}" ]; then candidates=("$FIELDPLAY_PYTHON"); fi
  for candidate in "${candidates[@]}"; do
    verdict="is not found"
    if command -v "$candidate" >/dev/null; then verdict=$(python_verdict "$candidate"); fi
    if [ "$verdict" = serves ]; then
      python=$candidate
      return
    fi
    faults+=("$candidate ${verdict:-does not run}")
  done
  die "no suitable Python" "${faults[@]}" "On Debian or Ubuntu: sudo apt install python3-dev python3-venv"
}

check_machine() {
  local free compiler
  mkdir -p "$home" 2>/dev/null || die "cannot write to $state" "Set FIELDPLAY_WS to a folder that you own."
  free=$(df -Pm "$home" | awk 'NR == 2 {print $4}')
  [ "$free" -ge "$disk_mb" ] || die "$state has $free MB free, setup needs $disk_mb MB" \
    "Make room, or set FIELDPLAY_WS to a folder on a larger disk."
  if [ "$base" = wheels ]; then
    [ "$(uname -sm)" = "Linux x86_64" ] || die "PyPI has the ROS 2 wheels for Linux on x86-64 only, this is $(uname -sm)" \
      "Source a ROS 2 installation, Jazzy or Kilted, and run ./ws again."
    for compiler in cc c++; do
      command -v "$compiler" >/dev/null || die "no compiler ('$compiler') found" \
        "On Debian or Ubuntu: sudo apt install build-essential"
    done
  fi
  find_python
}

# --- the steps of setup: each is done again only when what it rests on has changed -------------------------------

stamp() { printf '%s/stamps/%s' "$home" "$1"; }
is_done() { [ -e "$home/stamps/$1" ] && [ "$(<"$home/stamps/$1")" = "$2" ]; } # STEP FINGERPRINT
mark_done() { mkdir -p "$home/stamps" && printf '%s\n' "$2" >"$(stamp "$1")"; }

logged() { # TITLE LOG CMD...: runs CMD with its output in LOG
  local title=$1 log=$home/log/$2.log begin=$SECONDS
  shift 2
  mkdir -p "$home/log"
  say "$title ..."
  if ! "$@" >"$log" 2>&1; then
    tail -n 15 "$log" >&2
    explain_failure "$log"
    die "this failed: $title" "The whole output: $log"
  fi
  say "  done in $((SECONDS - begin)) s"
}

explain_failure() { # LOG
  if grep -qi 'no space left' "$1"; then
    say "The disk is full."
  elif grep -qiE 'name resolution|name or service|failed to establish|connection (refused|reset|timed)|proxyerror|timed out|unreachable|no matching distribution|resolutionimpossible' "$1"; then
    say "The package index could not be reached, or lacks this version: check the network and pip's configuration."
  fi
}

venv_print() { echo "$venv ${FIELDPLAY_PYTHON:-}"; }

pip_print() {
  local files
  mapfile -t files < <(requirement_files; constraint_files; echo "$root/underlay/repair_wheels.py")
  { venv_print; cat "${files[@]}"; } | sha256sum
}

constraint_files() { # one line each
  if [ "$base" = wheels ]; then
    printf '%s\n' "$root/requirements/constraints-wheels"{,"-$distro"}.txt
  else
    echo "$root/requirements/constraints-jazzy.txt"
  fi
}

BUILT=(-name package.xml -o -name 'setup.*' -o -name CMakeLists.txt -o -name '*.msg' -o -name '*.srv' -o -name '*.c')

# All that setup rests on, at once: where nothing of it has changed since setup was done, there is nothing to look at.
whole_print() (
  cd -- "$root"
  {
    echo "$root"
    venv_print
    package_dirs
    find -L src underlay -name __pycache__ -prune -o -type f -print | LC_ALL=C sort
    { find -L src underlay -type f \( "${BUILT[@]}" \) -print | LC_ALL=C sort
      requirement_files; constraint_files; printf '%s\n' underlay/repair_wheels.py colcon.meta ws
    } | xargs -d '\n' cat
  } | sha256sum
)

# Python and data files are linked into the environment, so only their names count; what is built counts with its content.
package_print() ( # DIR
  cd -- "$1"
  {
    find -L . -name __pycache__ -prune -o -type f ! -name '*.so' -print | LC_ALL=C sort
    find -L . -type f \( "${BUILT[@]}" \) -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
  } | sha256sum
)

make_venv() {
  local options=()
  if [ "$base" != wheels ] && [ "$base" != oldest ]; then options=(--system-site-packages); fi
  rm -rf "$home"
  logged "virtual environment ($("$python" --version 2>&1))" venv "$python" -m venv ${options[@]+"${options[@]}"} "$venv"
}

install_requirements() {
  local file options=()
  while IFS= read -r file; do options+=(-c "$file"); done < <(constraint_files)
  while IFS= read -r file; do options+=(-r "$file"); done < <(requirement_files)
  logged "libraries and tools (a few hundred MB from the package index)" pip \
    "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --no-compile "${options[@]}"
  compile_libraries
  if [ "$base" = wheels ]; then
    logged "build files of the ROS 2 wheels" repair "$venv/bin/python" "$root/underlay/repair_wheels.py"
  fi
  write_environment
}

compile_libraries() { # on all processors, without the libraries' own tests: pip would take three times as long
  logged "bytecode of the libraries" compile bash -c '"$@" || true' - \
    "$venv/bin/python" -m compileall -q -j 0 -x 'site-packages/.*/tests?/' "$venv"/lib/python3*/site-packages # some are templates
}

write_environment() { # $home/setup.bash: what exec, shell and test source; a user may source it too
  local lines
  lines=$(installed_environment) # first of all: without it, the file stays as it was
  {
    echo "# Made by ./ws: the environment of fieldplay on ROS 2 ($base)."
    printf 'export FIELDPLAY_ROOT=%q VIRTUAL_ENV=%q\n' "$root" "$venv"
    # Services that pause, seek and stop answer this machine alone, unless another range is asked for (docs/reliability.md).
    echo 'export ROS_AUTOMATIC_DISCOVERY_RANGE=${ROS_AUTOMATIC_DISCOVERY_RANGE:-LOCALHOST}'
    case $base in
      wheels) wheels_environment ;;
      oldest) oldest_environment ;;
      *) installation_environment ;;
    esac
    printf '%s\n' "$lines"
  } >"$home/setup.bash.new"
  mv "$home/setup.bash.new" "$home/setup.bash"
}

# What colcon's own script puts before each variable, written down once: that script starts a Python each time.
installed_environment() ( # prints lines of shell
  local name value path
  [ -e "$install/local_setup.bash" ] || return 0
  # colcon's script does not quote its Python: one outside the state, whose path may have spaces.
  COLCON_PYTHON_EXECUTABLE=$("$venv/bin/python" -c 'import os, sys; print(os.path.realpath(sys.executable))')
  for name in "${PREFIXED[@]}"; do
    if [ "$name" != PATH ]; then export "$name=/@"; fi
  done
  path=":$PATH:" # where our own environment is active, what stands there already would not be put before
  while [[ $path == *":$install/bin:"* ]]; do path=${path//":$install/bin:"/:}; done
  path=${path%:}
  export PATH="/@$path" COLCON_PYTHON_EXECUTABLE
  set +eu
  # shellcheck disable=SC1091
  . "$install/local_setup.bash" >&2
  set -eu
  for name in "${PREFIXED[@]}"; do
    value=${!name%%/@*}
    if [ -n "${value%:}" ]; then printf 'export %s=%q${%s:+:$%s}\n' "$name" "${value%:}" "$name" "$name"; fi
  done
)

PREFIXED=(AMENT_PREFIX_PATH CMAKE_PREFIX_PATH COLCON_PREFIX_PATH LD_LIBRARY_PATH PATH PKG_CONFIG_PATH PYTHONPATH)

wheels_environment() { # another ROS leaves traces in these variables: they start afresh
  local libraries
  libraries=$(printf '%s:' "$venv/lib" "$venv"/lib/python3*/site-packages/ros_*.libs)
  cat <<'EOF'
unset PYTHONPATH PYTHONHOME CMAKE_PREFIX_PATH COLCON_PREFIX_PATH PKG_CONFIG_PATH ROS_ROOT ROS_PACKAGE_PATH ROS_ETC_DIR ROS_MASTER_URI
case ${RMW_IMPLEMENTATION:-rmw_fastrtps_cpp} in rmw_fastrtps_cpp) ;; *)
  echo "fieldplay: RMW_IMPLEMENTATION=$RMW_IMPLEMENTATION is not among the wheels, using rmw_fastrtps_cpp" >&2
  unset RMW_IMPLEMENTATION ;;
esac
EOF
  printf 'export PATH=%q:$PATH\n' "$venv/bin"
  printf 'export AMENT_PREFIX_PATH=%q CMAKE_PREFIX_PATH=%q LD_LIBRARY_PATH=%q\n' "$venv" "$venv" "${libraries%:}"
  # The wheels start every Python twice to set LD_LIBRARY_PATH; it is set here, so once is enough.
  echo "export ROS_VERSION=2 ROS_PYTHON_VERSION=3 ROS_DISTRO=$distro _ROS_WHEELS_BOOTSTRAP_COMPLETE=1"
}

write_metadata() ( # names, versions and entry points of the packages, which are imported where they are
  rm -rf "$home/metadata"
  mkdir "$home/metadata"
  for dir in "$root"/src/*/setup.py; do
    cd -- "${dir%/*}"
    "$venv/bin/python" setup.py -q egg_info --egg-base "$home/metadata" ||
      die "the metadata of ${dir%/*} could not be written"
  done
)

oldest_environment() { # nothing is built: the packages are imported, and the command run, where they are
  printf 'export PATH=%q:%q:$PATH PYTHONPATH=%q\n' "$venv/bin" "$root/src/fieldplay/scripts" \
    "$home/metadata:$(printf '%s:' "$root"/src/*)"
  echo 'unset AMENT_PREFIX_PATH ROS_DISTRO'
}

installation_environment() { # the installation is sourced already; its programs must find our libraries
  printf 'export PATH=%q:$PATH PYTHONPATH=${PYTHONPATH:+$PYTHONPATH:}%q\n' \
    "$venv/bin" "$(echo "$venv"/lib/python3*/site-packages)"
}

activate() { # it may use variables that are unset: what stands there may be of an earlier version, or of the user's ROS
  set +eu
  # shellcheck disable=SC1091
  . "$home/setup.bash"
  set -eu
}

build_packages() ( # NAME...
  activate
  cd -- "$root"
  if [ "$base" = wheels ]; then export CMAKE_GENERATOR=Ninja; fi
  say "building $# package(s): $*"
  local begin=$SECONDS
  "$venv/bin/python" -m colcon --log-level error --log-base "$home/log" build --base-paths underlay src --metas colcon.meta \
    --build-base "$home/build" --install-base "$install" --merge-install --symlink-install \
    --cmake-args "-DCMAKE_PROJECT_INCLUDE=$root/underlay/joined_sources.cmake" \
    --event-handlers console_cohesion- console_direct- --packages-select "$@" </dev/null >&2 ||
    die "the build failed" "The whole output: $home/log/latest_build"
  mend_scripts
  say "  done in $((SECONDS - begin)) s"
)

mend_scripts() { # setuptools writes the path of Python into scripts as it is: one with a space does not start
  local scripts=("$install"/bin/* "$install"/lib/*/*)
  [[ $venv == *[[:space:]]* ]] || return 0
  { grep -lsZ '^#!"' "${scripts[@]}" || true; } | xargs -0 -r sed -i '1s|^#!".*python.*|#!/usr/bin/env python3|'
}

find_changed_packages() { # sets fingerprints (of all packages, by name) and changed (names)
  local dir name
  fingerprints=() changed=()
  while IFS= read -r dir; do
    name=$(basename "$dir")
    fingerprints[$name]=$(package_print "$dir")
    is_done "build-$name" "${fingerprints[$name]}" || changed+=("$name")
  done < <(package_dirs)
}

has_lost_packages() { # since the last build: whose file is whose in the merged install cannot be told
  local stamps name
  stamps=("$home"/stamps/build-*)
  [ -e "${stamps[0]}" ] || return 1
  for name in "${stamps[@]##*/build-}"; do
    [ -n "${fingerprints[$name]:-}" ] || return 0
  done
  return 1
}

build_changed() {
  local name
  if has_lost_packages; then
    say "a package of the last build is gone: building all anew"
    rm -rf "$home/build" "$install" "$home"/stamps/build-*
    find_changed_packages
  fi
  [ ${#changed[@]} -gt 0 ] || return 0
  build_packages "${changed[@]}" || exit 1
  for name in "${changed[@]}"; do mark_done "build-$name" "${fingerprints[$name]}"; done
}

venv_is_ready() { is_done venv "$(venv_print)" && "$venv/bin/python" -c '' 2>/dev/null; }

setup() {
  declare -gA fingerprints
  local print
  choose_base
  print=$(whole_print)
  if is_done whole "$print" && [ -x "$venv/bin/python" ] && [ -e "$home/setup.bash" ]; then return; fi
  mkdir -p "$state" 2>/dev/null || die "cannot write to $state" "Set FIELDPLAY_WS to a folder that you own."
  exec 9>"$state/lock"
  flock -n 9 || { say "another ./ws is at work in $state: waiting for it"; flock 9; }
  if ! venv_is_ready; then
    check_machine
    make_venv
    mark_done venv "$(venv_print)"
  fi
  if ! is_done pip "$(pip_print)"; then
    check_machine
    install_requirements
    mark_done pip "$(pip_print)"
  fi
  find_changed_packages
  build_changed
  if [ "$base" = oldest ]; then write_metadata; fi
  write_environment
  mark_done whole "$print"
  exec 9>&-
}

plan() {
  choose_base
  echo "base: $base"
  echo "state: $home"
  echo "requirements: $(requirement_files | xargs -d '\n' -n1 basename | paste -sd' ')"
  echo "packages: $(package_dirs | xargs -d '\n' -n1 basename | paste -sd' ')"
}

# --- the commands -----------------------------------------------------------------------------------------------

has_browser() {
  local name
  for name in chromium chromium-browser google-chrome google-chrome-stable; do
    if command -v "$name" >/dev/null; then return 0; fi
  done
  return 1
}

install_browser() { # what only Debian's packages have; on others a browser is the user's to install
  local root_by=()
  if [ "$(id -u)" != 0 ]; then root_by=(sudo -n); fi
  "${root_by[@]}" apt-get update && DEBIAN_FRONTEND=noninteractive "${root_by[@]}" apt-get install -y --no-install-recommends chromium
}

provide_browser() { # one test opens a report's page in it
  if has_browser; then return; fi
  say "a browser for the tests: Debian's chromium, with apt-get ..."
  if ! install_browser >"$home/log/browser.log" 2>&1; then
    say "  not installed (the whole output: $home/log/browser.log); the test of a report's page needs Chromium or Chrome on the PATH:"
    say "  on Debian sudo apt install chromium, elsewhere a browser from its maker"
  fi
}

# A test that hangs fails, and is told with where its threads stand: else it would keep all others for ever.
NAME_HANGS=(--max-worker-restart=2 -o faulthandler_timeout=600 -o faulthandler_exit_on_timeout=true)

run_tests() { # [PYTEST ARGS...]
  if [ "${1:-}" = --oldest ]; then
    oldest=yes
    shift
  fi
  choose_base
  if [ "$base" = wheels ]; then add_extra batch; add_extra view; add_extra docs; fi # their tests are among all
  setup
  provide_browser
  activate
  cd -- "$root"
  if [ $# -eq 0 ]; then
    set -- -n 3 --dist loadfile --no-loadscope-reorder # launches, which wait a lot, beside two that compute
    if [ "$base" = wheels ]; then set -- "$@" "${NAME_HANGS[@]}"; fi # Jazzy's pytest cannot
    if [ "$base" = oldest ]; then set -- "$@" test src; fi
  fi
  exec python -m pytest "$@"
}

set_up() { # [--dry-run | --oldest | --with EXTRA ...]
  local extra with_slam='' with=()
  while [ $# -gt 0 ]; do
    case $1 in
      --with)
        case ${2:-} in
          view | batch | docs) with+=("$2") ;;
          slam) with_slam=yes ;;
          '') wrong_usage "setup --with: expected an extra: view, batch, docs or slam" ;;
          *) wrong_usage "setup --with: expected view, batch, docs or slam, got '$2'" ;;
        esac
        shift 2 ;;
      --oldest) oldest=yes; shift ;;
      --dry-run) dry_run=yes; shift ;;
      *) wrong_usage "setup: expected --with EXTRA, --oldest or --dry-run, got '$1'" ;;
    esac
  done
  if [ -n "$oldest" ] && [ -n "${with[*]}$with_slam" ]; then wrong_usage "setup: --oldest takes no extras"; fi
  if [ -n "$dry_run" ]; then
    plan
    return
  fi
  for extra in ${with[@]+"${with[@]}"}; do add_extra "$extra"; done
  setup
  if [ -n "$with_slam" ]; then
    activate
    fieldplay slam --install
  fi
  if [ -n "$oldest" ]; then
    say "ready in $home: ./ws test --oldest"
  else
    say "ready in $home${with[*]:+, with ${with[*]}}: ./ws exec CMD, ./ws shell, or: source $(printf %q "$home/setup.bash")"
  fi
}

wrong_usage() { # MESSAGE
  printf 'ws: error: %s; see ./ws --help\n' "$1" >&2
  exit 2
}

open_shell() {
  setup
  exec bash --rcfile <(printf '[ ! -e ~/.bashrc ] || . ~/.bashrc\n. %q\n%s\n%s\n' "$home/setup.bash" \
    'PS1="(fieldplay) $PS1"' 'eval "$(register-python-argcomplete fieldplay)"') -i
}

main() {
  local command=${1:-} oldest='' dry_run=''
  [ $# -eq 0 ] || shift
  case $command in
    setup) set_up "$@" ;;
    test) run_tests "$@" ;;
    exec)
      [ $# -gt 0 ] || wrong_usage "exec: expected a command"
      setup
      activate
      exec "$@" ;;
    shell) open_shell ;;
    clean) rm -rf -- "$state"/{wheels,oldest,wheels-kilted,jazzy,humble,kilted,rolling,methods,extras,lock} && { rmdir -- "$state" 2>/dev/null || true; } ;;
    demo)
      setup
      activate
      cd -- "$root"
      exec python -m fieldplay_bringup.demo "$@" ;;
    -h | --help | help) usage ;;
    '')
      usage >&2
      exit 2 ;;
    *) wrong_usage "expected setup, demo, test, exec, shell or clean, got '$command'" ;;
  esac
}

# Read to the end before anything starts, so that an edit of this file (git pull) cannot hit a run of it.
main "$@"
exit
