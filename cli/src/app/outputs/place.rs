//! Where an output goes, and how a file is replaced as a whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// The most symbolic links that are followed.
const LINKS: usize = 40;

/// Where an output goes.
pub(super) enum Place {
    /// A stream that is open already, by its number, such as `/dev/stdout`.
    Open(u32),
    /// A pipe or a device.
    Device,
    /// A regular file, which may not be there yet: its path without links.
    File(PathBuf),
}

impl Place {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        if let Some(number) = stream(path) {
            return Ok(Self::Open(number));
        }
        match fs::metadata(path) {
            Ok(data) if !data.is_file() => Ok(Self::Device),
            _ => resolved(path).map(Self::File),
        }
    }
}

/// Returns the folder of a path.
pub(super) fn folder(path: &Path) -> &Path {
    let folder = path.parent().filter(|path| !path.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Returns the path of the file that is meant, without links. The file may be missing, its folder
/// may not.
pub(super) fn resolved(path: &Path) -> io::Result<PathBuf> {
    if let Ok(real) = fs::canonicalize(path) {
        return Ok(real);
    }
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(next) => path = folder(&path).join(next),
            Err(_) => break,
        }
    }
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::other("expected the name of a file"))?;
    Ok(fs::canonicalize(folder(&path))?.join(name))
}

/// Returns whether a path names a stream that is open already.
pub(super) fn is_open(path: &Path) -> bool {
    stream(path).is_some()
}

/// Returns the number of the open stream that a path names.
#[cfg(unix)]
fn stream(path: &Path) -> Option<u32> {
    let open = fs::canonicalize("/proc/self/fd").ok();
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let real = fs::canonicalize(folder(&path)).ok()?;
        if real == Path::new("/dev/fd") || Some(&real) == open.as_ref() {
            return path.file_name()?.to_str()?.parse().ok();
        }
        path = real.join(fs::read_link(&path).ok()?);
    }
    None
}

#[cfg(not(unix))]
fn stream(_: &Path) -> Option<u32> {
    None
}

/// Replaces a regular file, or creates it. If that fails, the old file stays as it was.
pub(super) fn replace(path: &Path, bytes: &[u8], secret: bool) -> io::Result<()> {
    check_limit(bytes.len())?;
    let old = fs::metadata(path).ok();
    let renamed = beside(path, old.as_ref(), bytes, secret);
    match renamed {
        // The folder takes no new file, or the file is mounted on its own, as in a container.
        Err(error) if old.is_some() && is_of_folder(&error) => in_place(path, bytes),
        renamed => renamed,
    }
}

fn is_of_folder(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem | ErrorKind::ResourceBusy
    )
}

/// Writes a new file beside the old one and renames it. The new file goes away on an error.
fn beside(path: &Path, old: Option<&fs::Metadata>, bytes: &[u8], secret: bool) -> io::Result<()> {
    let mut new = created(folder(path), secret)?;
    new.write_all(bytes)?;
    if let Some(old) = old {
        keep(new.as_file(), old)?;
    }
    new.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Creates a file under a name that nobody has. A file without a secret gets the permissions that
/// the umask gives.
fn created(folder: &Path, secret: bool) -> io::Result<NamedTempFile> {
    let mut how = Builder::new();
    how.prefix(".hashroute-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = if secret { 0o600 } else { 0o666 };
        how.permissions(fs::Permissions::from_mode(mode));
    }
    #[cfg(not(unix))]
    let _ = secret;
    how.tempfile_in(folder)
}

/// Gives a file the permissions of the old one, and its owner if that is allowed.
fn keep(new: &File, old: &fs::Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let now = new.metadata()?;
        if (now.uid(), now.gid()) != (old.uid(), old.gid()) {
            // Only root may give files away; for anybody else the file becomes their own.
            let _ = fchown(new, Some(old.uid()), Some(old.gid()));
        }
    }
    new.set_permissions(old.permissions())
}

/// Writes over a file that cannot be replaced. On an error its old content is written back: that
/// needs no new room on the disk.
fn in_place(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    let mut old = Vec::new();
    file.read_to_end(&mut old)?;
    let mut put = |bytes: &[u8]| {
        file.rewind()?;
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)
    };
    put(bytes).inspect_err(|_| drop(put(&old)))
}

/// Refuses more bytes than this process may write to a file: the system would end the process, and
/// the file beside would stay.
#[cfg(unix)]
fn check_limit(bytes: usize) -> io::Result<()> {
    use rustix::process::{Resource, getrlimit};
    match getrlimit(Resource::Fsize).current {
        Some(most) if bytes as u64 > most => Err(io::Error::other(format!(
            "{bytes} bytes are too many: expected at most {most} (ulimit -f)"
        ))),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn check_limit(_: usize) -> io::Result<()> {
    Ok(())
}
