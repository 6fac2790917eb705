//! Keys: the sources they come from and the formats they are read in. Knows no router.

mod blocks;
mod dump;
mod error;
mod files;
mod kind;
mod list;
mod made;
mod packed;
mod reading;
mod rows;
mod source;

pub use dump::{BadLine, Dump, DumpFormat, DumpReader, DumpRow, DumpSource};
pub use error::InputError;
pub(crate) use error::reason;
pub(crate) use files::bytes_of_hex;
pub use kind::FileKind;
pub use list::{Keys, KeysIter};
pub use packed::unpack;
pub use reading::{Consumer, Reading, read};
pub use rows::Rows;
pub use source::{BadLines, KeySource};
