//! A bad network: passes bytes between clients and a broker, and cuts connections in the middle of anything.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Between which counts of bytes to the broker a connection is cut: in the middle of a request, mostly.
const REQUEST_BYTES: Range<usize> = 2_000..300_000;
/// The same for bytes from the broker. Answers are short: what they acknowledge has been done and isn't heard of.
const ANSWER_BYTES: Range<usize> = 1_000..2_500;

pub struct Proxy {
    address: String,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

struct Shared {
    broker: Mutex<Option<String>>,
    /// Where each connection is cut comes from this.
    dice: Mutex<StdRng>,
    is_cutting: AtomicBool,
    is_over: AtomicBool,
    cuts: AtomicUsize,
}

impl Proxy {
    /// Listens already, so that a broker can be told to advertise it; connections are closed until [`Self::serve`].
    pub fn listen(seed: u64) -> Self {
        Self::listen_on(TcpListener::bind("127.0.0.1:0").unwrap(), seed)
    }

    pub fn listen_on(listener: TcpListener, seed: u64) -> Self {
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Shared {
            broker: Mutex::new(None),
            dice: Mutex::new(StdRng::seed_from_u64(seed)),
            is_cutting: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            cuts: AtomicUsize::new(0),
        });
        let theirs = Arc::clone(&shared);
        let acceptor = std::thread::spawn(move || accept(&listener, &theirs));
        Self { address, shared, acceptor: Some(acceptor) }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn serve(&self, broker: &str) {
        *self.shared.broker.lock() = Some(broker.to_owned());
    }

    /// Connections made from now on are cut or not.
    pub fn cut(&self, is_cutting: bool) {
        self.shared.is_cutting.store(is_cutting, Ordering::Relaxed);
    }

    pub fn cuts(&self) -> usize {
        self.shared.cuts.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        // Wakes the acceptor. The connections' threads end with their connections.
        let _ = TcpStream::connect(&self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        if shared.is_over.load(Ordering::Relaxed) {
            return;
        }
        let Ok(client) = client else { continue };
        let Some(address) = shared.broker.lock().clone() else { continue };
        let Ok(broker) = TcpStream::connect(address) else { continue };
        for (from, to, range) in [(&client, &broker, REQUEST_BYTES), (&broker, &client, ANSWER_BYTES)] {
            let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else { continue };
            let bytes_max = match shared.is_cutting.load(Ordering::Relaxed) {
                true => shared.dice.lock().random_range(range),
                false => usize::MAX,
            };
            let shared = Arc::clone(shared);
            std::thread::spawn(move || pass(from, to, bytes_max, &shared));
        }
    }
}

/// Passes on at most `bytes_max` bytes, then closes both.
fn pass(mut from: TcpStream, mut to: TcpStream, bytes_max: usize, shared: &Shared) {
    let mut left = bytes_max;
    let mut buffer = vec![0; 16 * 1024];
    while left > 0 {
        match from.read(&mut buffer) {
            Ok(read) if read > 0 => {
                let passed = read.min(left);
                if to.write_all(&buffer[..passed]).is_err() {
                    break;
                }
                left -= passed;
            }
            _ => break,
        }
    }
    if left == 0 {
        shared.cuts.fetch_add(1, Ordering::Relaxed);
    }
    for stream in [from, to] {
        // The other direction may have closed it already.
        let _ = stream.shutdown(Shutdown::Both);
    }
}
