//! Answers that are made one after the other while the client takes them.

use futures::stream::{self, BoxStream, StreamExt};
use tokio::sync::{mpsc, watch};
use tonic::Status;

use super::error_code;
use super::options::ANSWERS_WAITING_MAX;

/// Where answers go. Waits while the client has enough of them.
pub(super) struct Answers<T> {
    sender: mpsc::Sender<Result<T, Status>>,
}

/// The client is gone; whoever makes answers for it should stop.
pub(super) struct Gone;

impl<T> Clone for Answers<T> {
    fn clone(&self) -> Self {
        Self { sender: self.sender.clone() }
    }
}

impl<T> Answers<T> {
    pub(super) async fn send(&self, answer: T) -> Result<(), Gone> {
        self.sender.send(Ok(answer)).await.map_err(|_| Gone)
    }
}

/// Why no more answers come.
pub(super) enum End {
    Gone,
    Failed(Status),
}

impl From<Gone> for End {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

impl From<Status> for End {
    fn from(status: Status) -> Self {
        Self::Failed(status)
    }
}

/// Runs `work`, which makes the answers, until it ends, the client goes or the server shuts down.
pub(super) fn answer<T, F, W>(shutdown: Option<watch::Receiver<bool>>, work: F) -> BoxStream<'static, Result<T, Status>>
where
    T: Send + 'static,
    F: FnOnce(Answers<T>) -> W,
    W: Future<Output = Result<(), End>> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(ANSWERS_WAITING_MAX);
    let work = work(Answers { sender: sender.clone() });
    tokio::spawn(async move {
        let end = tokio::select! {
            end = work => end,
            () = sender.closed() => Err(End::Gone),
            () = begun(shutdown) => Err(End::Failed(error_code::shutting_down())),
        };
        if let Err(End::Failed(status)) = end {
            // That nobody listens any more is no fault.
            let _ = sender.send(Err(status)).await;
        }
    });
    stream::unfold(receiver, |mut receiver| async move {
        let answer = receiver.recv().await?;
        Some((answer, receiver))
    })
    .boxed()
}

/// Waits for the shutdown; for ever, if there will be none.
pub(super) async fn begun(shutdown: Option<watch::Receiver<bool>>) {
    match shutdown {
        // An end of the sender without a word is the end of the server too.
        Some(mut shutdown) => drop(shutdown.wait_for(|begun| *begun).await),
        None => std::future::pending().await,
    }
}
