//! Messages of a connection: ids, numbers, signatures, and the rules by which they are taken.

use std::fmt;
use std::str::FromStr;

use async_nats::{HeaderMap, HeaderName, Message};
use nkeys::KeyPair;
use tokio_util::bytes::Bytes;

use super::super::keys::{self, KeyError};

/// Maximum length of a piece, in bytes. Pings and beats come between two of them, so that it is short.
pub(super) const PIECE_MAX: usize = 16 * 1024;

/// Maximum weight of pieces that were sent and not yet taken by the other end. Pings and beats wait behind them: 128 KiB
/// take a second at 1 Mbit/s.
pub(super) const WINDOW: u64 = 128 * 1024;

/// Maximum weight of pieces that wait for a slow reader. An end that keeps to [`WINDOW`] never reaches it.
pub(super) const BACKLOG_MAX: u64 = WINDOW + PIECE_MAX as u64 + OVERHEAD;

/// Weight of a piece beside its bytes: 128 of them fill the window, and a subscription holds twice as many.
const OVERHEAD: u64 = 1024;

const CONNECTION: HeaderName = HeaderName::from_static("C");
const NUMBER: HeaderName = HeaderName::from_static("N");
/// Weight that the sender of this message has taken so far.
const TAKEN: HeaderName = HeaderName::from_static("A");
pub(super) const SIGNATURE: HeaderName = HeaderName::from_static("Sig");

/// The identity of a connection. Those of one bot only rise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ConnectionId {
    /// The bot's epoch.
    pub(super) epoch: u64,
    /// Number within the epoch, from 1.
    pub(super) number: u64,
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.epoch, self.number)
    }
}

/// Reason why a message is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Rejection {
    /// Id or number is missing or no number.
    #[error("it has no connection or no number")]
    Headers,
    /// The signature is missing or not the bot's.
    #[error("it is not signed by the bot")]
    Signature,
}

impl FromStr for ConnectionId {
    type Err = Rejection;

    fn from_str(text: &str) -> Result<Self, Rejection> {
        let (epoch, number) = text.split_once('-').ok_or(Rejection::Headers)?;
        let id = Self { epoch: decimal(epoch)?, number: decimal(number)? };
        if id.number == 0 { Err(Rejection::Headers) } else { Ok(id) }
    }
}

/// A message of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Numbered {
    /// The connection.
    pub(super) id: ConnectionId,
    /// Number of the message in its direction, from 1; 0 if the connection is closed.
    pub(super) n: u64,
    /// Weight that the other end has taken so far, if it says so.
    pub(super) taken: Option<u64>,
    /// A piece of the stream; empty for a sign of life.
    pub(super) payload: Bytes,
}

impl Numbered {
    /// Returns the message that says that a connection is closed.
    pub(super) fn closed(id: ConnectionId) -> Self {
        Self { id, n: 0, taken: None, payload: Bytes::new() }
    }

    /// Returns the headers, with a signature for `subject` if a key is given.
    ///
    /// # Errors
    /// The key cannot sign.
    pub(super) fn headers(&self, subject: &str, key: Option<&KeyPair>) -> Result<HeaderMap, KeyError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONNECTION, self.id.to_string());
        headers.insert(NUMBER, self.n.to_string());
        if let Some(taken) = self.taken {
            headers.insert(TAKEN, taken.to_string());
        }
        if let Some(key) = key {
            headers.insert(SIGNATURE, keys::sign(key, &self.signed(subject))?);
        }
        Ok(headers)
    }

    /// Reads a message. With a key its signature is checked before anything else counts.
    ///
    /// # Errors
    /// It is no message of a connection, or not signed by the key.
    pub(super) fn read(message: Message, key: Option<&KeyPair>) -> Result<Self, Rejection> {
        let headers = message.headers.unwrap_or_default();
        let text = |name: HeaderName| headers.get(name).map(async_nats::HeaderValue::as_str);
        let read = Self {
            id: text(CONNECTION).ok_or(Rejection::Headers)?.parse()?,
            n: decimal(text(NUMBER).ok_or(Rejection::Headers)?)?,
            taken: text(TAKEN).and_then(|taken| decimal(taken).ok()),
            payload: message.payload,
        };
        if let Some(key) = key
            && !text(SIGNATURE).is_some_and(|it| keys::is_signed(key, &read.signed(&message.subject), it))
        {
            return Err(Rejection::Signature);
        }
        Ok(read)
    }

    fn signed(&self, subject: &str) -> Vec<u8> {
        let head = format!("{subject}\n{}\n{}\n", self.id, self.n);
        [head.as_bytes(), &self.payload].concat()
    }
}

/// Returns the signed text of a grant: the reply subject and the incarnation tie it to one beat.
pub(super) fn grant_text(reply: &str, incarnation: &str, body: &[u8]) -> Vec<u8> {
    [format!("{reply}\n{incarnation}\n").as_bytes(), body].concat()
}

/// Returns true for 16 lower-case hex digits.
pub(super) fn is_incarnation(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns the weight of a piece in the window.
pub(super) fn weight(payload: &Bytes) -> u64 {
    payload.len() as u64 + OVERHEAD
}

/// Reads a number in its only spelling, so that one text is signed by one signature.
fn decimal(text: &str) -> Result<u64, Rejection> {
    let number: u64 = text.parse().map_err(|_| Rejection::Headers)?;
    if number.to_string() == text { Ok(number) } else { Err(Rejection::Headers) }
}

/// The place of a message among those of its direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It is the next one.
    Next,
    /// It was there before.
    Double,
    /// A message before it is missing.
    Gap,
    /// The other end has closed the connection.
    Closed,
}

/// The numbers that have arrived in one direction of a connection.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    last: u64,
    over: bool,
}

impl Arrivals {
    /// Takes the number of a message. After a gap or the end every further one is a gap.
    pub(super) fn take(&mut self, n: u64) -> Arrival {
        if self.over {
            return Arrival::Gap;
        }
        let arrival = match n {
            0 => Arrival::Closed,
            n if n <= self.last => Arrival::Double,
            n if n == self.last + 1 => Arrival::Next,
            _ => Arrival::Gap,
        };
        match arrival {
            Arrival::Next => self.last = n,
            Arrival::Gap | Arrival::Closed => self.over = true,
            Arrival::Double => {}
        }
        arrival
    }
}

/// The connections that a runner has taken: each id once, and none below an earlier one.
#[derive(Debug, Default)]
pub(super) struct Taken {
    highest: Option<ConnectionId>,
}

impl Taken {
    /// Returns true if a message of an unknown connection begins one.
    pub(super) fn begin(&mut self, id: ConnectionId, n: u64) -> bool {
        let begins = n == 1 && self.highest.is_none_or(|highest| id > highest);
        if begins {
            self.highest = Some(id);
        }
        begins
    }

    /// Hears the epoch of a grant; returns false if a later one was heard before.
    pub(super) fn hear(&mut self, epoch: u64) -> bool {
        let heard = Some(ConnectionId { epoch, number: 0 });
        if self.highest.is_some_and(|highest| highest.epoch > epoch) {
            return false;
        }
        self.highest = self.highest.max(heard);
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(epoch: u64, number: u64) -> ConnectionId {
        ConnectionId { epoch, number }
    }

    fn message(subject: &str, numbered: &Numbered, key: Option<&KeyPair>) -> Message {
        Message {
            subject: subject.into(),
            reply: None,
            payload: numbered.payload.clone(),
            headers: Some(numbered.headers(subject, key).unwrap()),
            status: None,
            description: None,
            length: 0,
        }
    }

    proptest! {
        #[test]
        fn what_is_passed_on_is_a_prefix_of_what_was_sent(numbers in prop::collection::vec(0_u64..12, 0..60)) {
            let mut arrivals = Arrivals::default();
            let mut passed = Vec::new();
            let mut over = false;
            for n in numbers {
                match arrivals.take(n) {
                    Arrival::Next => {
                        prop_assert!(!over, "something is passed on after the end");
                        passed.push(n);
                    }
                    Arrival::Double => prop_assert!(n >= 1 && passed.contains(&n)),
                    Arrival::Gap | Arrival::Closed => over = true,
                }
            }
            prop_assert_eq!(&passed, &(1..=passed.len() as u64).collect::<Vec<_>>());
        }

        #[test]
        fn a_stream_with_doubles_and_no_loss_is_whole(doubles in prop::collection::vec(1_usize..4, 1..40)) {
            let mut arrivals = Arrivals::default();
            for (n, times) in (1..).zip(&doubles) {
                prop_assert_eq!(arrivals.take(n), Arrival::Next);
                for _ in 1..*times {
                    prop_assert_eq!(arrivals.take(n), Arrival::Double);
                }
            }
            prop_assert_eq!(arrivals.take(0), Arrival::Closed);
        }

        #[test]
        fn ids_of_taken_connections_only_rise(offers in prop::collection::vec((0_u64..4, 1_u64..6, 0_u64..3), 0..60)) {
            let mut taken = Taken::default();
            let mut begun = Vec::new();
            for (epoch, number, n) in offers {
                if taken.begin(id(epoch, number), n) {
                    prop_assert_eq!(n, 1);
                    begun.push(id(epoch, number));
                }
            }
            prop_assert!(begun.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", begun);
        }
    }

    #[test]
    fn a_lower_epoch_is_neither_heard_nor_taken_after_a_higher_one() {
        let mut taken = Taken::default();
        assert!(taken.hear(5));
        assert!(!taken.begin(id(4, 9), 1));
        assert!(!taken.hear(4));
        assert!(taken.begin(id(5, 1), 1));
        assert!(taken.hear(5));
        assert!(!taken.begin(id(5, 1), 1), "a replay");
    }

    #[test]
    fn a_signature_is_good_for_one_subject_id_number_and_payload() {
        let key = KeyPair::new_user();
        let public = KeyPair::from_public_key(&key.public_key()).unwrap();
        let good = Numbered { id: id(3, 7), n: 2, taken: Some(9), payload: Bytes::from_static(b"{}") };
        assert_eq!(Numbered::read(message("a.b", &good, Some(&key)), Some(&public)), Ok(good.clone()));
        let mut moved = message("a.b", &good, Some(&key));
        moved.subject = "a.c".into();
        let mut altered = message("a.b", &good, Some(&key));
        altered.payload = Bytes::from_static(b"[]");
        let mut shifted = message("a.b", &good, Some(&key));
        shifted.headers.as_mut().unwrap().insert(NUMBER, "3");
        let mut other = message("a.b", &good, Some(&key));
        other.headers.as_mut().unwrap().insert(CONNECTION, "3-8");
        let stranger = message("a.b", &good, Some(&KeyPair::new_user()));
        let unsigned = message("a.b", &good, None);
        for wrong in [moved, altered, shifted, other, stranger, unsigned] {
            assert_eq!(Numbered::read(wrong, Some(&public)), Err(Rejection::Signature));
        }
    }

    #[test]
    fn an_id_has_one_spelling() {
        for wrong in ["", "1", "1-", "-1", "01-1", "1-+1", "1-0", "1-1-1", "1 -1"] {
            assert_eq!(wrong.parse::<ConnectionId>(), Err(Rejection::Headers), "{wrong}");
        }
        assert_eq!("12-3".parse(), Ok(id(12, 3)));
    }

    #[test]
    fn a_grant_cannot_be_read_as_a_message_of_a_connection() {
        // A connection's id has a dash, and an incarnation has none: no text is both.
        assert!(is_incarnation("0123456789abcdef"));
        for wrong in
            ["0123456789abcde", "0123456789ABCDEF", "1-1\n1\n", "0123456789abcde\n", "12345678901234-1"]
        {
            assert!(!is_incarnation(wrong), "{wrong}");
        }
    }
}
