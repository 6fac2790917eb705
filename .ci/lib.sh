# Steps that are timed, and a summary of what ran and what did not.

times=()
notes=()
all_ran=true
current=

# step NAME COMMAND...: runs a command, and keeps how long it took.
step() {
    current=$1
    shift
    local start=$SECONDS
    printf '\n==> %s\n' "$current"
    "$@"
    times+=("$(printf '%4d s  %s' $((SECONDS - start)) "$current")")
    current=
}

# note TEXT: keeps a line for the summary.
note() {
    notes+=("$1")
    echo "$1"
}

# not_run REASON: the step, or a part of it, cannot run here.
not_run() {
    all_ran=false
    note "NOT RUN: $current: $1"
}

summary() {
    local status=$?
    printf '\n==> summary\n'
    [ ${#times[@]} -eq 0 ] || printf '%s\n' "${times[@]}"
    printf '%4d s  in all\n' "$SECONDS"
    [ ${#notes[@]} -eq 0 ] || printf '%s\n' "${notes[@]}"
    if [ $status -ne 0 ]; then
        echo "FAILED: ${current:-before the first step}"
    elif $all_ran; then
        echo "Every step ran."
    fi
}
trap summary EXIT

# have PROGRAM...: are all of them here?
have() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || return 1
    done
}

# debian PACKAGE...: installs packages of Debian, or says no.
debian() {
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
        apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# tool NAME VERSION: installs a cargo tool into target/tools unless it is there, or says no. Built
# in a hurry: it runs for seconds.
tool() {
    [ -x "target/tools/bin/$1" ] && "target/tools/bin/$1" --version | grep -qwF "$2" && return
    CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 \
        CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
        cargo install --quiet --locked --root target/tools --target-dir "target/tools/$1" "$1@$2" || return
    rm -rf "target/tools/$1"
}
PATH="$PWD/target/tools/bin:$PATH"
