//! Kafka's wire by hand: for bytes that no client library would send.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::broker::PATIENCE;

pub fn frame(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32).to_be_bytes()[..], body].concat()
}

/// API key, version, correlation id 7, no client id.
pub fn header(key: i16, version: i16) -> Vec<u8> {
    [&key.to_be_bytes()[..], &version.to_be_bytes(), &7_i32.to_be_bytes(), &(-1_i16).to_be_bytes()].concat()
}

pub fn string(text: &str) -> Vec<u8> {
    [&(text.len() as i16).to_be_bytes()[..], text.as_bytes()].concat()
}

pub fn bytes(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as i32).to_be_bytes()[..], bytes].concat()
}

pub fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends a request and reads its answer, without length and correlation id.
pub fn call(stream: &mut TcpStream, request: &[u8]) -> Fields {
    stream.write_all(&frame(request)).unwrap();
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut answer = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer[..4], 7_i32.to_be_bytes());
    Fields { bytes: answer, at: 4 }
}

/// An answer, field by field.
pub struct Fields {
    bytes: Vec<u8>,
    at: usize,
}

impl Fields {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        self.at += N;
        self.bytes[self.at - N..self.at].try_into().unwrap()
    }

    pub fn i16(&mut self) -> i16 {
        i16::from_be_bytes(self.take())
    }

    pub fn i32(&mut self) -> i32 {
        i32::from_be_bytes(self.take())
    }

    pub fn string(&mut self) -> String {
        let length = self.i16() as usize;
        self.at += length;
        String::from_utf8(self.bytes[self.at - length..self.at].to_vec()).unwrap()
    }
}
