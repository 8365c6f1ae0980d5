//! Posts: the messages that herder owes to people, and their targets.

use serde::{Deserialize, Serialize};

use crate::file::KeptFile;
use crate::hook::Hook;
use crate::id::{AgentName, NetworkName, PostId};
use crate::notice::{Notice, Refusal};
use crate::time::Timestamp;

/// The target of a post on its network: a channel by its purpose or name, or a person.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The agent's own channel.
    Agent(AgentName),
    /// The channel `#alerts`, for posts that a person should see.
    Alerts,
    /// The work channel, whose lines programs read.
    Work,
    /// The control channel, in which people talk with herder itself.
    Control,
    /// Any other channel, by its name on the network.
    Channel(String),
    /// A person in private, by nick or user id.
    Person(String),
}

/// The priority of a post in its network's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lane {
    /// The lane for alerts and answers, which overtake other posts.
    Urgent,
    /// The lane for all other posts.
    Normal,
}

/// A file that an agent sends to people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentFile {
    /// The agent that sends the file.
    pub agent: AgentName,
    /// The file, whose bytes are kept.
    pub file: KeptFile,
    /// The agent's words about the file; empty if there are none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Link to the file on herder's page, for networks that take no files; `None` without a page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// First lines of a text, for networks that take no files, if there is no link.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub first: String,
}

/// The content of a post.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// A notice by herder, put into words when it is sent.
    Notice(Notice),
    /// A refusal by herder in answer to a command, put into words when it is sent.
    Refusal(Refusal),
    /// An agent's text. When it is sent, ANSI sequences and mentions are made harmless and code stays readable.
    Agent {
        /// The agent that wrote the text.
        agent: AgentName,
        /// The text in the agent's own words.
        text: String,
        /// True if it is the result of the agent's task, false if it is an intermediate message.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_result: bool,
    },
    /// A message that an agent sends to a channel by its tools; each line is marked as the agent's.
    Said {
        /// The agent that sends the message.
        agent: AgentName,
        /// The text of the message.
        text: String,
    },
    /// A file that an agent sends to people by its tools.
    File(Box<SentFile>),
    /// An event for a webhook: one line of any length.
    Hook(Box<Hook>),
    /// Lines that are already in the reader's language, e.g. an answer; never stored.
    Lines(Vec<String>),
    /// Lines like `Body::Lines` that answer a look-up; on IRC the server is not asked to confirm them, because a person
    /// can ask again.
    Looked(Vec<String>),
    /// Lines like `Body::Lines` that are stored, so that they are sent after a restart as well: the line that they
    /// answer is recorded as answered.
    Kept(Vec<String>),
}

/// A message that herder sends, or is to send, on one network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Post {
    /// Number of the post in the order of commits; zero if it is not stored, like answers to read-only commands.
    pub id: PostId,
    /// The network on which the post is sent.
    pub network: NetworkName,
    /// The channel or person to which the post is sent.
    pub to: Target,
    /// The priority of the post.
    pub lane: Lane,
    /// Time of the decision that caused the post.
    pub at: Timestamp,
    /// The content of the post.
    pub body: Body,
    /// Nick of the person whom the post answers, with which its first line begins; `None` if it is no answer.
    #[serde(default)]
    pub answers: Option<String>,
    /// The network's id of the line that the post answers; `None` if it is no answer, or the network has no ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quotes: Option<String>,
    /// Number of the post's first lines that were delivered before herder was restarted.
    #[serde(default)]
    pub confirmed_lines: u32,
}
