//! The controls of the simulated Discord for a test, and its queries.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use super::fault::{Fault, Injected};
use super::gateway::Push;
use super::rest;
use super::state::{
    Bot, Channel, Command, Guild, Id, Member, Message, Overwrite, Person, Request, Role, State,
};
use super::{Discord, Shared};

/// Returns one guild with an owner, the bot and a channel `#general`.
pub(crate) fn fresh(base: String, behind: Duration, token: &str, permissions: u64) -> State {
    let nobody = Bot {
        id: 0,
        name: "herder".to_owned(),
        token: token.to_owned(),
        privileged: 0,
        role: 0,
        is_any: false,
    };
    let guild = Guild {
        id: 0,
        name: "Workshop".to_owned(),
        owner: 0,
        locale: "en-US".to_owned(),
        roles: BTreeMap::new(),
        members: BTreeMap::new(),
    };
    let mut state = State::new(base, nobody, guild, behind);
    let (guild, bot, owner, role) = (state.new_id(), state.new_id(), state.new_id(), state.new_id());
    let joined = state.now();
    state.guild.id = guild;
    state.guild.owner = owner;
    state.bot.id = bot;
    state.bot.role = role;
    let roles = [("@everyone", guild, 0, false), ("herder", role, permissions, true)];
    for (position, (name, id, permissions, managed)) in roles.into_iter().enumerate() {
        let role = Role { id, name: name.to_owned(), permissions, position: position as u64, managed };
        state.guild.roles.insert(id, role);
    }
    for (id, name, bot, roles) in [(owner, "owner", false, vec![]), (bot, "herder", true, vec![role])] {
        state.users.insert(id, Person { id, name: name.to_owned(), bot });
        state.guild.members.insert(id, Member { roles, nick: None, joined });
    }
    state.add_channel("general", 0, None);
    state
}

/// Returns violations, and interactions that were left without an answer.
pub(crate) fn all_violations(state: &State) -> Vec<String> {
    let mut all = state.violations.clone();
    for interaction in state.interactions.values() {
        let is_late = interaction.delivered.is_some_and(|at| at.elapsed() > rest::PATIENCE);
        if interaction.ack.is_none() && is_late {
            all.push(format!("{:?} was never acknowledged", interaction.asked));
        }
    }
    all
}

/// Returns the last requests and messages, for a test whose wait timed out.
pub(crate) fn report(state: &State) -> String {
    let mut report = String::from("the last requests:\n");
    for request in state.requests.iter().rev().take(25).rev() {
        let body: String = request.body.to_string().chars().take(200).collect();
        let status = request.status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
        let _ = writeln!(report, "  {status} {} {} {body}", request.route, request.path);
    }
    report.push_str("the last messages:\n");
    for message in state.messages.values().rev().take(15).collect::<Vec<_>>().into_iter().rev() {
        let name = |id: &Id| state.users.get(id).map_or("?", |user| user.name.as_str()).to_owned();
        let channel = state.channels.get(&message.channel).map_or("?", |channel| channel.name.as_str());
        let deleted = if message.deleted { " (deleted)" } else { "" };
        let _ = writeln!(report, "  #{channel} {}: {:?}{deleted}", name(&message.author), message.content);
    }
    let channels: Vec<&str> =
        state.channels.values().filter(|c| !c.deleted).map(|c| c.name.as_str()).collect();
    let _ = writeln!(report, "channels: {channels:?}");
    let sessions: Vec<_> = state
        .gateway
        .sessions
        .iter()
        .map(|session| (&session.id, session.is_linked(), session.sequence))
        .collect();
    let _ = writeln!(
        report,
        "gateway: sessions (connected, events) {sessions:?}, identifies {}",
        state.gateway.identifies
    );
    let _ = writeln!(report, "violations: {:#?}", all_violations(state));
    report
}

/// A fault that was injected.
#[derive(Debug)]
pub(crate) struct Armed {
    shared: Arc<Shared>,
    id: u64,
}

impl Armed {
    /// Waits until it has struck as often as it was to.
    pub(crate) async fn spent(&self) {
        self.shared
            .wait("a fault to strike", |state| {
                let fault = state.faults.iter().find(|fault| fault.id == self.id);
                fault.is_none_or(Injected::is_spent).then_some(())
            })
            .await;
    }

    /// Returns how often the fault struck.
    pub(crate) fn struck(&self) -> u32 {
        self.shared.look(|state| {
            state.faults.iter().find(|fault| fault.id == self.id).map_or(0, |fault| fault.struck)
        })
    }

    /// Lifts the fault: no further request meets it.
    pub(crate) fn lift(&self) {
        self.shared.with(|state| {
            for fault in state.faults.iter_mut().filter(|fault| fault.id == self.id) {
                fault.fault = fault.fault.clone().times(fault.struck);
            }
        });
    }
}

impl Discord {
    /// Requests meet this fault from now on. Of several that fit the one injected first strikes.
    pub(crate) fn inject(&self, fault: Fault) -> Armed {
        let id = self.shared.with(|state| {
            let id = state.faults.len() as u64;
            state.faults.push(Injected { id, fault, struck: 0 });
            id
        });
        Armed { shared: Arc::clone(&self.shared), id }
    }

    /// Resets every connection and answers nothing, until [`Self::comes_back`].
    pub(crate) fn goes_offline(&self) {
        self.shared.with(|state| {
            state.offline = true;
            state.push_all(&Push::Rst);
        });
    }

    pub(crate) fn comes_back(&self) {
        self.shared.with(|state| state.offline = false);
    }

    /// Holds the next requested file until the gate is open.
    pub(crate) fn holds_file(&self, gate: &super::Gate) {
        self.shared.with(|state| state.held_file = Some(gate.clone()));
    }

    /// Answers that many requests for an attached file with 503.
    pub(crate) fn loses_files(&self, count: u32) {
        self.shared.with(|state| state.files_lost = count);
    }

    /// Forgets all nonces, as Discord does after a few minutes.
    pub(crate) fn forgets_nonces(&self) {
        self.shared.with(|state| state.messages.values_mut().for_each(|message| message.nonce = None));
    }

    /// Sets Discord's clock right: earlier messages are that much older.
    pub(crate) fn catches_up(&self) {
        self.shared.with(|state| state.behind = Duration::ZERO);
    }

    /// Topics and names may be changed as often as one likes, instead of twice in ten minutes.
    pub(crate) fn frees_topics(&self) {
        self.shared.with(|state| state.limits.topics_are_free = true);
    }

    /// Switches the Message Content intent off in the developer portal; sessions that have it continue.
    pub(crate) fn takes_content_away(&self) {
        self.shared.with(|state| state.bot.privileged &= !super::gateway::MESSAGE_CONTENT);
    }

    /// Invalidates the bot's token, as a new one in the developer portal does.
    pub(crate) fn changes_token(&self, token: &str) {
        self.shared.with(|state| token.clone_into(&mut state.bot.token));
    }

    /// Grants the bot's role these permissions.
    pub(crate) fn grants_bot(&self, permissions: u64) {
        self.shared.with(|state| {
            let id = state.bot.role;
            if let Some(role) = state.guild.roles.get_mut(&id) {
                role.permissions = permissions;
            }
            state.tell_role("GUILD_ROLE_UPDATE", id);
        });
    }

    pub(crate) fn guild_id(&self) -> Id {
        self.shared.look(|state| state.guild.id)
    }

    pub(crate) fn bot_id(&self) -> Id {
        self.shared.look(|state| state.bot.id)
    }

    /// Returns the role with this name; a new one gets these permissions.
    pub(crate) fn role(&self, name: &str, permissions: u64) -> Id {
        self.shared.with(|state| state.role(name, permissions))
    }

    /// Makes the guild available again: `GUILD_CREATE` once more.
    pub(crate) fn brings_guild(&self) {
        self.shared.with(|state| {
            let guild = state.guild_create_json();
            state.tell_guild("GUILD_CREATE", super::gateway::GUILDS, &guild);
        });
    }

    /// Removes the bot from the guild, with its commands.
    pub(crate) fn throws_bot_out(&self) {
        self.shared.with(|state| {
            let gone = serde_json::json!({ "id": state.guild.id.to_string() });
            state.tell_guild("GUILD_DELETE", super::gateway::GUILDS, &gone);
            state.guild.members.remove(&state.bot.id);
            state.commands.clear();
        });
    }

    /// Invites the bot, as with herder's invite link.
    pub(crate) fn invites_bot(&self) {
        self.shared.with(|state| {
            let member = Member { roles: vec![state.bot.role], nick: None, joined: state.now() };
            state.guild.members.insert(state.bot.id, member);
        });
        self.brings_guild();
    }

    /// Removes a command of the bot, as another program with its token can.
    pub(crate) fn loses_command(&self, name: &str) {
        self.shared.with(|state| state.commands.retain(|command| command.name() != name));
    }

    pub(crate) fn renames_role(&self, id: Id, name: &str) {
        self.shared.with(|state| {
            if let Some(role) = state.guild.roles.get_mut(&id) {
                name.clone_into(&mut role.name);
            }
            state.tell_role("GUILD_ROLE_UPDATE", id);
        });
    }

    /// Creates a text channel, as a person does.
    pub(crate) fn makes_channel(&self, name: &str) -> Id {
        self.shared.with(|state| state.add_channel(name.trim_start_matches('#'), 0, None))
    }

    /// Creates a category with these channels.
    pub(crate) fn makes_category(&self, name: &str, channels: &[String]) {
        self.shared.with(|state| {
            let category = state.add_channel(name, 4, None);
            for channel in channels {
                state.add_channel(channel, 0, Some(category));
            }
        });
    }

    /// Starts a thread in a channel, as a person does.
    pub(crate) fn makes_thread(&self, name: &str, parent: Id) -> Id {
        self.shared.with(|state| state.add_channel(name, 11, Some(parent)))
    }

    /// Closes a thread, as a person does: it is archived until the next message in it.
    pub(crate) fn archives(&self, thread: Id) {
        self.shared.with(|state| state.archive(thread));
    }

    /// Locks a thread, as a moderator does.
    pub(crate) fn locks(&self, thread: Id) {
        self.shared.with(|state| {
            if let Some(thread) = state.channels.get_mut(&thread) {
                thread.locked = true;
            }
            state.tell_channel("THREAD_UPDATE", thread);
        });
    }

    /// Sets the permission overwrite of a role or a member in a channel.
    pub(crate) fn overwrites(&self, channel: &str, target: Id, allow: u64, deny: u64) {
        self.shared.with(|state| {
            let id = state.expect_channel(channel);
            let kind = u64::from(!state.guild.roles.contains_key(&target));
            if let Some(channel) = state.channels.get_mut(&id) {
                channel.overwrites.insert(target, Overwrite { kind, allow, deny });
            }
            state.tell_channel("CHANNEL_UPDATE", id);
        });
    }

    /// Waits until a session is there and its connection stands.
    pub(crate) async fn ready(&self) {
        self.until("a session", |state| state.gateway.sessions.iter().any(|session| session.is_ready)).await;
    }

    /// Waits until a command is registered.
    pub(crate) async fn command(&self, name: &str) -> Command {
        self.find(&format!("the command /{name}"), |state| state.command(name).cloned()).await
    }

    /// Waits for a channel with this name.
    pub(crate) async fn channel(&self, name: &str) -> Channel {
        self.find(&format!("the channel {name}"), |state| state.channel(name).cloned()).await
    }

    /// Waits for a message of the bot's in a channel that is there for all to see. Of several the newest is returned.
    pub(crate) async fn message_in(
        &self,
        channel: &str,
        mut is_meant: impl FnMut(&Message) -> bool,
    ) -> Message {
        let what = format!("a message in {channel}");
        self.find(&what, |state| state.posts(channel).filter(|message| is_meant(message)).last().cloned())
            .await
    }

    /// Waits until this holds of a message, deleted or not.
    pub(crate) async fn message(&self, id: Id, mut holds: impl FnMut(&Message) -> bool) -> Message {
        self.find("a message to change", |state| {
            state.messages.get(&id).filter(|message| holds(message)).cloned()
        })
        .await
    }

    /// Waits until the bot has reacted to a message.
    pub(crate) async fn reaction(&self, message: Id, emoji: &str) {
        self.until(&format!("{emoji} on a message"), |state| bot_reacted(state, message, emoji)).await;
    }

    /// Waits until the bot has taken its reaction back.
    pub(crate) async fn no_reaction(&self, message: Id, emoji: &str) {
        self.until(&format!("{emoji} to go from a message"), |state| !bot_reacted(state, message, emoji))
            .await;
    }

    /// Returns the contents of the bot's messages in a channel, oldest first.
    pub(crate) fn posts(&self, channel: &str) -> Vec<String> {
        self.look(|state| state.posts(channel).map(|message| message.content.clone()).collect())
    }

    /// Returns the requests of a route so far: `POST /channels/{channel_id}/messages`.
    pub(crate) fn requests(&self, route: &str) -> Vec<Request> {
        self.look(|state| state.requests.iter().filter(|request| request.route == route).cloned().collect())
    }

    /// Returns the gateway and what can be done to it.
    pub(crate) fn gateway(&self) -> GatewayControl {
        GatewayControl { shared: Arc::clone(&self.shared) }
    }
}

fn bot_reacted(state: &State, message: Id, emoji: &str) -> bool {
    let reactions = state.messages.get(&message).map(|message| &message.reactions);
    let mut reactions = reactions.into_iter().flatten();
    reactions.any(|reaction| reaction.emoji == emoji && reaction.users.contains(&state.bot.id))
}

/// Does things to the gateway.
pub(crate) struct GatewayControl {
    shared: Arc<Shared>,
}

impl GatewayControl {
    fn push(&self, push: &Push) {
        self.shared.with(|state| state.push_all(push));
    }

    /// Ends every connection silently.
    pub(crate) fn drops_fin(&self) {
        self.push(&Push::Fin);
    }

    /// Resets every connection.
    pub(crate) fn drops_rst(&self) {
        self.push(&Push::Rst);
    }

    /// Closes every connection with this code.
    pub(crate) fn closes(&self, code: u16) {
        self.push(&Push::Close(Some(code)));
    }

    /// Closes every connection without a code.
    pub(crate) fn closes_empty(&self) {
        self.push(&Push::Close(None));
    }

    /// Sends opcode 7.
    pub(crate) fn asks_to_reconnect(&self) {
        self.push(&Push::Send(serde_json::json!({ "op": 7, "d": null }).to_string()));
    }

    /// Sends opcode 9.
    pub(crate) fn invalidates(&self, resumable: bool) {
        self.push(&Push::Invalid(resumable));
    }

    /// Connections stay, but nothing comes and nothing is acknowledged; with `false` all is well for new ones, and for those
    /// from which nothing was kept back.
    pub(crate) fn zombie(&self, is_dead: bool) {
        self.shared.with(|state| state.gateway.zombie = is_dead);
    }

    /// Answers the next connections with 503.
    pub(crate) fn refuses(&self, connections: u32) {
        self.shared.with(|state| state.gateway.refuse = connections);
    }

    /// Closes the next connections with a code instead of a greeting.
    pub(crate) fn closes_at_connect(&self, connections: u32, code: u16) {
        self.shared.with(|state| state.gateway.close_at_connect = Some((connections, code)));
    }

    /// Answers the next resumes as if their sessions did not exist.
    pub(crate) fn forgets(&self, resumes: u32) {
        self.shared.with(|state| state.gateway.forget = resumes);
    }

    /// Answers that many logins and resumes with an invalid session (opcode 9).
    pub(crate) fn finds_invalid(&self, tries: u32, resumable: bool) {
        self.shared.with(|state| state.gateway.invalid = (tries, resumable));
    }

    /// Returns the times of accepted connections, in order.
    pub(crate) fn connected_at(&self) -> Vec<std::time::Instant> {
        self.shared.look(|state| state.gateway.connected_at.clone())
    }

    /// Returns when each login was asked for.
    pub(crate) fn identified_at(&self) -> Vec<std::time::Instant> {
        self.shared.look(|state| state.gateway.identified_at.clone())
    }

    /// Sends the next events of this name twice; an empty name means any event.
    pub(crate) fn duplicates(&self, event: &str, count: u32) {
        self.shared.with(|state| state.gateway.duplicate = (event.to_owned(), count));
    }

    /// Lets the following event overtake each of the next events of this name.
    pub(crate) fn reorders(&self, event: &str, count: u32) {
        self.shared.with(|state| state.gateway.reorder = (event.to_owned(), count));
    }

    /// Drops the next events of this name.
    pub(crate) fn loses(&self, event: &str, count: u32) {
        self.shared.with(|state| state.gateway.lose = (event.to_owned(), count));
    }

    /// Numbers the next events of this name and drops them, so that a gap in the sequence is left.
    pub(crate) fn skips(&self, event: &str, count: u32) {
        self.shared.with(|state| state.gateway.skip = (event.to_owned(), count));
    }

    /// Closes every connection because of a wrong sequence number (4007); a resume then replays all events of the
    /// session.
    pub(crate) fn tells_all_again(&self) {
        self.shared.with(|state| state.gateway.keeps_sessions = true);
        self.closes(4007);
    }

    /// Returns the number of heartbeats so far.
    pub(crate) fn heartbeats(&self) -> u32 {
        self.shared.look(|state| state.gateway.heartbeats)
    }

    /// Sends that many events of this name in a form that no client can parse.
    pub(crate) fn garbles(&self, event: &str, count: u32) {
        self.shared.with(|state| state.gateway.garble = (event.to_owned(), count));
    }

    /// Sets the heartbeat interval for later connections.
    pub(crate) fn heartbeat(&self, interval: Duration) {
        self.shared.with(|state| state.gateway.heartbeat = interval);
    }

    /// Sets `session_start_limit.remaining`.
    pub(crate) fn starts_left(&self, count: u32) {
        self.shared.with(|state| state.gateway.starts_left = count);
    }

    /// Returns the number of accepted identifies so far.
    pub(crate) fn identifies(&self) -> u32 {
        self.shared.look(|state| state.gateway.identifies)
    }

    /// Returns the number of accepted resumes so far.
    pub(crate) fn resumes(&self) -> u32 {
        self.shared.look(|state| state.gateway.resumes)
    }

    /// Returns the number of accepted connections so far.
    pub(crate) fn connections(&self) -> u32 {
        self.shared.look(|state| state.gateway.connections)
    }

    /// Returns the number of accepted logins and resumes so far, which changes whenever a link is restored.
    pub(crate) fn links(&self) -> u32 {
        self.shared.look(|state| state.gateway.identifies + state.gateway.resumes)
    }

    /// Waits until no session has a connection.
    pub(crate) async fn silent(&self) {
        let is_silent =
            |state: &State| !state.gateway.sessions.iter().any(super::gateway::Session::is_linked);
        self.shared.wait("the connections to end", |state| is_silent(state).then_some(())).await;
    }

    /// Waits until that many resumes were accepted in total.
    pub(crate) async fn resumed(&self, count: u32) {
        self.shared.wait("a resume", |state| (state.gateway.resumes >= count).then_some(())).await;
    }

    /// Waits until that many identifies were accepted in total.
    pub(crate) async fn identified(&self, count: u32) {
        self.shared.wait("an identify", |state| (state.gateway.identifies >= count).then_some(())).await;
    }
}
