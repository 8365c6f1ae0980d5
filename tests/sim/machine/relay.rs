//! A connection between a bot and a runner: it is slow, stands still now and then, and ends at any byte.

use std::time::Duration;

use herder::runner::host::Host;
use herder::runner::wire::{Frames, FromRunner, ToRunner};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream, duplex, split};
use tokio::time::sleep;
use tokio_util::bytes::BytesMut;

use super::{ROOM, Seen};
use crate::simulated_fleet::random::Random;

/// A piece that is passed on at once, at most, in bytes.
const PIECE: usize = 16 * 1024;

pub(super) struct Relay {
    pub(super) runner: u64,
    pub(super) seen: Seen,
    pub(super) dice: Random,
}

/// A direction of a connection.
struct Lane {
    seen: Seen,
    dice: Random,
    /// The number of bytes after which it is cut.
    left: u64,
    frames: Frames,
    passed: BytesMut,
}

impl Relay {
    pub(super) async fn run(mut self, bot: DuplexStream, host: Host) {
        let (near, far) = duplex(ROOM);
        tokio::spawn(async move { host.attend(split(far)).await });
        let (from_bot, to_bot) = split(bot);
        let (from_host, to_host) = split(near);
        let mut lane = |of| Lane {
            seen: self.seen.clone(),
            left: cut_after(&mut self.dice),
            dice: Random::new(self.dice.next(), &[of]),
            frames: Frames::default(),
            passed: BytesMut::new(),
        };
        let (mut down, mut up) = (lane(0), lane(1));
        let runner = self.runner;
        let down = down.carry(from_bot, to_host, |lane| lane.note_orders(runner));
        let up = up.carry(from_host, to_bot, Lane::note_reports);
        tokio::select! {
            biased;
            () = down => {}
            () = up => {}
        }
        self.seen.counts().crossings += 1;
    }
}

/// Draws the number of bytes after which a direction is cut: within a length, a hello, the first messages, or late.
fn cut_after(dice: &mut Random) -> u64 {
    match dice.below(10) {
        0 => dice.below(200),
        1 | 2 => dice.below(2_000),
        3..=5 => dice.below(20_000),
        6 | 7 => dice.below(1_000_000),
        _ => u64::MAX,
    }
}

/// Returns true if the piece is no more than the runner's sign of life.
fn is_a_beat(piece: &[u8]) -> bool {
    const WORD: &[u8] = b"\"beat\"";
    piece.len() < 80 && piece.windows(WORD.len()).any(|word| word == WORD)
}

impl Lane {
    /// Passes bytes on until there are no more, or the connection is cut. What was said before the end is passed on.
    async fn carry(
        &mut self,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
        note: impl Fn(&mut Self),
    ) {
        let mut piece = vec![0; PIECE];
        loop {
            let read = match from.read(&mut piece).await {
                Ok(0) | Err(_) => return,
                Ok(read) => read,
            };
            let calm = {
                let mut counts = self.seen.counts();
                // A sign of life is no message that another party waits for.
                counts.crossings += u64::from(!is_a_beat(&piece[..read]));
                counts.calm
            };
            let waits = if calm { Duration::ZERO } else { self.wait() };
            if !waits.is_zero() {
                sleep(waits).await;
                self.seen.counts().crossings += 1;
            }
            let passed = if calm { read } else { read.min(usize::try_from(self.left).unwrap_or(usize::MAX)) };
            if to.write_all(&piece[..passed]).await.is_err() {
                // The other direction passes on what was said, then there is no more.
                std::future::pending::<()>().await;
            }
            self.passed.extend_from_slice(&piece[..passed]);
            note(self);
            self.left = self.left.saturating_sub(passed as u64);
            if self.left == 0 && !calm {
                self.seen.counts().cuts += 1;
                return;
            }
        }
    }

    fn wait(&mut self) -> Duration {
        match self.dice.below(200) {
            0 => {
                self.seen.counts().freezes += 1;
                self.dice.between(Duration::from_secs(1), Duration::from_secs(15))
            }
            1..=40 => {
                self.seen.counts().delays += 1;
                self.dice.between(Duration::from_millis(1), Duration::from_millis(60))
            }
            _ => Duration::ZERO,
        }
    }

    fn note_reports(&mut self) {
        while let Some(message) = self.frames.read::<FromRunner>(&mut self.passed).expect("a message") {
            if let FromRunner::Report { of, n, .. } = message.body {
                let mut counts = self.seen.counts();
                let again = !counts.reports.insert((message.epoch, of, n));
                counts.doubled_reports += u64::from(again);
            }
        }
    }

    fn note_orders(&mut self, runner: u64) {
        while let Some(message) = self.frames.read::<ToRunner>(&mut self.passed).expect("a message") {
            if message.n > 0 {
                let mut counts = self.seen.counts();
                let again = !counts.orders.insert((runner, message.epoch, message.n));
                counts.doubled_orders += u64::from(again);
            }
        }
    }
}
