//! Numbers by which a message arrives once, over a connection that may end at any byte and be made again.
//!
//! The sender keeps each message in [`Unheard`] until it is acknowledged, and sends what it keeps again on every new
//! connection. The receiver takes numbers in their order by [`InOrder`], and acknowledges after its commit. Pure.

use std::collections::VecDeque;

/// Maximum number of kept messages; a runner that keeps so many reports of a session does not read its child.
pub const KEPT_MAX: usize = 256;

/// Maximum size of kept messages, in bytes.
pub const KEPT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The messages that were not acknowledged yet, with their numbers.
#[derive(Debug)]
pub struct Unheard<T> {
    first: u64,
    kept: VecDeque<(T, usize)>,
    bytes: usize,
}

impl<T> Default for Unheard<T> {
    fn default() -> Self {
        Self { first: 1, kept: VecDeque::new(), bytes: 0 }
    }
}

impl<T> Unheard<T> {
    /// Keeps a message of so many bytes; returns its number.
    pub fn keep(&mut self, message: T, bytes: usize) -> u64 {
        let number = self.next_number();
        self.bytes = self.bytes.saturating_add(bytes);
        self.kept.push_back((message, bytes));
        number
    }

    /// Forgets the messages up to this number. One that was never given, from a confused peer, is ignored.
    pub fn heard(&mut self, up_to: u64) {
        if up_to >= self.next_number() {
            return;
        }
        while self.first <= up_to
            && let Some((_, bytes)) = self.kept.pop_front()
        {
            self.bytes = self.bytes.saturating_sub(bytes);
            self.first += 1;
        }
    }

    /// Returns true if no further message should be made before some are acknowledged.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.kept.len() >= KEPT_MAX || self.bytes >= KEPT_BYTES_MAX
    }

    /// Returns the kept messages from this number on, in their order.
    pub fn since(&self, number: u64) -> impl Iterator<Item = (u64, &T)> {
        let skipped = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        (self.first..).zip(&self.kept).skip(skipped).map(|(number, (message, _))| (number, message))
    }

    /// Number of the first kept message, or of the next one if none is kept.
    #[must_use]
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// Number of the next message.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.first + self.kept.len() as u64
    }

    /// Returns true if everything is acknowledged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }
}

/// The number of the last message that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InOrder {
    last: u64,
}

/// The place of a message among those that were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// It is the next one, and counts as taken now.
    Next,
    /// It was taken before, and is dropped.
    Again,
    /// Messages before it are missing: the connection has to be made again.
    Gap,
}

impl InOrder {
    /// Returns a receiver that has taken everything up to `last`.
    #[must_use]
    pub const fn after(last: u64) -> Self {
        Self { last }
    }

    /// Takes the message of this number, if it is the next one.
    pub const fn take(&mut self, number: u64) -> Arrival {
        if number <= self.last {
            return Arrival::Again;
        }
        if number > self.last.saturating_add(1) {
            return Arrival::Gap;
        }
        self.last = number;
        Arrival::Next
    }

    /// Number of the last message that was taken; 0 if there was none.
    #[must_use]
    pub const fn last(self) -> u64 {
        self.last
    }
}
