# What Cargo.toml and the README promise of the packages.

# The number is a promise: routing alone needs few crates, and nothing that runs in the compiler.
default_build() {
    local crates
    crates=$(cargo tree --package hashroute --edges normal,build --target all --prefix none --format '{p}' | sort -u)
    echo "$crates"
    [ "$(wc -l <<<"$crates")" -le 8 ] || { echo "more than 8 crates"; return 1; }
    ! grep -F '(proc-macro)' <<<"$crates"
}

# checks_alone PACKAGE FEATURES TARGETS...: no other feature, and no warning.
checks_alone() {
    local package=$1 features=$2
    shift 2
    echo "$package: ${features:-no feature}"
    RUSTFLAGS="-D warnings" cargo check --quiet --package "$package" "$@" --no-default-features \
        --features "$features" --target-dir target/features
}

# features MANIFEST: their names.
features() { sed -n '/^\[features\]/,/^\[[^f]/s/^\([a-z0-9-]*\) = .*/\1/p' "$1" | grep -vx default; }

feature_combinations() {
    local names first second feature
    mapfile -t names < <(features Cargo.toml)
    [ ${#names[@]} -ge 11 ] || { echo "the features were not found: ${names[*]}"; return 1; }
    checks_alone hashroute "" --lib --tests --examples
    checks_alone hashroute-tests "" --tests
    checks_alone hashroute "${names[*]}" --lib
    for first in "${!names[@]}"; do
        checks_alone hashroute "${names[first]}" --lib --tests --examples
        checks_alone hashroute-tests "${names[first]}" --tests
        for ((second = first + 1; second < ${#names[@]}; second++)); do
            checks_alone hashroute "${names[first]},${names[second]}" --lib
        done
    done
    # A feature of theirs contains the one before: alone is all.
    checks_alone hashroute-harness "" --lib
    for feature in $(features harness/Cargo.toml); do checks_alone hashroute-harness "$feature" --lib; done
    checks_alone hashroute-cli "" --bins
    for feature in $(features cli/Cargo.toml); do checks_alone hashroute-cli "$feature" --bins; done
}

# The folder has its own settings of cargo: target, target folder, emulator.
bare_machine() {
    local target=thumbv7em-none-eabi
    rustup target list --installed | grep -qx $target || rustup target add $target >/dev/null 2>&1 ||
        { not_run "the target $target cannot be had"; return; }
    (cd tests/bare && cargo fmt --check && cargo clippy --quiet --release -- -D warnings && cargo build --quiet --release)
    have qemu-system-arm || debian qemu-system-arm ||
        { not_run "it links; qemu-system-arm, which would run it, cannot be had"; return; }
    (cd tests/bare && timeout 120 cargo run --quiet --release)
}

minimum_rust() {
    local msrv
    msrv=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    rustup toolchain list | grep -q "^$msrv" || rustup toolchain install "$msrv" --profile minimal >/dev/null 2>&1 ||
        { not_run "the toolchain $msrv cannot be had"; return; }
    cargo "+$msrv" check --quiet --locked --workspace --lib --bins --all-features --target-dir target/msrv
}

# In a copy, since the lock file changes. Choosing the lowest versions is not stable in cargo yet.
minimal_versions() {
    local copy=target/minimal/source
    rm -rf $copy && mkdir -p $copy
    git ls-files -z --cached --others --exclude-standard | tar --null --files-from - --create | tar --extract --directory $copy
    (
        cd $copy
        rm Cargo.lock
        RUSTC_BOOTSTRAP=1 cargo generate-lockfile --quiet -Z direct-minimal-versions
        cargo check --quiet --locked --workspace --lib --bins --all-features --target-dir ../build
    )
}

licences_and_duplicates() {
    tool cargo-deny 0.20.2 || { not_run "cargo-deny cannot be had"; return; }
    cargo deny --locked --workspace check --deny unnecessary-skip --deny unmatched-skip \
        --deny license-not-encountered --deny license-exception-not-encountered licenses bans sources
}

# semver BASELINE...: is the library a minor version after it?
semver() { CARGO_TARGET_DIR=target/semver cargo semver-checks --package hashroute --all-features "$@"; }

# Against the tag `v*` of the last release, once CHANGELOG.md has one. Until then every break is
# allowed: against the commit before, what was found is reported and nothing fails. That the tool
# finds a break must hold always: it is given a baseline with one function more.
public_interface() {
    local planted=target/semver/planted release
    tool cargo-semver-checks 0.51.0 || { not_run "cargo-semver-checks cannot be had"; return; }
    if grep -qE '^## \[?[0-9]' CHANGELOG.md; then
        release=$(git describe --tags --match 'v[0-9]*' --abbrev=0 2>/dev/null) ||
            { not_run "this clone has no tag of the last release"; return; }
        semver --baseline-rev "$release"
        return
    fi
    git rev-parse --quiet --verify HEAD~ >/dev/null || { not_run "this clone has no commit before HEAD"; return; }
    if semver --baseline-rev HEAD~ --release-type minor; then
        note "$current: nothing broken since HEAD~"
    else
        note "$current: breaks since HEAD~, allowed before the first release; see above"
    fi

    rm -rf $planted && mkdir -p $planted
    git archive HEAD | tar --extract --directory $planted
    printf '\n/// Planted.\npub fn planted() {}\n' >>$planted/src/lib.rs
    if semver --baseline-root $planted --release-type minor >target/semver/planted.txt 2>&1; then
        echo "a function that is gone was not found"
        return 1
    fi
    grep -F 'function_missing' target/semver/planted.txt
}

# In the order in which they depend on each other, each built from its package. Cargo always warns
# that a dry run uploads nothing.
packaging() {
    local said=target/publish/said.txt package
    mkdir -p target/publish
    cargo publish --dry-run --workspace --locked --allow-dirty --target-dir target/publish >$said 2>&1 ||
        { cat $said; return 1; }
    ! grep '^warning' $said | grep -v 'warning: aborting upload due to dry run' ||
        return 1
    for package in hashroute hashroute-harness hashroute-cli; do
        cargo package --list --allow-dirty --package $package >target/publish/$package.txt
        for file in LICENSE LICENSE-APACHE README.md; do
            grep -qx $file target/publish/$package.txt || { echo "$package: no $file"; return 1; }
        done
        echo "$package: $(sed 's,/.*,/,' target/publish/$package.txt | sort | uniq -c | awk '{ printf "%s%s", sep, $2 ($1 > 1 ? " (" $1 ")" : ""); sep = ", " }')"
    done
    # The guide exists for rustdoc alone, so building a package does not miss its pages.
    for file in SECURITY.md docs/*.md docs/dialects/*.md; do
        grep -qx "$file" target/publish/hashroute.txt || { echo "hashroute: no $file"; return 1; }
    done
    for file in harness/docs/*.md harness/docs/pictures/*.svg; do
        grep -qx "${file#harness/}" target/publish/hashroute-harness.txt || { echo "$file is not packaged"; return 1; }
    done
    for file in LICENSE LICENSE-APACHE; do
        cmp $file harness/$file
        cmp $file cli/$file
    done
    find target/publish/package -not -path '*registry*' -name '*.crate' -exec du --apparent-size --block-size KiB {} +
    [ -z "$(find target/publish/package -name '*.crate' -size +1M)" ] || { echo "larger than 1 MiB"; return 1; }
}
