# Machines of another word size, byte order or kind, and checkers of memory and threads.

# Optimised a little, because an emulator runs it, with the checks of a debug build.
on_machine() {
    local command=$1
    shift
    CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
        CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true \
        cargo "$command" --quiet --target-dir target/machines "$@"
}

# has_target TARGET: the standard library for it.
has_target() {
    rustup target list --installed | grep -qx "$1" || rustup target add "$1" >/dev/null 2>&1
}

# All that has a value. The laws need the harness, which is built where nothing emulates it.
features=simd,compat,config,redis,serde,spec,shared

# suites TARGET ARGUMENTS...: values, checksums, recorded answers, hash functions and fingerprints.
suites() {
    local target=$1
    shift
    on_machine test --release --package hashroute-tests --features $features --target "$target" \
        --test values --test checksums --test golden --test hashes --test spec -- "$@"
}

# laws_and_suites TARGET: where long steps are asked for, also every checksum and the laws of every
# row.
laws_and_suites() {
    if [ -z "${HASHROUTE_LONG:-}" ]; then
        suites "$1"
        return
    fi
    suites "$1" --include-ignored
    on_machine test --release --package hashroute-tests --features $features,harness --target "$1" --test contract
}

# 32 bits: a pointer holds no hash.
machine_of_32_bits() {
    local target=i686-unknown-linux-gnu
    has_target $target || { not_run "the target $target cannot be had"; return; }
    have i686-linux-gnu-gcc || debian gcc-i686-linux-gnu libc6-dev-i386-cross ||
        { not_run "a linker for $target cannot be had"; return; }
    CARGO_TARGET_I686_UNKNOWN_LINUX_GNU_LINKER=i686-linux-gnu-gcc \
        CARGO_TARGET_I686_UNKNOWN_LINUX_GNU_RUNNER="/usr/i686-linux-gnu/lib/ld-linux.so.2 --library-path /usr/i686-linux-gnu/lib" \
        laws_and_suites $target
}

# The most significant byte first.
big_endian_machine() {
    local target=s390x-unknown-linux-gnu
    has_target $target || { not_run "the target $target cannot be had"; return; }
    have s390x-linux-gnu-gcc qemu-s390x || debian gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user ||
        { not_run "a linker or an emulator for $target cannot be had"; return; }
    CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_LINKER=s390x-linux-gnu-gcc \
        CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_RUNNER="qemu-s390x -L /usr/s390x-linux-gnu" \
        suites $target
}

# Every example of the library, linked, and run where Node.js is. What they print is lost, but a
# panic is a trap.
web_assembly() {
    local target=wasm32-unknown-unknown file
    has_target $target || { not_run "the target $target cannot be had"; return; }
    on_machine build --package hashroute --examples --features $features --target $target
    have node || { not_run "it links; Node.js, which would run it, cannot be had"; return; }
    for file in examples/*.rs; do
        # There is neither a clock nor a thread.
        ! grep -qE 'thread::|Instant' "$file" || continue
        file=$(basename "$file" .rs)
        echo "$file"
        node -e 'WebAssembly.instantiate(require("fs").readFileSync(process.argv[1]))
            .then(({ instance }) => process.exit(instance.exports.main(0, 0)))' \
            "target/machines/$target/debug/examples/$file.wasm"
    done
}

# The machine that Miri imitates finds wrong memory and races in the crates below; this library has
# no unsafe code. The tests with threads, and those of lists, which live in SmallVec.
miri() {
    rustup component list --toolchain nightly 2>/dev/null | grep -q '^miri.*(installed)' ||
        rustup component add miri rust-src --toolchain nightly >/dev/null 2>&1 ||
        { not_run "a nightly toolchain with Miri cannot be had"; return; }
    MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test --quiet --package hashroute --features shared --lib \
        --target-dir target/miri -- wrap::tests node::
}

# The standard library has to be built for it, or races inside it would be reported.
thread_sanitizer() {
    local host
    host=$(rustc -vV | sed -n 's/^host: //p')
    rustup component add rust-src >/dev/null 2>&1 || { not_run "the source of the standard library cannot be had"; return; }
    RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=thread cargo test --quiet --package hashroute --features shared --lib \
        -Z build-std --target "$host" --target-dir target/tsan wrap::
}
