use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use daybook_world::{Disk, DiskError, DiskFile, RealDisk};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};

use super::transmit;
use crate::answer::{AnswerPiece, FileRange};

/// Larger than any socket's buffer, so that writes are partial.
const LARGE: usize = 24 * 1024 * 1024;

async fn connected() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let (ours, theirs) = tokio::join!(TcpStream::connect(address), listener.accept());
    (ours.expect("it accepts"), theirs.expect("it connects").0)
}

fn pattern(bytes: usize, seed: u8) -> Vec<u8> {
    (0..bytes).map(|at| (at as u8).wrapping_mul(31).wrapping_add((at >> 9) as u8) ^ seed).collect()
}

/// A disk's file that the kernel knows nothing of.
#[derive(Debug)]
struct WithoutDescriptor(Arc<dyn DiskFile>);

impl DiskFile for WithoutDescriptor {
    fn write_all_at(&self, parts: &[std::io::IoSlice<'_>], at: u64) -> Result<(), DiskError> {
        self.0.write_all_at(parts, at)
    }
    fn read_at(&self, buffer: &mut [u8], at: u64) -> Result<usize, DiskError> {
        self.0.read_at(buffer, at)
    }
    fn sync_data(&self) -> Result<(), DiskError> {
        self.0.sync_data()
    }
    fn len(&self) -> Result<u64, DiskError> {
        self.0.len()
    }
    fn set_len(&self, bytes: u64) -> Result<(), DiskError> {
        self.0.set_len(bytes)
    }
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

fn file_of(content: &[u8]) -> (tempfile::TempDir, Arc<dyn DiskFile>) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let disk = RealDisk::open(dir.path()).expect("it opens");
    let file = disk.create(Path::new("f")).expect("it can be made");
    file.write_all_at(&[std::io::IoSlice::new(content)], 0).expect("it can be written");
    (dir, file)
}

#[tokio::test]
async fn memory_and_files_arrive_in_their_order() {
    let content = pattern(LARGE, 0);
    let (_dir, file) = file_of(&content);
    let hidden: Arc<dyn DiskFile> = Arc::new(WithoutDescriptor(Arc::clone(&file)));
    let head = Bytes::from(pattern(100, 1));
    let large = Bytes::from(pattern(LARGE, 2));
    let range = |file: &Arc<dyn DiskFile>, at: usize, bytes: usize| {
        AnswerPiece::File(FileRange { file: Arc::clone(file), at: at as u64, bytes })
    };
    let mut pieces = vec![
        AnswerPiece::Memory(head.clone()),
        AnswerPiece::Memory(Bytes::new()),
        range(&file, 10, LARGE - 20),
        AnswerPiece::Memory(large.clone()),
        range(&hidden, 5, 1_000_000),
        range(&file, 7, 0),
    ];
    let mut expected = [&head[..], &content[10..LARGE - 10], &large[..], &content[5..1_000_005]].concat();
    // More parts than one vectored write takes.
    for at in 0..1000u32 {
        pieces.push(AnswerPiece::Memory(Bytes::copy_from_slice(&at.to_be_bytes())));
        expected.extend_from_slice(&at.to_be_bytes());
    }
    let (ours, mut theirs) = connected().await;
    let receive = async {
        let mut received = Vec::new();
        theirs.read_to_end(&mut received).await.expect("it can be read");
        received
    };
    let send = async {
        transmit(&ours, &pieces, Duration::from_secs(60)).await.expect("it can be written");
        drop(ours);
    };
    let (received, ()) = tokio::join!(receive, send);
    assert!(received == expected, "{} bytes of {}", received.len(), expected.len());
}

#[tokio::test]
async fn a_file_that_is_too_short_is_an_error() {
    let (_dir, file) = file_of(b"short");
    let (ours, _theirs) = connected().await;
    let hidden: Arc<dyn DiskFile> = Arc::new(WithoutDescriptor(Arc::clone(&file)));
    for file in [file, hidden] {
        let piece = AnswerPiece::File(FileRange { file, at: 0, bytes: 6 });
        let failed = transmit(&ours, &[piece], Duration::from_secs(60)).await.expect_err("a byte is missing");
        assert_eq!(failed.kind(), std::io::ErrorKind::UnexpectedEof);
    }
}

#[tokio::test]
async fn a_peer_that_takes_nothing_is_given_up() {
    let (ours, _theirs) = connected().await;
    let piece = AnswerPiece::Memory(Bytes::from(vec![0; LARGE]));
    let failed = transmit(&ours, &[piece], Duration::from_millis(20)).await.expect_err("nobody reads");
    assert_eq!(failed.kind(), std::io::ErrorKind::TimedOut);
}
