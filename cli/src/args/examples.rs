//! What stands below the options: what a command does not say otherwise, and examples.

pub(super) const TOP: &str = "\
Examples:
  hashroute compare
  hashroute route --nodes a,b=2,c user:1 user:2
  hashroute balance --count 60 --keys keys.txt
  hashroute remap --nodes a,b,c --add d

Exit codes: 0 done, 1 a check did not hold, 2 usage or bad input.";

pub(super) const COMPARE: &str = "\
Examples:
  hashroute compare
  hashroute compare --strategy ring,maglev --count 100
  hashroute compare --nodes a,b,c --add d=2 --remove c --keys keys.txt
  hashroute compare --range 0..100000 --format json";

pub(super) const ROUTE: &str = "\
A line is KEY TAB NODE; with --replicas, all nodes separated by tabs. Where a strategy keeps
loads (bounded), each key counts for those after it.

Examples:
  hashroute route --nodes a,b=2,c user:1 user:2
  hashroute route --nodes-file nodes.toml --replicas 3 --spread zones user:1
  hashroute route --dialect nginx --config nginx.conf --pool cache /index.html
  cut -f1 keys.tsv | hashroute route --count 10 --keys - > routes.tsv";

pub(super) const BALANCE: &str = "\
Examples:
  hashroute balance --nodes a,b=2,c
  hashroute balance --strategy maglev --count 100 --csv keys.csv
  hashroute balance --strategy modulo --hash crc32 --template 'metric:{i}' --range 0..1000";

pub(super) const MERGE: &str = "\
Counts of parts add up to those of the whole, exactly, when every part was routed in the same way.

Examples:
  hashroute balance --count 60 --keys part-1.txt --partial part-1.counts
  hashroute merge part-*.counts
  ls part-*.txt | xargs -P 8 -I @ hashroute balance --keys @ --partial @.counts > /dev/null";

pub(super) const SKEW: &str = "\
Examples:
  hashroute skew --count 60 --strategy modulo --hash twemproxy-fnv1a-64 --template 'metric:demo:{i}' --range 0..1000
  hashroute skew --csv keys.csv --count 10
  hashroute skew --dialect twemproxy --config nutcracker.yml --pool alpha --keys keys.txt
  hashroute skew --count 64 --node-counts 2..=128 --keys keys.txt --format json
  hashroute skew --count 64 --keys part-1.txt --partial part-1.evidence
  hashroute skew --count 64 --parts part-*.evidence";

pub(super) const CHECK: &str = "\
A figure that equals its limit holds. Exit codes: 0 all hold, 1 some do not, 2 bad input.

Examples:
  hashroute check --strategy maglev --count 60 --keys keys.txt --max-over-mean 1.05
  hashroute check --csv keys.csv --node-counts 8,16,32..=64 --max-cv 0.1 --max-empty 0
  hashroute check --max-top 20%@1 --junit hashroute.xml --save-baseline baseline.json
  hashroute check --max-cv 0.1 --baseline baseline.json --max-moved 10%";

pub(super) const REMAP: &str = "\
Changes are applied in the order in which they stand on the command line.

Examples:
  hashroute remap --nodes a,b,c --add d=2
  hashroute remap --count 10 --reweight node-3=0 --remove node-4
  hashroute remap --nodes-file now.json --to-nodes-file next.json --keys keys.txt";

pub(super) const DIFF: &str = "\
Exact where the structure tells: ring and maglev, slots and modulo, with one hash function. Else
from a sample of keys, or for the keys given. What is not said of the second set-up stays.

Examples:
  hashroute diff --nodes a,b,c --add d=2
  hashroute diff --count 10 --remove node-3 --ranges --format csv
  hashroute diff --dialect twemproxy --nodes-file now.csv --to-strategy ring --keys keys.txt";

pub(super) const PLAN: &str = "\
Examples:
  hashroute plan --count 10 --add node-10 --max-step 2%
  hashroute plan --nodes-file now.toml --to-nodes-file next.toml --replicas 3 --spread zones
  hashroute plan --count 10 --to-strategy maglev --max-in 1% --step 1";

pub(super) const EXPLAIN: &str = "\
Keys of a file or template are those that are on the nodes already: they count where a strategy
keeps loads (bounded).

Examples:
  hashroute explain --nodes a,b=2,c user:1
  hashroute explain --strategy slots --hash crc16 --hash-tag '{}' '{user1000}.following'
  hashroute explain --strategy bounded --range 0..1000 user:1 --replicas 3";

pub(super) const DRAW: &str = "\
Examples:
  hashroute draw ring --count 4 --set points=8 --add node-4 --out ring.svg
  hashroute draw balance --count 10 > balance.svg";

pub(super) const REPORT: &str = "\
The page needs no network and no script, and holds its figures as JSON too.

Examples:
  hashroute report --out report.html
  hashroute report --strategy ring,maglev --nodes a,b,c --add d --keys keys.txt --out report.html
  hashroute report --skew --strategy modulo --count 60 --keys keys.txt --out skew.html";

pub(super) const SPEC: &str = "\
FILE is TOML or JSON as `write` prints it; - is standard input. It holds the secret key of a keyed
hash. Other commands take it as --spec FILE.

Examples:
  hashroute spec write --nodes a,b=2,c --strategy maglev > spec.toml
  hashroute spec write --spec spec.toml --add d > next.toml
  hashroute spec fingerprint spec.toml next.toml
  hashroute spec check spec.toml --fingerprint 0123456789abcdef";

pub(super) const SLOTS: &str = "\
Examples:
  hashroute slots key '{user1000}.following'
  redis-cli cluster nodes | hashroute slots show -
  hashroute slots plan nodes.txt --add 10.0.0.4:6379 --budget 100 --commands classic";
