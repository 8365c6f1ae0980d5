//! Schemas of the answers, for the OpenAPI document. Tests compare real answers with them.

use utoipa::openapi::schema::{
    AdditionalProperties, ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type,
};
use utoipa::openapi::{Ref, RefOr};

use super::openapi::or_null;
use crate::commands::COMMANDS;
use crate::commands::listed::STATES;
use crate::journal::encoding;

/// A kind of value.
#[derive(Clone, Copy)]
enum Is {
    Text,
    Whole,
    Number,
    Flag,
    /// Milliseconds since 1970.
    Moment,
    /// Any object, or nothing.
    Anything,
    Named(&'static str),
    /// A text or a whole number that may be missing, or an object of a name.
    Maybe(&'static Is),
    List(&'static Is),
    /// One of the kinds of events.
    Kind,
    /// One of the states of a task.
    State,
}

use Is::{Anything, Flag, Kind, List, Maybe, Moment, Named, Number, State, Text, Whole};

/// A value of an object: its name, what it is, whether it is always there, and what it says.
type Field = (&'static str, Is, bool, &'static str);

/// An object: its name, what it says, and its values.
type Shape = (&'static str, &'static str, &'static [Field]);

const SHAPES: &[Shape] = &[
    (
        "Problem",
        "an error (RFC 9457)",
        &[
            ("type", Text, true, "`about:blank`"),
            ("title", Text, true, "the status in words"),
            ("status", Whole, true, "the status"),
            ("detail", Text, true, "what was wrong, in the words of chat"),
        ],
    ),
    (
        "Done",
        "what a command came to",
        &[
            ("lines", List(&Text), true, "the sentences for people"),
            ("data", Anything, true, "the same for programs"),
        ],
    ),
    (
        "Usage",
        "tokens and money",
        &[
            ("input_tokens", Whole, true, "tokens sent, cached ones included"),
            ("cached_tokens", Whole, false, "those of them that were cached"),
            ("output_tokens", Whole, true, "tokens received"),
            ("cost_usd", Number, true, "dollars"),
            ("estimated_usd", Number, false, "those of them that herder has estimated"),
        ],
    ),
    (
        "Actor",
        "who did something",
        &[
            ("network", Text, true, "the network; `http` for a token, `herder` for herder itself"),
            ("name", Text, true, "what people call them there"),
            ("identity", Maybe(&Text), false, "what they were known by"),
        ],
    ),
    (
        "Work",
        "a piece of work",
        &[
            ("id", Whole, true, "its number"),
            ("kind", Text, true, "`message`, `task`, …"),
            ("text", Text, true, "what to do"),
            ("by", Named("Actor"), true, "who gave it"),
            ("at", Moment, true, "when"),
            ("attempts", Whole, false, "sessions that tried it and failed"),
            ("card", Anything, false, "what is written on it"),
        ],
    ),
    (
        "Agent",
        "an agent as it is now; what else depends on its phase is beside it",
        &[
            ("name", Text, true, "its name"),
            ("phase", Text, true, "`idle`, `running`, `waiting`, `paused`, …"),
            ("since", Moment, true, "since when"),
            ("current", Maybe(&Named("Work")), true, "what it works on"),
            ("queued", Whole, true, "works that wait"),
            ("pause_pending", Flag, true, "whether it pauses after this work"),
            ("tool", Maybe(&Text), true, "the tool in use"),
            ("idle_ms", Maybe(&Whole), true, "milliseconds since its session said something"),
            ("turns", Whole, true, "turns of its session"),
            ("usage", Named("Usage"), true, "of its session"),
            ("last_turn", Named("Usage"), true, "of its last turn"),
            ("hour", Named("Usage"), true, "of this hour"),
            ("today", Named("Usage"), true, "of today"),
            ("failures", Whole, true, "failures in a row"),
            ("crashes", Whole, true, "crashes of its process in a row"),
            ("breaker", Anything, true, "how its breaker stands"),
            ("next_restart", Maybe(&Moment), true, "when it is tried again"),
            ("hold", Anything, true, "why it does not begin with the work that it has"),
            ("totals", Anything, true, "all that it did"),
            ("evaluator", Anything, true, "what the evaluator said of it"),
            ("escalation", Anything, true, "its call for a person"),
            ("asks", List(&Anything), true, "what it asks"),
            ("runtime", Maybe(&Text), true, "its runtime"),
            ("account", Maybe(&Text), true, "its account"),
            ("pid", Maybe(&Whole), true, "its process"),
            ("conversation", Maybe(&Text), true, "the conversation that its next session goes on with"),
            (
                "handoff",
                Maybe(&Text),
                true,
                "the line that takes it up in a terminal, once the agent is paused",
            ),
            (
                "memory",
                Anything,
                true,
                "bytes of memory of its session: now, peak, limit (0: none); null if it is not limited",
            ),
        ],
    ),
    (
        "Task",
        "a task, of an agent or of the board",
        &[
            ("agent", Maybe(&Text), true, "the agent that has it"),
            ("state", State, true, "how far it is"),
            ("work", Named("Work"), true, "the task"),
            ("note", Maybe(&Text), true, "how it ended"),
            (
                "evidence",
                Maybe(&Named("Evidence")),
                true,
                "what shows how far its work is; null for a task without a branch",
            ),
            ("parent", Maybe(&Whole), true, "the number of the task that it is a part of"),
            (
                "parts",
                List(&Named("Part")),
                true,
                "its parts: split by a person or herder, or added by its agent",
            ),
            ("board", Anything, false, "its place on the board"),
        ],
    ),
    (
        "Part",
        "a part of a task, which is a task itself",
        &[
            ("id", Whole, true, "its number"),
            ("end", Maybe(&Text), true, "how it ended; null while it is open"),
        ],
    ),
    (
        "Evidence",
        "what shows how far the work of a task is",
        &[
            ("branch", Maybe(&Text), true, "its branch"),
            ("change", Maybe(&Named("Change")), true, "the extent of the work; null once its clone is gone"),
            ("check", Maybe(&Named("Check")), true, "its last check"),
            ("in_review_since", Maybe(&Moment), true, "since when a review is waited for"),
            ("reviewer", Maybe(&Text), true, "the agent that reviews it; null if a person does, or nobody"),
            ("accepted_by", Maybe(&Named("Actor")), true, "the person or agent that accepted it"),
            ("pull_request", Maybe(&Text), true, "the address of its pull request"),
            ("merged", Maybe(&Named("Merged")), true, "where it is in the repository's base"),
        ],
    ),
    (
        "Change",
        "the extent of a task's work",
        &[
            ("commits", Whole, true, "commits since the base"),
            ("files", Whole, true, "files that differ from the base"),
            ("added", Whole, true, "lines added in them"),
            ("removed", Whole, true, "lines removed in them"),
            ("uncommitted", Whole, true, "changed and new files that are not committed"),
        ],
    ),
    (
        "Check",
        "the result of a check",
        &[
            ("command", Text, true, "the command"),
            ("passed", Flag, true, "whether it succeeded"),
            ("why", Maybe(&Text), true, "how it failed, with the end of its output"),
            ("took_ms", Whole, true, "its duration in milliseconds"),
            ("commit", Text, true, "the commit that it ran on"),
        ],
    ),
    (
        "Merged",
        "the place of a task's work in the base",
        &[
            ("branch", Text, true, "the base's branch"),
            ("commit", Text, true, "its last commit after the merge"),
        ],
    ),
    (
        "Asked",
        "a question of an agent",
        &[("agent", Text, true, "who asks"), ("ask", Anything, true, "what")],
    ),
    (
        "Call",
        "a call for a person",
        &[("agent", Text, true, "the agent that it is about"), ("call", Anything, true, "what it says")],
    ),
    (
        "AllUsage",
        "tokens and dollars",
        &[
            ("fleet", Anything, true, "of all agents together"),
            ("accounts", List(&Anything), true, "of each account"),
            ("repositories", List(&Anything), true, "of the agents of each repository"),
            ("agents", List(&Anything), true, "of each agent"),
        ],
    ),
    (
        "Event",
        "an entry of the journal",
        &[
            ("seq", Whole, true, "its number in the whole journal"),
            ("stream", Text, true, "`fleet`, `audit` or `agent:` and a name"),
            ("rev", Whole, true, "its number in its stream"),
            ("at", Moment, true, "when"),
            ("entry", Named("Entry"), true, "what"),
        ],
    ),
    (
        "Entry",
        "what happened: one of the three",
        &[
            ("agent", Named("Happening"), false, "to an agent"),
            ("fleet", Named("Happening"), false, "to the fleet"),
            ("audit", Named("Audit"), false, "who commanded what"),
        ],
    ),
    ("Happening", "its kind, and beside it what belongs to that", &[("type", Kind, true, "its kind")]),
    (
        "Audit",
        "an accepted command",
        &[
            ("by", Named("Actor"), true, "who"),
            ("place", Text, true, "where: a channel, `private`, `local` or `http`"),
            ("agent", Maybe(&Text), true, "the agent that it was for"),
            ("verb", Text, true, "the command"),
            ("text", Text, true, "what was said"),
        ],
    ),
    (
        "Gap",
        "numbers under which there is nothing, or nothing that can be read",
        &[("gap", Named("Span"), true, "which")],
    ),
    ("Span", "numbers", &[("first", Whole, true, "from"), ("last", Whole, true, "up to and with")]),
    (
        "Network",
        "how a network stands; what else depends on its state is beside it",
        &[
            ("network", Text, true, "its name"),
            ("state", Text, true, "`up`, `connecting`, `barred` or `refused`"),
        ],
    ),
];

/// All schemas by name.
pub(super) fn all() -> Vec<(&'static str, RefOr<Schema>)> {
    let mut all: Vec<(&str, RefOr<Schema>)> =
        SHAPES.iter().map(|(name, about, fields)| (*name, object(about, fields))).collect();
    all.push(("Command", command()));
    all.push(("Events", events()));
    all
}

fn object(about: &str, fields: &[Field]) -> RefOr<Schema> {
    let mut object = ObjectBuilder::new().schema_type(Type::Object).description(Some(about));
    for (name, is, always, about) in fields {
        object = object.property(*name, is.schema(about));
        if *always {
            object = object.required(*name);
        }
    }
    object.into()
}

/// A text.
pub(super) fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

/// Any object.
pub(super) fn anything(about: &str) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::Object).description(Some(about)).into()
}

/// A page of a list.
pub(super) fn list(of: RefOr<Schema>) -> RefOr<Schema> {
    let next = ObjectBuilder::new()
        .schema_type(or_null(Type::String))
        .description(Some("goes into the next request; `null`: this is the end"));
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("items", ArrayBuilder::new().items(of))
        .property("next", next)
        .required("items")
        .required("next")
        .into()
}

fn events() -> RefOr<Schema> {
    let either = OneOfBuilder::new().item(Ref::from_schema_name("Event")).item(Ref::from_schema_name("Gap"));
    let last = Whole.schema("all events up to this number were looked at: `after` of the next request");
    let next = Maybe(&Text).schema("goes into the next request; `null`: there are no more for now");
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some("a page of the journal"))
        .property("items", ArrayBuilder::new().items(either))
        .property("next", next)
        .property("last", last)
        .required("items")
        .required("next")
        .required("last")
        .into()
}

fn command() -> RefOr<Schema> {
    let names = COMMANDS.iter().map(|command| command.name);
    let name = text().description(Some("as in chat")).examples(names);
    let args = ArrayBuilder::new().items(text()).description(Some("the words after the agent"));
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some("what is to be done"))
        .property("command", name)
        .property("agent", Maybe(&Text).schema("whom it is for"))
        .property("args", args)
        .property("text", Maybe(&Text).schema("the last of the words"))
        .required("command")
        .additional_properties(Some(AdditionalProperties::FreeForm(false)))
        .into()
}

impl Is {
    fn schema(self, about: &str) -> RefOr<Schema> {
        let of = |kind: SchemaType| ObjectBuilder::new().schema_type(kind).description(Some(about));
        match self {
            Text => of(Type::String.into()).into(),
            Whole => of(Type::Integer.into()).minimum(Some(0)).into(),
            Moment => of(Type::Integer.into()).into(),
            Number => of(Type::Number.into()).into(),
            Flag => of(Type::Boolean.into()).into(),
            Anything => of(SchemaType::AnyValue).into(),
            Named(name) => RefOr::Ref(Ref::from_schema_name(name)),
            Kind => {
                let kinds = encoding::kinds().into_iter().filter(|kind| *kind != "audit");
                of(Type::String.into()).enum_values(Some(kinds)).into()
            }
            State => of(Type::String.into()).enum_values(Some(STATES)).into(),
            List(is) => ArrayBuilder::new().items(is.schema("")).description(Some(about)).into(),
            Maybe(Text) => of(or_null(Type::String)).into(),
            Maybe(Whole) => of(or_null(Type::Integer)).minimum(Some(0)).into(),
            Maybe(Moment) => of(or_null(Type::Integer)).into(),
            Maybe(other) => {
                let null = ObjectBuilder::new().schema_type(Type::Null);
                let either = OneOfBuilder::new().item(other.schema("")).item(null).description(Some(about));
                either.into()
            }
        }
    }
}
