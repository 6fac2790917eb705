//! A relay between a client and etcd. When it is cut, nothing passes in either direction and no
//! connection is closed.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::tally::Fallible;

/// The time after which a relay notices that it is cut.
const GLANCE: Duration = Duration::from_millis(50);

/// Starts a relay, which ends with the program.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) port: u16,
    is_cut: Arc<AtomicBool>,
}

impl Proxy {
    pub(crate) fn start(server: u16) -> Fallible<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let is_cut = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_cut);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // An unreachable server ends the connection.
                drop(connect(client, server, &seen));
            }
        });
        Ok(Self { port, is_cut })
    }

    pub(crate) fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
        thread::sleep(2 * GLANCE);
    }

    pub(crate) fn mend(&self) {
        self.is_cut.store(false, Ordering::SeqCst);
    }
}

fn connect(client: TcpStream, server: u16, is_cut: &Arc<AtomicBool>) -> std::io::Result<()> {
    let server = TcpStream::connect(("127.0.0.1", server))?;
    let back = (server.try_clone()?, client.try_clone()?);
    for (from, to) in [(client, server), back] {
        from.set_read_timeout(Some(GLANCE))?;
        let is_cut = Arc::clone(is_cut);
        thread::spawn(move || {
            relay(&from, &to, &is_cut);
            // The other side may have closed it.
            drop(from.shutdown(Shutdown::Both));
            drop(to.shutdown(Shutdown::Both));
        });
    }
    Ok(())
}

/// Copies until a side ends or a cut is over, since the bytes lost in it are missing.
fn relay(mut from: &TcpStream, mut to: &TcpStream, is_cut: &AtomicBool) {
    let mut bytes = [0; 16 << 10];
    let mut has_lost = false;
    loop {
        let read = from.read(&mut bytes);
        let cut = is_cut.load(Ordering::SeqCst);
        if has_lost && !cut {
            return;
        }
        has_lost = cut;
        match read {
            Ok(0) => return,
            Ok(length) if !cut => {
                if to.write_all(&bytes[..length]).is_err() {
                    return;
                }
            }
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return,
        }
    }
}
