//! Whether two names mean one file.

use std::fs;
use std::path::Path;
#[cfg(not(unix))]
use std::path::PathBuf;

use super::place::resolved;

/// A regular file, or one that is not there yet. Two are equal if they are the same file, whatever
/// its names: links do not count.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum File {
    #[cfg(unix)]
    There {
        device: u64,
        inode: u64,
    },
    #[cfg(not(unix))]
    There(PathBuf),
    New(std::path::PathBuf),
}

impl File {
    /// Returns the file of this name; `None` for pipes, devices and folders, to which writing loses
    /// nothing, and for names that cannot be a file.
    pub(super) fn of(path: &Path) -> Option<Self> {
        match fs::metadata(path) {
            Ok(data) if !data.is_file() => None,
            #[cfg(unix)]
            Ok(data) => Some(Self::with(&data)),
            #[cfg(not(unix))]
            Ok(_) => fs::canonicalize(path).ok().map(Self::There),
            Err(_) => resolved(path).ok().map(Self::New),
        }
    }

    #[cfg(unix)]
    fn with(data: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self::There {
            device: data.dev(),
            inode: data.ino(),
        }
    }
}

/// Returns the regular file behind standard input or standard output, if it is one.
#[cfg(unix)]
pub(super) fn standard(stream: &impl std::os::fd::AsFd) -> Option<File> {
    let data = data(stream)?;
    data.is_file().then(|| File::with(&data))
}

/// Returns what is known of an open stream.
#[cfg(unix)]
pub(super) fn data(stream: &impl std::os::fd::AsFd) -> Option<fs::Metadata> {
    let handle = stream.as_fd().try_clone_to_owned().ok()?;
    fs::File::from(handle).metadata().ok()
}

// Elsewhere a stream has no path to compare.
#[cfg(not(unix))]
pub(super) fn standard<T>(_: &T) -> Option<File> {
    None
}

#[cfg(not(unix))]
pub(super) fn data<T>(_: &T) -> Option<fs::Metadata> {
    None
}
