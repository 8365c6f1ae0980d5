//! Information that serenity gives in its log only: gaps in the sequence of events, and some of the codes with which
//! Discord closes a link.
//!
//! After those codes serenity polls a closed link without ever yielding, and nothing else on its thread runs. Its log
//! entry is written before that, on the same thread, and is read there; all entries also go to herder's own log.

use std::fmt::{self, Write as _};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Dispatch, Event, Level, Metadata, Subscriber, dispatcher};

/// Maximum length of an examined log message, in bytes: all relevant ones are shorter.
const WORDS_MAX: usize = 200;

/// Information that serenity only writes to its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overheard {
    /// Discord left out events.
    Gap,
    /// Discord closed the link with this code.
    Ended(u16),
}

/// Runs `act` and passes information from serenity's log to `tell` meanwhile.
pub(super) fn listening<T>(tell: impl Fn(Overheard) + Send + Sync + 'static, act: impl FnOnce() -> T) -> T {
    let (log, level) = (dispatcher::get_default(Clone::clone), LevelFilter::current());
    let ear = Ear { log, level: level.max(LevelFilter::WARN), tell };
    dispatcher::with_default(&Dispatch::new(ear), act)
}

struct Ear<T> {
    /// herder's own log, to which every entry is passed on.
    log: Dispatch,
    level: LevelFilter,
    tell: T,
}

fn is_serenitys(told: &Metadata<'_>) -> bool {
    told.is_event() && *told.level() <= Level::WARN && told.target().starts_with("serenity::gateway")
}

/// Returns the information in a message of serenity's log; `None` if it has none.
fn meaning(words: &str) -> Option<Overheard> {
    if words.contains("Sequence off;") {
        return Some(Overheard::Gap);
    }
    let error = words.strip_prefix("Shard handler received err: Gateway(")?;
    match error.trim_end_matches(')') {
        "NoAuthentication" => Some(Overheard::Ended(4003)),
        "InvalidShardData" => Some(Overheard::Ended(4010)),
        "OverloadedShard" => Some(Overheard::Ended(4011)),
        _ => None,
    }
}

/// Collects the message of a log event, cut to `WORDS_MAX`.
struct Words(String);

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            // An error only means that there is no more room.
            let _ = write!(self, "{value:?}");
        }
    }
}

impl fmt::Write for Words {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = WORDS_MAX.saturating_sub(self.0.len());
        if room == 0 {
            return Err(fmt::Error);
        }
        let fits = part.char_indices().take_while(|(at, c)| at + c.len_utf8() <= room);
        self.0.extend(fits.map(|(_, c)| c));
        Ok(())
    }
}

impl<T: Fn(Overheard) + Send + Sync + 'static> Subscriber for Ear<T> {
    fn register_callsite(&self, told: &'static Metadata<'static>) -> Interest {
        let log = self.log.register_callsite(told);
        if is_serenitys(told) { Interest::sometimes() } else { log }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }

    fn enabled(&self, told: &Metadata<'_>) -> bool {
        is_serenitys(told) || self.log.enabled(told)
    }

    fn event(&self, event: &Event<'_>) {
        if is_serenitys(event.metadata()) {
            let mut words = Words(String::new());
            event.record(&mut words);
            if let Some(overheard) = meaning(&words.0) {
                (self.tell)(overheard);
            }
        }
        if self.log.enabled(event.metadata()) {
            self.log.event(event);
        }
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.log.new_span(span)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        self.log.record(span, values);
    }

    fn record_follows_from(&self, span: &Id, follows: &Id) {
        self.log.record_follows_from(span, follows);
    }

    fn enter(&self, span: &Id) {
        self.log.enter(span);
    }

    fn exit(&self, span: &Id) {
        self.log.exit(span);
    }

    fn clone_span(&self, span: &Id) -> Id {
        self.log.clone_span(span)
    }

    fn try_close(&self, span: Id) -> bool {
        self.log.try_close(span)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serenity::all::GatewayError;

    use super::*;

    #[test]
    fn the_words_are_those_of_serenity() {
        let error = |error: GatewayError| {
            format!("Shard handler received err: {:?}", serenity::Error::Gateway(error))
        };
        let table = [
            (
                "[ShardInfo { id: ShardId(0), total: 1 }] Sequence off; them: 9, us: 7".to_owned(),
                Some(Overheard::Gap),
            ),
            (error(GatewayError::NoAuthentication), Some(Overheard::Ended(4003))),
            (error(GatewayError::InvalidShardData), Some(Overheard::Ended(4010))),
            (error(GatewayError::OverloadedShard), Some(Overheard::Ended(4011))),
            (error(GatewayError::HeartbeatFailed), None),
            ("Err sending a message".to_owned(), None),
        ];
        for (words, expected) in table {
            assert_eq!(meaning(&words), expected, "{words}");
        }
    }

    #[test]
    fn only_serenitys_words_are_heard_and_all_go_on() {
        let (heard, logged) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(0)));
        struct Log(Arc<Mutex<u32>>);
        impl Subscriber for Log {
            fn enabled(&self, _: &Metadata<'_>) -> bool {
                true
            }
            fn new_span(&self, _: &Attributes<'_>) -> Id {
                Id::from_u64(1)
            }
            fn record(&self, _: &Id, _: &Record<'_>) {}
            fn record_follows_from(&self, _: &Id, _: &Id) {}
            fn event(&self, _: &Event<'_>) {
                *self.0.lock().expect("it is whole") += 1;
            }
            fn enter(&self, _: &Id) {}
            fn exit(&self, _: &Id) {}
        }
        let tell = Arc::clone(&heard);
        dispatcher::with_default(&Dispatch::new(Log(Arc::clone(&logged))), || {
            listening(
                move |overheard| tell.lock().expect("it is whole").push(overheard),
                || {
                    tracing::warn!(target: "serenity::gateway::shard", "[0] Sequence off; them: {}, us: {}", 9, 7);
                    tracing::warn!(target: "herder", "Sequence off; them: 9");
                    tracing::info!(target: "serenity::gateway::shard", "Sequence off; them: 9");
                },
            );
        });
        assert_eq!(*heard.lock().expect("it is whole"), [Overheard::Gap]);
        assert_eq!(*logged.lock().expect("it is whole"), 3);
    }
}
