//! The gateway: sessions, the events that are dispatched to them, and the connections that carry them
//! ([`connection`]).

mod connection;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::mpsc;

pub(crate) use connection::serve;

use super::state::{Id, State};

pub(crate) const GUILDS: u64 = 1;
pub(crate) const MEMBERS: u64 = 1 << 1;
pub(crate) const PRESENCES: u64 = 1 << 8;
pub(crate) const GUILD_MESSAGES: u64 = 1 << 9;
pub(crate) const GUILD_REACTIONS: u64 = 1 << 10;
pub(crate) const DIRECT_MESSAGES: u64 = 1 << 12;
pub(crate) const DIRECT_REACTIONS: u64 = 1 << 13;
pub(crate) const MESSAGE_CONTENT: u64 = 1 << 15;

/// The intents that have to be switched on in the developer portal.
pub(crate) const PRIVILEGED: u64 = MEMBERS | PRESENCES | MESSAGE_CONTENT;
/// Every intent there is.
const KNOWN: u64 = 0b11_0011_1111_1111_1111_1111_1111;

/// The number of events of a session that are kept for a resume; Discord keeps some minutes of them.
const REPLAY_MAX: usize = 10_000;

/// The gateway as a whole.
#[derive(Debug)]
pub(crate) struct Gateway {
    pub(crate) sessions: Vec<Session>,
    pub(crate) heartbeat: Duration,
    /// Identifies that were accepted.
    pub(crate) identifies: u32,
    /// Resumes that were accepted.
    pub(crate) resumes: u32,
    /// Connections that were taken, whatever became of them.
    pub(crate) connections: u32,
    /// The number of heartbeats that arrived.
    pub(crate) heartbeats: u32,
    /// The number of identifies that Discord still allows today.
    pub(crate) starts_left: u32,
    /// The number of shards that Discord recommends.
    pub(crate) shards: u64,
    /// Number of connections to refuse with 503.
    pub(crate) refuse: u32,
    /// Number of connections to close with this code instead of a greeting.
    pub(crate) close_at_connect: Option<(u32, u16)>,
    /// Number of resumes to answer with an invalid session.
    pub(crate) forget: u32,
    /// Number of logins and resumes to answer with an invalid session, and whether that session can be resumed.
    pub(crate) invalid: (u32, bool),
    /// Times of accepted connections.
    pub(crate) connected_at: Vec<Instant>,
    /// The times of all identifies, the refused ones among them.
    pub(crate) identified_at: Vec<Instant>,
    /// Connections stay open, but nothing is acknowledged, answered or dispatched.
    pub(crate) zombie: bool,
    /// Logins and resumes that stay unanswered because of that.
    pub(crate) swallowed: u32,
    /// Number of events of this name that go out twice; an empty name means any event.
    pub(crate) duplicate: (String, u32),
    /// Number of events of this name that the following event overtakes.
    pub(crate) reorder: (String, u32),
    /// Number of events of this name that are dropped.
    pub(crate) lose: (String, u32),
    /// Number of events of this name that are numbered, then dropped.
    pub(crate) skip: (String, u32),
    /// True if no close code ends a session: it can be resumed at any sequence number.
    pub(crate) keeps_sessions: bool,
    /// Number of events of this name in a form that no client can parse.
    pub(crate) garble: (String, u32),
    next_session: u64,
}

impl Default for Gateway {
    fn default() -> Self {
        Self {
            sessions: Vec::new(),
            heartbeat: Duration::from_millis(41_250),
            identifies: 0,
            resumes: 0,
            connections: 0,
            heartbeats: 0,
            starts_left: 1000,
            shards: 1,
            refuse: 0,
            close_at_connect: None,
            forget: 0,
            invalid: (0, false),
            connected_at: Vec::new(),
            identified_at: Vec::new(),
            zombie: false,
            swallowed: 0,
            duplicate: (String::new(), 0),
            reorder: (String::new(), 0),
            lose: (String::new(), 0),
            garble: (String::new(), 0),
            skip: (String::new(), 0),
            keeps_sessions: false,
            next_session: 1,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) shard: (u64, u64),
    pub(crate) intents: u64,
    pub(crate) sequence: u64,
    compress: bool,
    sent: VecDeque<(u64, String)>,
    link: Option<mpsc::UnboundedSender<Push>>,
    overtaken: Option<String>,
    /// Something was kept back from its connection: nothing comes there any more.
    is_cut_off: bool,
    /// `READY` has been sent on a connection that still stands.
    pub(crate) is_ready: bool,
}

/// An instruction to a connection.
#[derive(Debug, Clone)]
pub(crate) enum Push {
    /// A payload.
    Send(String),
    /// Opcode 9: the session is over, or (`true`) to be resumed.
    Invalid(bool),
    /// A close frame with this code, or an empty one.
    Close(Option<u16>),
    /// The end of the stream without a word.
    Fin,
    /// A reset.
    Rst,
}

impl Session {
    pub(crate) fn is_linked(&self) -> bool {
        self.link.is_some()
    }

    /// Returns every payload so far, as it was sent.
    pub(crate) fn sent(&self) -> impl Iterator<Item = &str> {
        self.sent.iter().map(|(_, payload)| payload.as_str())
    }

    pub(crate) fn push(&self, push: Push) {
        if let Some(link) = &self.link {
            // A connection that has just ended is noticed by its own task.
            drop(link.send(push));
        }
    }
}

impl Gateway {
    fn is_hit(fault: &mut (String, u32), event: &str) -> bool {
        let hit = fault.1 > 0 && (fault.0.is_empty() || fault.0 == event);
        fault.1 -= u32::from(hit);
        hit
    }
}

/// The conditions under which a session receives an event.
pub(crate) struct Hearing<'a> {
    pub(crate) event: &'a str,
    /// One of these intents is needed; 0: none.
    pub(crate) intents: u64,
    /// Direct messages go to the first shard.
    pub(crate) is_direct: bool,
}

impl State {
    /// Sends an event to every session that receives it; returns `true` if one of them is connected.
    pub(crate) fn dispatch(&mut self, hearing: &Hearing<'_>, data: impl Fn(&State, u64) -> Value) -> bool {
        if !hearing.is_direct && !self.is_bot_there() {
            return false;
        }
        let mut sessions = std::mem::take(&mut self.gateway.sessions);
        let mut heard = false;
        for session in &mut sessions {
            let (shard, count) = session.shard;
            let is_here = if hearing.is_direct { shard == 0 } else { (self.guild.id >> 22) % count == shard };
            if !is_here || (hearing.intents != 0 && session.intents & hearing.intents == 0) {
                continue;
            }
            let data = data(self, session.intents);
            heard |= self.deliver(session, hearing.event, &data);
        }
        self.gateway.sessions = sessions;
        heard
    }

    /// Numbers an event, keeps it for a resume and sends it if there is a connection.
    fn deliver(&mut self, session: &mut Session, event: &str, data: &Value) -> bool {
        if Gateway::is_hit(&mut self.gateway.lose, event) {
            return false;
        }
        session.sequence += 1;
        if Gateway::is_hit(&mut self.gateway.skip, event) {
            return false;
        }
        let mut data = data.clone();
        if Gateway::is_hit(&mut self.gateway.garble, event) {
            // Fields of a message, of an interaction and of a guild, in this order.
            (data["tts"], data["data"], data["roles"]) = (json!("?"), json!("?"), json!("?"));
        }
        let payload = json!({ "op": 0, "t": event, "s": session.sequence, "d": data }).to_string();
        session.sent.push_back((session.sequence, payload.clone()));
        if session.sent.len() > REPLAY_MAX {
            session.sent.pop_front();
        }
        session.is_cut_off |= self.gateway.zombie;
        if session.link.is_none() || session.is_cut_off {
            return false;
        }
        if Gateway::is_hit(&mut self.gateway.reorder, event) {
            session.overtaken = Some(payload);
            return true;
        }
        if Gateway::is_hit(&mut self.gateway.duplicate, event) {
            session.push(Push::Send(payload.clone()));
        }
        session.push(Push::Send(payload));
        if let Some(overtaken) = session.overtaken.take() {
            session.push(Push::Send(overtaken));
        }
        true
    }

    /// Returns whether the connection of a session carries nothing.
    fn is_silent(&mut self, session: Option<&String>) -> bool {
        self.gateway.zombie
            || session.and_then(|id| self.session_mut(id)).is_some_and(|session| session.is_cut_off)
    }

    fn session_mut(&mut self, id: &str) -> Option<&mut Session> {
        self.gateway.sessions.iter_mut().find(|session| session.id == id)
    }

    /// Returns the close code of an identify that is refused.
    fn identify_refusal(&mut self, data: &Value) -> Option<u16> {
        if data["token"].as_str().map(|token| token.trim_start_matches("Bot "))
            != Some(self.bot.token.as_str())
        {
            return Some(4004);
        }
        let Some(intents) = data["intents"].as_u64().filter(|intents| intents & !KNOWN == 0) else {
            return Some(4013);
        };
        if intents & PRIVILEGED & !self.bot.privileged != 0 {
            return Some(4014);
        }
        let shard = (data["shard"][0].as_u64(), data["shard"][1].as_u64());
        if !data["shard"].is_null() && !matches!(shard, (Some(id), Some(count)) if id < count) {
            return Some(4010);
        }
        if self.gateway.shards > 1 && shard.1.unwrap_or(1) == 1 {
            return Some(4011);
        }
        if self.gateway.starts_left == 0 {
            self.violation(
                "gateway: an identify although session_start_limit.remaining is 0; the token is reset",
            );
            return Some(4004);
        }
        None
    }

    fn identify(&mut self, data: &Value, link: mpsc::UnboundedSender<Push>) -> String {
        self.gateway.identifies += 1;
        self.gateway.starts_left -= 1;
        let shard = (data["shard"][0].as_u64().unwrap_or(0), data["shard"][1].as_u64().unwrap_or(1));
        // A second login adds a session; the others live on and receive the same events.
        let id = format!("session-{}", self.gateway.next_session);
        self.gateway.next_session += 1;
        let mut session = Session {
            id: id.clone(),
            shard,
            intents: data["intents"].as_u64().unwrap_or(0),
            sequence: 0,
            compress: data["compress"] == true,
            sent: VecDeque::new(),
            link: Some(link),
            overtaken: None,
            is_cut_off: false,
            is_ready: true,
        };
        let has_guild = self.is_bot_there() && (self.guild.id >> 22) % shard.1 == shard.0;
        let guild = json!({ "id": self.guild.id.to_string(), "unavailable": true });
        let ready = json!({
            "v": 10, "user": self.current_user_json(), "guilds": if has_guild { json!([guild]) } else { json!([]) },
            "session_id": id, "resume_gateway_url": self.gateway_url(), "shard": [shard.0, shard.1],
            "application": { "id": self.bot.id.to_string(), "flags": self.application_json()["flags"] },
            "private_channels": [], "presences": [], "relationships": [], "user_settings": {},
            "_trace": ["simulator"],
        });
        self.deliver(&mut session, "READY", &ready);
        if has_guild && session.intents & GUILDS != 0 {
            let guild = self.guild_create_json();
            self.deliver(&mut session, "GUILD_CREATE", &guild);
        }
        self.gateway.sessions.push(session);
        id
    }

    /// Resumes a session. The error is the close code, or `None` for an invalid session.
    fn resume(&mut self, data: &Value, link: mpsc::UnboundedSender<Push>) -> Result<String, Option<u16>> {
        if data["token"].as_str().map(|token| token.trim_start_matches("Bot "))
            != Some(self.bot.token.as_str())
        {
            return Err(Some(4004));
        }
        if self.gateway.forget > 0 {
            self.gateway.forget -= 1;
            self.gateway.sessions.clear();
        }
        let since = data["seq"].as_u64().unwrap_or(0);
        let id = data["session_id"].as_str().unwrap_or_default().to_owned();
        let Some(session) = self.session_mut(&id) else { return Err(None) };
        if since > session.sequence {
            return Err(Some(4007));
        }
        // An event that was held back for a successor that never came is replayed in its place.
        session.overtaken = None;
        session.link = Some(link);
        (session.is_cut_off, session.is_ready) = (false, true);
        for (number, payload) in &session.sent {
            if *number > since {
                session.push(Push::Send(payload.clone()));
            }
        }
        session.sequence += 1;
        let resumed =
            json!({ "op": 0, "t": "RESUMED", "s": session.sequence, "d": { "_trace": ["simulator"] } });
        session.sent.push_back((session.sequence, resumed.to_string()));
        session.push(Push::Send(resumed.to_string()));
        self.gateway.resumes += 1;
        Ok(id)
    }

    /// Returns the address of the gateway. It is plain also where REST is encrypted: serenity's WebSocket trusts the
    /// public authorities alone.
    pub(crate) fn gateway_url(&self) -> String {
        self.base.replacen("http", "ws", 1)
    }

    /// Detaches a connection that has ended from its session, unless the session has a newer one.
    fn unlink(&mut self, session: &str, connection: &mpsc::UnboundedSender<Push>) {
        let session = self.session_mut(session);
        let is_carried =
            |session: &&mut Session| session.link.as_ref().is_some_and(|link| link.same_channel(connection));
        if let Some(session) = session.filter(is_carried) {
            session.link = None;
            session.is_ready = false;
            self.doubts_deliveries();
        }
    }

    /// Ends a session: it cannot be resumed.
    fn end(&mut self, session: &str) {
        self.gateway.sessions.retain(|known| known.id != session);
        self.doubts_deliveries();
    }

    /// Marks recent deliveries as uncertain after a connection has ended: it is unknown whether the last events on it
    /// have arrived, so a missing answer to them is no violation.
    fn doubts_deliveries(&mut self) {
        for interaction in self.interactions.values_mut().filter(|interaction| interaction.ack.is_none()) {
            let is_recent = |at: &Instant| at.elapsed() < super::rest::PATIENCE;
            interaction.delivered = interaction.delivered.filter(|at| !is_recent(at));
        }
    }

    /// Members by name or id, as asked for with opcode 8.
    fn members_chunk(&self, data: &Value) -> Value {
        let query = data["query"].as_str().unwrap_or_default();
        let wanted: Option<Vec<Id>> = match &data["user_ids"] {
            Value::Null => None,
            Value::Array(ids) => Some(ids.iter().filter_map(snowflake).collect()),
            one => Some(snowflake(one).into_iter().collect()),
        };
        let fits = |id: &Id| match &wanted {
            Some(ids) => ids.contains(id),
            None => self.users.get(id).is_some_and(|user| user.name.starts_with(query)),
        };
        let members: Value =
            self.guild.members.keys().filter(|id| fits(id)).filter_map(|id| self.member_json(*id)).collect();
        json!({
            "guild_id": self.guild.id.to_string(), "members": members, "chunk_index": 0, "chunk_count": 1,
            "not_found": [], "nonce": data["nonce"],
        })
    }
}

/// Returns an id as it stands in JSON.
pub(crate) fn snowflake(value: &Value) -> Option<Id> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

impl State {
    /// Tells every connection the same.
    pub(crate) fn push_all(&mut self, push: &Push) {
        for session in &self.gateway.sessions {
            session.push(push.clone());
        }
    }

    /// Marks an interaction as put on the wire.
    pub(crate) fn delivered(&mut self, interaction: Id) {
        if let Some(interaction) = self.interactions.get_mut(&interaction) {
            interaction.delivered = Some(Instant::now());
        }
    }
}
