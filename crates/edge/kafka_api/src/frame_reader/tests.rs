use bytes::{BufMut, BytesMut};
use proptest::prelude::*;

use super::{DIRECT_BYTES_MIN, FrameReader};
use crate::frame::FrameError;
use crate::frame_reader::ReadFrameError;

const BYTES_MAX: usize = 1024 * 1024;

fn stream_of(requests: &[Vec<u8>]) -> Vec<u8> {
    let mut stream = BytesMut::new();
    for request in requests {
        stream.put_u32(request.len() as u32);
        stream.put_slice(request);
    }
    stream.to_vec()
}

/// All that comes out of a connection whose bytes arrive in these parts.
async fn read_all(parts: Vec<Vec<u8>>) -> (Vec<Vec<u8>>, Option<ReadFrameError>) {
    let mut mock = MockStream { parts: parts.into() };
    let mut reader = FrameReader::new(BYTES_MAX);
    let mut requests = Vec::new();
    loop {
        match reader.next(&mut mock).await {
            Ok(Some(request)) => requests.push(request.to_vec()),
            Ok(None) => return (requests, None),
            Err(error) => return (requests, Some(error)),
        }
    }
}

/// Gives its parts one a read.
struct MockStream {
    parts: std::collections::VecDeque<Vec<u8>>,
}

impl tokio::io::AsyncRead for MockStream {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        if let Some(mut part) = self.parts.pop_front() {
            let rest = part.split_off(part.len().min(buffer.remaining()));
            buffer.put_slice(&part);
            if !rest.is_empty() {
                self.parts.push_front(rest);
            }
        }
        std::task::Poll::Ready(Ok(()))
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

#[test]
fn buffers_are_exactly_as_large_as_their_requests() {
    let requests = vec![vec![1; 10], vec![2; 4000], vec![3; 3 * DIRECT_BYTES_MIN], vec![4; 11]];
    let mut reader = FrameReader::new(BYTES_MAX);
    reader.feed(&stream_of(&requests));
    for request in &requests {
        let found = reader.ready.pop_front().expect("as many as there were");
        assert_eq!(found, request);
        let whole = found.try_into_mut().expect("it is not shared");
        assert_eq!(whole.capacity(), request.len());
    }
    assert!(!reader.is_within_request());
}

#[test]
fn what_came_before_the_fault_is_handed_out() {
    let mut stream = stream_of(&[vec![1; 20], vec![2; 30]]);
    stream.extend_from_slice(b"GET / HTTP/1.1\r\n");
    let (requests, end) = run(read_all(vec![stream]));
    assert_eq!(requests, [vec![1; 20], vec![2; 30]]);
    assert!(matches!(end, Some(ReadFrameError::Frame(FrameError::Foreign { protocol: "HTTP" }))), "{end:?}");
}

#[test]
fn knows_when_it_is_within_a_request() {
    let mut reader = FrameReader::new(BYTES_MAX);
    assert!(!reader.is_within_request());
    reader.feed(&[0]);
    assert!(reader.is_within_request());
    reader.feed(&[0, 0, 10]);
    reader.feed(&[7; 10]);
    assert!(!reader.is_within_request());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn requests_are_the_same_however_they_arrive(
        sizes in proptest::collection::vec(prop_oneof![10usize..200, 10_000usize..200_000], 1..6),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let requests: Vec<Vec<u8>> = sizes.iter().enumerate().map(|(at, size)| vec![at as u8; *size]).collect();
        let stream = stream_of(&requests);
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len())).chain([stream.len()]).collect();
        ends.sort_unstable();
        let mut from = 0;
        let parts = ends.into_iter().map(|end| stream[std::mem::replace(&mut from, end)..end].to_vec());
        let parts: Vec<Vec<u8>> = parts.filter(|part| !part.is_empty()).collect();
        let (found, end) = run(read_all(parts));
        prop_assert!(end.is_none());
        prop_assert_eq!(found, requests);
    }

    #[test]
    fn arbitrary_bytes_never_panic(parts: Vec<Vec<u8>>) {
        let parts = parts.into_iter().filter(|part| !part.is_empty()).collect();
        run(read_all(parts));
    }
}
