//! A child's standard input: written piece by piece, so that a child that does not read blocks nothing.

use std::collections::VecDeque;

use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;

use crate::core::id::WorkId;

/// Maximum size of answers that wait for a child which does not read, in bytes; beyond it no more of the child's output
/// is read. Messages do not count: a child that writes before it reads would wait for herder, and herder for it.
const WAITING_MAX: usize = 1024 * 1024;

/// A child's standard input: the pipe, and the bytes that wait to be written.
#[derive(Debug)]
pub(super) struct Stdin {
    pipe: Option<ChildStdin>,
    waiting: VecDeque<Piece>,
    /// Bytes of answers that wait.
    waiting_bytes: usize,
    closing: bool,
}

#[derive(Debug)]
struct Piece {
    bytes: Vec<u8>,
    written: usize,
    work: Option<WorkId>,
    is_answer: bool,
}

impl Stdin {
    pub(super) const fn new(pipe: Option<ChildStdin>) -> Self {
        Self { pipe, waiting: VecDeque::new(), waiting_bytes: 0, closing: false }
    }

    /// Returns true if more can be queued.
    pub(super) const fn is_open(&self) -> bool {
        self.pipe.is_some() && !self.closing
    }

    /// Returns true if [`Stdin::feed`] has something to write.
    pub(super) fn has_work(&self) -> bool {
        self.pipe.is_some() && !self.waiting.is_empty()
    }

    /// Returns true if more output may be read from the child, since answers to it still fit.
    pub(super) fn has_room(&self) -> bool {
        self.waiting_bytes < WAITING_MAX
    }

    /// Queues `bytes`. The message number `work` is returned by [`Stdin::feed`] once they are written.
    pub(super) fn push(&mut self, bytes: Vec<u8>, work: Option<WorkId>) {
        self.queue(Piece { bytes, written: 0, work, is_answer: false });
    }

    /// Queues an answer to something that the child has asked for.
    pub(super) fn answer(&mut self, bytes: Vec<u8>) {
        self.queue(Piece { bytes, written: 0, work: None, is_answer: true });
    }

    fn queue(&mut self, piece: Piece) {
        if self.is_open() && !piece.bytes.is_empty() {
            if piece.is_answer {
                self.waiting_bytes += piece.bytes.len();
            }
            self.waiting.push_back(piece);
        }
    }

    /// Enlarges the pipe's buffer to `bytes`, as far as the kernel allows, so that the work is handed over whole or not
    /// at all even if herder is killed.
    pub(super) fn make_room(&self, bytes: usize) {
        let Some(pipe) = &self.pipe else { return };
        let holds = rustix::pipe::fcntl_getpipe_size(pipe).unwrap_or(usize::MAX);
        if bytes > holds
            && let Err(reason) = rustix::pipe::fcntl_setpipe_size(pipe, bytes)
        {
            tracing::debug!(%reason, bytes, "the work is handed over in pieces");
        }
    }

    /// Closes the pipe once everything is written.
    pub(super) fn close(&mut self) {
        self.closing = true;
        self.close_if_done();
    }

    /// Closes the pipe at once.
    pub(super) fn drop_now(&mut self) {
        self.pipe = None;
        self.waiting.clear();
        self.waiting_bytes = 0;
    }

    fn close_if_done(&mut self) {
        if self.closing && self.waiting.is_empty() {
            self.pipe = None;
        }
    }

    /// Writes once, as much as the pipe takes. Returns the number of the message whose last byte this was. Written
    /// bytes are readable by the child at once, as this side has no buffer.
    pub(super) async fn feed(&mut self) -> Option<WorkId> {
        let (Some(pipe), Some(piece)) = (&mut self.pipe, self.waiting.front_mut()) else { return None };
        match pipe.write(&piece.bytes[piece.written..]).await {
            Ok(0) | Err(_) => {
                // The child does not read any more; its exit tells why.
                self.drop_now();
                None
            }
            Ok(written) => {
                piece.written += written;
                if piece.is_answer {
                    self.waiting_bytes = self.waiting_bytes.saturating_sub(written);
                }
                if piece.written < piece.bytes.len() {
                    return None;
                }
                let work = self.waiting.pop_front().and_then(|piece| piece.work);
                self.close_if_done();
                work
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    #[tokio::test]
    async fn answers_that_are_not_read_stop_the_reading_and_messages_do_not() {
        let mut child = tokio::process::Command::new("sleep");
        let child = child.arg("60").stdin(Stdio::piped()).kill_on_drop(true).spawn();
        let mut child = child.expect("sleep is there");
        let mut stdin = Stdin::new(child.stdin.take());
        stdin.push(vec![0; 2 * WAITING_MAX], Some(WorkId(1)));
        assert!(stdin.has_room(), "a picture on its way to the model");
        stdin.answer(vec![0; WAITING_MAX]);
        assert!(!stdin.has_room());
        stdin.feed().await;
        assert!(!stdin.has_room(), "what was written is of the message");
    }
}
