//! Lines from a pipe: bounded, cancel-safe, many per read.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::{self, BufRead};
use std::pin::Pin;
use std::task::{Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// Maximum length of a line, in bytes. Longer ones are discarded: no runtime writes one on purpose.
pub const LINE_LIMIT: usize = 8 * 1024 * 1024;

/// The UTF-8 byte order mark, which some programs write before their first line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Number of bytes per read: a pipe holds no more.
const CHUNK: usize = 64 * 1024;

thread_local! {
    /// The read buffer shared by all readers of a thread, so that a reader which waits holds none.
    static READ: RefCell<Box<[u8]>> = RefCell::new(vec![0; CHUNK].into_boxed_slice());
}

/// A line of a program's output.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A complete line, without its line end.
    Whole(&'a [u8]),
    /// A line that exceeded the limit and was discarded.
    TooLong,
}

/// A reader that splits `source` into lines of bounded length.
#[derive(Debug)]
pub struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    /// Position in the buffer where the next line starts.
    start: usize,
    /// Position in the buffer up to which no line end was found.
    scanned: usize,
    limit: usize,
    skipping: bool,
    ended: bool,
    /// True until the first line was returned, which may begin with a byte order mark.
    first: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Creates a reader of lines of at most [`LINE_LIMIT`] bytes.
    pub const fn new(source: R) -> Self {
        Self::with_limit(source, LINE_LIMIT)
    }

    /// Creates a reader of lines of at most `limit` bytes.
    pub const fn with_limit(source: R, limit: usize) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            limit,
            skipping: false,
            ended: false,
            first: true,
        }
    }

    /// Reads once. Returns `Ok(false)` at the end, where [`Lines::next_line`] still returns a last line without an
    /// end. Cancel-safe.
    ///
    /// # Errors
    /// The error of the source's read.
    pub async fn fill(&mut self) -> io::Result<bool> {
        self.compact();
        let Self { source, buffer, .. } = self;
        let read = poll_fn(|context| {
            READ.with_borrow_mut(|chunk| {
                let mut chunk = ReadBuf::new(chunk);
                let polled = Pin::new(&mut *source).poll_read(context, &mut chunk);
                if polled.is_pending() && buffer.is_empty() {
                    *buffer = Vec::new();
                }
                ready!(polled)?;
                buffer.extend_from_slice(chunk.filled());
                Poll::Ready(io::Result::Ok(chunk.filled().len()))
            })
        })
        .await?;
        self.ended |= read == 0;
        Ok(read > 0)
    }

    /// Returns the next complete line in the buffer; `None` if more must be read first.
    pub fn next_line(&mut self) -> Option<Line<'_>> {
        let found = self.find();
        let (from, to) = match found {
            Some(end) => (std::mem::replace(&mut self.start, end + 1), end),
            None if self.skipping => {
                self.start = self.buffer.len();
                return if std::mem::take(&mut self.ended) {
                    self.skipping = false;
                    Some(Line::TooLong)
                } else {
                    None
                };
            }
            None if self.buffer.len() - self.start > self.limit => {
                self.skipping = true;
                self.start = self.buffer.len();
                return None;
            }
            None if self.ended && self.start < self.buffer.len() => {
                let end = self.buffer.len();
                (std::mem::replace(&mut self.start, end), end)
            }
            None => return None,
        };
        if std::mem::take(&mut self.skipping) || to - from > self.limit {
            return Some(Line::TooLong);
        }
        let mut line = &self.buffer[from..to];
        if std::mem::take(&mut self.first) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        Some(Line::Whole(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// Returns the position of the next line end in the buffer; each byte is examined once.
    fn find(&mut self) -> Option<usize> {
        let from = self.scanned.max(self.start);
        let mut rest = &self.buffer[from..];
        // The standard library's fast search; reading from memory cannot fail.
        let passed = rest.skip_until(b'\n').unwrap_or(0);
        self.scanned = from + passed;
        let end = self.scanned.checked_sub(1)?;
        (passed > 0 && self.buffer[end] == b'\n').then_some(end)
    }

    fn compact(&mut self) {
        if self.start == self.buffer.len() {
            self.buffer.clear();
        } else if self.start > 0 {
            self.buffer.drain(..self.start);
        } else {
            return;
        }
        self.scanned = self.scanned.saturating_sub(self.start).min(self.buffer.len());
        self.start = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns its chunks one by one, as a pipe does.
    struct Chunks(std::collections::VecDeque<Vec<u8>>);

    impl AsyncRead for Chunks {
        fn poll_read(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            into: &mut tokio::io::ReadBuf<'_>,
        ) -> std::task::Poll<io::Result<()>> {
            if let Some(mut chunk) = self.0.pop_front() {
                let rest = chunk.split_off(chunk.len().min(into.remaining()));
                into.put_slice(&chunk);
                if !rest.is_empty() {
                    self.0.push_front(rest);
                }
            }
            std::task::Poll::Ready(Ok(()))
        }
    }

    fn read_all(chunks: Vec<Vec<u8>>, limit: usize) -> Vec<Option<Vec<u8>>> {
        let chunks = chunks.into_iter().filter(|chunk| !chunk.is_empty()).collect();
        let mut lines = Lines::with_limit(Chunks(chunks), limit);
        let mut all = Vec::new();
        let runtime =
            tokio::runtime::Builder::new_current_thread().build().expect("a runtime without drivers");
        runtime.block_on(async {
            loop {
                let more = lines.fill().await.expect("chunks do not fail");
                while let Some(line) = lines.next_line() {
                    all.push(match line {
                        Line::Whole(line) => Some(line.to_vec()),
                        Line::TooLong => None,
                    });
                }
                if !more {
                    return;
                }
            }
        });
        all
    }

    #[test]
    fn a_line_too_long_is_dropped_and_the_next_one_is_whole() {
        let text = [b"ab\n".to_vec(), vec![b'x'; 40], vec![b'y'; 40], b"\ncd\r\nlast".to_vec()];
        let lines = read_all(text.to_vec(), 10);
        assert_eq!(lines, [Some(b"ab".to_vec()), None, Some(b"cd".to_vec()), Some(b"last".to_vec())]);
        assert_eq!(read_all(vec![vec![b'x'; 40]], 10), [None]);
        assert_eq!(read_all(vec![b"\n\n".to_vec()], 10), [Some(vec![]), Some(vec![])]);
    }

    #[test]
    fn a_byte_order_mark_before_the_first_line_is_left_out() {
        let chunks = [b"\xef\xbb".to_vec(), b"\xbfab\n\xef\xbb\xbfcd\n".to_vec()];
        let lines = read_all(chunks.to_vec(), 10);
        assert_eq!(lines, [Some(b"ab".to_vec()), Some(b"\xef\xbb\xbfcd".to_vec())]);
    }

    proptest! {
        #[test]
        fn however_the_bytes_arrive_the_lines_are_the_same(
            lines in prop::collection::vec("[a-z]{0,12}", 0..20),
            cuts in prop::collection::vec(1usize..9, 1..40),
        ) {
            let text: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
            let mut chunks = Vec::new();
            let mut rest = text.as_slice();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break; }
                let (chunk, behind) = rest.split_at((*cut).min(rest.len()));
                chunks.push(chunk.to_vec());
                rest = behind;
            }
            let read = read_all(chunks, 8);
            let expected: Vec<_> =
                lines.iter().map(|line| (line.len() <= 8).then(|| line.clone().into_bytes())).collect();
            prop_assert_eq!(read, expected);
        }
    }
}
