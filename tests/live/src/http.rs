//! HTTP backends that answer with their own address, and a client that sends bytes as they are.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use crate::tally::Fallible;

/// Backends on loopback; they end with the program.
#[derive(Debug)]
pub(crate) struct Backends {
    pub(crate) addresses: Vec<String>,
}

impl Backends {
    pub(crate) fn start(count: usize) -> Fallible<Self> {
        let mut addresses = Vec::new();
        for _ in 0..count {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            let address = listener.local_addr()?.to_string();
            addresses.push(address.clone());
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let address = address.clone();
                    // A broken connection is the concern of the proxy.
                    thread::spawn(move || drop(serve(&stream, &address)));
                }
            });
        }
        Ok(Self { addresses })
    }
}

fn serve(stream: &TcpStream, address: &str) -> std::io::Result<()> {
    let mut input = BufReader::new(stream);
    loop {
        loop {
            let mut line = Vec::new();
            if input.read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            if line == b"\r\n" {
                break;
            }
        }
        let length = address.len();
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nCache-Control: no-store\r\n\r\n{address}"
        );
        (&mut &*stream).write_all(answer.as_bytes())?;
    }
}

/// A connection to a proxy.
#[derive(Debug)]
pub(crate) struct Client {
    port: u16,
    stream: Option<BufReader<TcpStream>>,
}

impl Client {
    pub(crate) fn new(port: u16) -> Self {
        Self { port, stream: None }
    }

    /// Returns the body of the answer to a GET of this target, which is sent unchanged.
    pub(crate) fn get(&mut self, target: &str, headers: &str) -> Fallible<String> {
        // A proxy may close a connection after a number of requests.
        match self.ask(target, headers) {
            Ok(body) => Ok(body),
            Err(_) => {
                self.stream = None;
                self.ask(target, headers)
            }
        }
    }

    fn ask(&mut self, target: &str, headers: &str) -> Fallible<String> {
        if self.stream.is_none() {
            let stream = TcpStream::connect(("127.0.0.1", self.port))?;
            stream.set_read_timeout(Some(Duration::from_secs(10)))?;
            stream.set_nodelay(true)?;
            self.stream = Some(BufReader::new(stream));
        }
        let stream = self.stream.as_mut().ok_or("no connection")?;
        let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\n{headers}\r\n");
        stream.get_mut().write_all(request.as_bytes())?;
        let mut length = 0;
        let mut status = String::new();
        stream.read_line(&mut status)?;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line)? == 0 {
                return Err("the connection was closed".into());
            }
            if line == "\r\n" {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        if !status.contains(" 200 ") {
            return Err(format!("{target}: {}", status.trim()).into());
        }
        Ok(String::from_utf8(body)?)
    }
}
