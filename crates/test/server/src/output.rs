//! What a child writes, gathered by a thread until the child closes its end.

use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Of a longer output the beginning is dropped: the end says why a child failed.
const KEPT_BYTES_MAX: usize = 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Output {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    gathered: Mutex<Gathered>,
    grown: Condvar,
}

#[derive(Debug, Default)]
struct Gathered {
    bytes: Vec<u8>,
    has_ended: bool,
}

impl Output {
    pub(crate) fn gather(mut from: impl Read + Send + 'static) -> Self {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let mut piece = vec![0; 64 * 1024];
            loop {
                // A failed read is an end: nothing more will come.
                let read = from.read(&mut piece).unwrap_or(0);
                let mut gathered = theirs.lock();
                gathered.bytes.extend_from_slice(&piece[..read]);
                let excess = gathered.bytes.len().saturating_sub(KEPT_BYTES_MAX);
                gathered.bytes.drain(..excess);
                gathered.has_ended = read == 0;
                theirs.grown.notify_all();
                if read == 0 {
                    return;
                }
            }
        });
        Self { shared, thread: Some(thread) }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.shared.lock().bytes).into_owned()
    }

    /// Everything, once the child has closed its end.
    pub(crate) fn whole_text(&mut self) -> String {
        if let Some(thread) = self.thread.take() {
            thread.join().expect("gathering doesn't panic");
        }
        self.text()
    }

    /// The first whole line; `None` if the output ends before, or the time is up.
    pub(crate) fn first_line(&self, patience: Duration) -> Option<String> {
        let deadline = Instant::now() + patience;
        let mut gathered = self.shared.lock();
        loop {
            if let Some(end) = gathered.bytes.iter().position(|byte| *byte == b'\n') {
                return Some(String::from_utf8_lossy(&gathered.bytes[..end]).into_owned());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if gathered.has_ended || left.is_zero() {
                return None;
            }
            gathered = self.shared.grown.wait_timeout(gathered, left).expect("gathering doesn't panic").0;
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().expect("gathering doesn't panic")
    }
}
