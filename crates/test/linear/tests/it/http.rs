//! A connection that sends one request after the other and reads the whole answer.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long an answer may take on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Connection {
    stream: BufReader<TcpStream>,
    host: String,
}

pub struct Answer {
    pub status: u16,
    pub body: serde_json::Value,
}

impl Connection {
    pub async fn open(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream), host: address.to_owned() })
    }

    pub async fn get(&mut self, path: &str) -> io::Result<Answer> {
        self.ask("GET", path, "").await
    }

    pub async fn post(&mut self, path: &str, body: &str) -> io::Result<Answer> {
        self.ask("POST", path, body).await
    }

    async fn ask(&mut self, method: &str, path: &str, body: &str) -> io::Result<Answer> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.host,
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await?;
        timeout(PATIENCE, self.answer()).await.map_err(|_| io::ErrorKind::TimedOut)?
    }

    async fn answer(&mut self) -> io::Result<Answer> {
        let status = self.line().await?;
        let status = status.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(malformed)?;
        let mut length = None;
        loop {
            let line = self.line().await?;
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse::<usize>().ok();
            }
        }
        let mut body = vec![0; length.ok_or_else(malformed)?];
        self.stream.read_exact(&mut body).await?;
        Ok(Answer { status, body: serde_json::from_slice(&body)? })
    }

    async fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "no HTTP answer")
}
