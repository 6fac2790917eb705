//! Keys from the output of `redis-cli` and memcached.
//!
//! | format | made by | keys | sizes |
//! |---|---|---|---|
//! | [`BigKeys`](DumpFormat::BigKeys) | `redis-cli --bigkeys` | the largest of each type | of strings only |
//! | [`MemKeys`](DumpFormat::MemKeys) | `redis-cli --memkeys` | the largest of each type | bytes of memory |
//! | [`KeyStats`](DumpFormat::KeyStats) | `redis-cli --keystats` | the largest of all | bytes of memory, rounded |
//! | [`HotKeys`](DumpFormat::HotKeys) | `redis-cli --hotkeys` | the hottest | none, but access counters |
//! | [`Scan`](DumpFormat::Scan) | `redis-cli --scan`, repeated `SCAN` | all | none |
//! | [`Metadump`](DumpFormat::Metadump) | memcached's `lru_crawler metadump all` | all | bytes of the item |
//!
//! The formats of Redis 7.0.15 and memcached 1.6.18 were recorded. `--keystats`, and `--bigkeys`
//! since Redis 7.4, follow the source of `redis-cli` 7.4.

mod biggest;
mod format;
mod hot;
mod list;
mod metadump;
mod reader;
mod scan;
mod source;
mod text;

pub use format::{DumpFormat, DumpRow};
pub use list::Dump;
pub(super) use list::DumpKeys;
pub use reader::DumpReader;
pub use source::{BadLine, DumpSource};
