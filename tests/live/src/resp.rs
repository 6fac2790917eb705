//! Backends that answer every GET with their own address, in the protocol of Redis, and a client.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use crate::tally::Fallible;

/// Backends on loopback; they end with the program.
pub(crate) fn backends(count: usize) -> Fallible<Vec<String>> {
    (0..count)
        .map(|_| {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            let address = listener.local_addr()?.to_string();
            let answer = format!("${}\r\n{address}\r\n", address.len());
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let answer = answer.clone();
                    // A broken connection is the concern of the proxy.
                    thread::spawn(move || drop(serve(&stream, answer.as_bytes())));
                }
            });
            Ok(address)
        })
        .collect()
}

fn serve(stream: &TcpStream, answer: &[u8]) -> Fallible<()> {
    let mut input = BufReader::new(stream);
    loop {
        let words = number(&mut input, '*')?;
        for _ in 0..words {
            bulk(&mut input)?;
        }
        (&mut &*stream).write_all(answer)?;
    }
}

fn number(input: &mut impl BufRead, kind: char) -> Fallible<usize> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    let digits = line.trim_end().strip_prefix(kind);
    Ok(digits
        .ok_or_else(|| format!("expected {kind}, got {line:?}"))?
        .parse()?)
}

fn bulk(input: &mut impl BufRead) -> Fallible<Vec<u8>> {
    let mut bytes = vec![0; number(input, '$')? + 2];
    input.read_exact(&mut bytes)?;
    bytes.truncate(bytes.len() - 2);
    Ok(bytes)
}

/// A connection to a proxy.
#[derive(Debug)]
pub(crate) struct Client(BufReader<TcpStream>);

impl Client {
    pub(crate) fn new(port: u16) -> Fallible<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Returns the answer of the backend of this key.
    pub(crate) fn get(&mut self, key: &[u8]) -> Fallible<String> {
        let mut request = format!("*2\r\n$3\r\nGET\r\n${}\r\n", key.len()).into_bytes();
        request.extend(key);
        request.extend(b"\r\n");
        self.0.get_mut().write_all(&request)?;
        Ok(String::from_utf8(bulk(&mut self.0)?)?)
    }
}
