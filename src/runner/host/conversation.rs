//! The conversation with one bot: the first message, then both directions at once.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::MissedTickBehavior;
use tokio_util::bytes::BytesMut;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::super::ledger::InOrder;
use super::super::wire::{
    BEAT, CALLS_FROM, Envelope, FILES_FROM, Frames, FromRunner, HelloRefusal, OLDEST, SessionKey, ToRunner,
    VERSION, WireError, common_version,
};
use super::{Inner, WRITE_MAX};

/// Maximum time for a bot to say its first word.
const HELLO_WITHIN: Duration = Duration::from_secs(10);

impl Inner {
    /// Speaks with one bot until the connection ends or another bot takes its place.
    pub(super) async fn converse(
        self: &Arc<Self>,
        (mut reader, mut writer): (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    ) -> Result<(), WireError> {
        let (mut frames, mut read) = (Frames::default(), BytesMut::new());
        let first = tokio::time::timeout(HELLO_WITHIN, next(&mut reader, &mut frames, &mut read)).await;
        let Some(hello) = first.map_err(io::Error::from)?? else { return Ok(()) };
        let mut out = BytesMut::new();
        if matches!(hello.body, ToRunner::Status | ToRunner::Stop | ToRunner::StopWhenIdle) {
            frames.write(&Envelope::new(hello.epoch, 0, FromRunner::Status(self.status())), &mut out)?;
            writer.write_all(&out).await?;
            match hello.body {
                ToRunner::Stop => self.stopping.cancel(),
                ToRunner::StopWhenIdle => self.stop_when_idle().await,
                _ => return Ok(()),
            }
            self.ended.cancelled().await;
            return Ok(());
        }
        let is_over = {
            let state = self.state();
            state.ending && state.sessions.is_empty()
        };
        if is_over {
            return Ok(());
        }
        let connection = match self.welcome(&hello) {
            Ok((welcome, connection)) => {
                frames.write(&Envelope::new(hello.epoch, 0, welcome), &mut out)?;
                connection
            }
            Err(refusal) => {
                warn!(%refusal, "a bot was refused");
                frames.write(&Envelope::new(hello.epoch, 0, FromRunner::Refused(refusal)), &mut out)?;
                return Ok(writer.write_all(&out).await?);
            }
        };
        let hearing = async {
            while let Some(message) = next(&mut reader, &mut frames, &mut read).await? {
                if let Err(refusal) = self.take(message) {
                    warn!(%refusal, "the bot's message was refused");
                    break;
                }
            }
            Ok::<(), WireError>(())
        };
        let telling = async {
            writer.write_all(&out).await?;
            let mut frames = Frames::default();
            let beats = self.state().version >= CALLS_FROM;
            let mut beat = tokio::time::interval(BEAT);
            beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                let mut out = BytesMut::new();
                // All that is there is sent before the next wait, so that no wake-up is lost.
                while self.tell((hello.epoch, &connection), &mut frames, &mut out)? {
                    writer.write_all(&out).await?;
                    out.clear();
                }
                tokio::select! {
                    biased;
                    () = self.changed.notified() => {}
                    () = self.wanted.changed.notified() => {}
                    _ = beat.tick(), if beats => {
                        frames.write(&Envelope::new(hello.epoch, 0, FromRunner::Beat), &mut out)?;
                        writer.write_all(&out).await?;
                    }
                }
            }
        };
        let ended = tokio::select! {
            biased;
            () = connection.cancelled() => {
                // The wake-up that this one may have taken was meant for its successor.
                self.changed.notify_one();
                Ok(())
            }
            // There is an end to what can be told before something is heard.
            told = telling => told,
            heard = hearing => heard,
        };
        // The bot that took this one's place is there already.
        let state = self.state();
        if !connection.is_cancelled() {
            self.attended.send_replace(false);
        }
        drop(state);
        ended
    }

    /// Answers the first message: from now on this bot is the only one.
    pub(super) fn welcome(
        &self,
        hello: &Envelope<ToRunner>,
    ) -> Result<(FromRunner, CancellationToken), HelloRefusal> {
        let none = HelloRefusal::Version { oldest: OLDEST, newest: VERSION };
        let ToRunner::Hello { journal, oldest, newest } = &hello.body else { return Err(none) };
        let version = common_version(*oldest, *newest).ok_or(none)?;
        let mut state = self.state();
        if state.journal.as_ref().is_some_and(|known| known != journal) {
            return Err(HelloRefusal::Journal);
        }
        if hello.epoch < state.epoch {
            return Err(HelloRefusal::Epoch { highest: state.epoch });
        }
        if hello.epoch > state.epoch {
            state.epoch = hello.epoch;
            state.taken = InOrder::default();
            state.jobs.begin_term();
        }
        if state.journal.is_none() {
            state.journal = Some(journal.clone());
            self.remember(journal);
        }
        (state.took, state.version) = (0, version);
        state.calls.connect(hello.epoch);
        state.jobs.connect();
        self.wanted.connect();
        state.connection.cancel();
        state.connection = CancellationToken::new();
        let connection = state.connection.clone();
        let all: BTreeSet<SessionKey> = state.sessions.keys().cloned().collect();
        state.dirty = all;
        let mut sessions = Vec::new();
        for hosted in state.sessions.values_mut() {
            hosted.sent = hosted.unheard.first().saturating_sub(1);
            hosted.live.mark_changed();
            sessions.push(hosted.standing());
        }
        self.attended.send_replace(true);
        drop(state);
        let (incarnation, past) = (self.incarnation.clone(), self.past.clone().map(Box::new));
        Ok((FromRunner::Welcome { incarnation, version, sessions, past }, connection))
    }

    /// Appends messages for the bot to `out`; returns whether there were any. A connection whose place was taken gets
    /// none, because what is told to it counts as sent.
    pub(super) fn tell(
        &self,
        (epoch, connection): (u64, &CancellationToken),
        frames: &mut Frames,
        out: &mut BytesMut,
    ) -> Result<bool, WireError> {
        let mut state = self.state();
        if connection.is_cancelled() {
            return Ok(false);
        }
        let taken = state.taken.last();
        if taken > state.took {
            state.took = taken;
            frames.write(&Envelope::new(epoch, 0, FromRunner::Took { up_to: taken }), out)?;
        }
        if state.version >= CALLS_FROM {
            for message in state.calls.untold(epoch) {
                frames.write(&Envelope::new(epoch, 0, message), out)?;
            }
        }
        if state.version < FILES_FROM {
            self.wanted.refuse_all();
        }
        while let Some((file, from)) = self.wanted.take_unasked() {
            frames.write(&Envelope::new(epoch, 0, FromRunner::Fetch { file, from }), out)?;
        }
        while out.len() < WRITE_MAX
            && let Some(part) = state.jobs.take_untold()
        {
            frames.write(&Envelope::new(epoch, 0, part), out)?;
        }
        while out.len() < WRITE_MAX
            && let Some(of) = state.dirty.first().cloned()
        {
            let done = match state.sessions.get_mut(&of) {
                Some(hosted) => hosted.tell(epoch, frames, out)?,
                None => true,
            };
            if done {
                state.dirty.remove(&of);
            }
        }
        Ok(!out.is_empty())
    }
}

/// Reads the next message; `None` if the peer has closed the connection.
pub(in crate::runner) async fn next<B: serde::de::DeserializeOwned>(
    reader: &mut (impl AsyncRead + Unpin),
    frames: &mut Frames,
    read: &mut BytesMut,
) -> Result<Option<Envelope<B>>, WireError> {
    loop {
        if let Some(message) = frames.read(read)? {
            return Ok(Some(message));
        }
        if reader.read_buf(read).await? == 0 {
            return Ok(None);
        }
    }
}
