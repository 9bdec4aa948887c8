//! How long the server was busy with something: the time in which it was worked on, without that in which it waited.

use std::pin::{Pin, pin};
use std::task::Context;
use std::time::{Duration, Instant};

/// What came of the work.
pub(crate) struct Handled<T> {
    pub output: T,
    pub busy: Duration,
}

/// Does the work, and takes the time whenever it is taken up: what Kafka calls the time of a request's handler thread.
pub(crate) async fn busy<T>(work: impl Future<Output = T>) -> Handled<T> {
    let mut work = pin!(work);
    let mut busy = Duration::ZERO;
    let output = std::future::poll_fn(|context: &mut Context<'_>| {
        let begun = Instant::now();
        let polled = Pin::as_mut(&mut work).poll(context);
        busy += begun.elapsed();
        polled
    });
    let output = output.await;
    Handled { output, busy }
}
