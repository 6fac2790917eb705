//! Terminals for the program to write on.

use std::fs::File;
use std::io;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Returns a screen to read from and the terminal on which a program draws it.
pub(crate) fn terminal() -> io::Result<(File, File)> {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&screen)?;
    unlockpt(&screen)?;
    let name = ptsname(&screen, Vec::new())?;
    let terminal = open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty())?;
    Ok((screen.into(), terminal.into()))
}

/// Returns a screen and a terminal of this width.
pub(crate) fn terminal_of(columns: u16) -> io::Result<(File, File)> {
    let (screen, terminal) = terminal()?;
    let size = Winsize {
        ws_row: if columns == 0 { 0 } else { 24 },
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&terminal, size)?;
    Ok((screen, terminal))
}
