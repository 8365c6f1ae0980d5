//! Parses the file's text into a [`Config`]: the sections in the order of the example, then the rules between them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::core::danger::AskPattern;
use crate::core::machine::Enforcement;
use crate::core::policy::{EscalationRules, Exponential, Intensity, Policy};
use crate::core::pull::Forge;
use crate::core::quota::QuotaRules;
use crate::files::FileRules;
use crate::redact::Redactor;

use super::problems::{Problem, Problems};
use super::section::{Reading, Section, Surroundings};
use super::{
    AccessRules, Config, DRAIN_TIMEOUT, Evaluator, History, Networks, Tools, access, agents, cluster,
    discord, evaluator, forge, http, irc, machine, passwords, people, quota, runners, spending, telemetry,
    webhook,
};

/// The result of reading a configuration file.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) config: Config,
    /// Every key that this version knows, as `section.key`, for a test of the example file.
    #[cfg_attr(not(test), expect(dead_code, reason = "what the example file is checked against"))]
    pub(super) known: BTreeSet<String>,
}

/// The languages in `locales/`, by their names in the configuration file.
const LOCALES: [(&str, &str); 3] = [("en-US", "en-US"), ("de", "de"), ("ja", "ja")];

/// Maximum length of a Unix socket's path, in bytes, without the zero at its end.
const SOCKET_PATH_MAX: usize = 107;

/// Minimum of a time limit: a shorter one would expire before a process can have said anything.
const SHORTEST_CLOCK: Duration = Duration::from_secs(1);

/// Parses and checks the text of a configuration file; messages call it `file`.
pub(super) fn read(text: &str, file: &str, around: &Surroundings<'_>) -> Result<Read, Problems> {
    let reading = Reading::new(text, around);
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        // After a mistake in the TOML syntax everything else would be a guess: only these are reported.
        let list = errors.iter().map(|error| notation(&reading, error)).collect();
        return Err(in_order(file, list));
    }
    // Known before anything is said about the file.
    reading.secrets.borrow_mut().extend(passwords::in_table(table.get_ref()));
    let mut config = top(&reading, &table);
    let shown = |problem: &mut Problem| problem.text = config.redactor.redact(&problem.text).into_owned();
    let mut problems = reading.problems.take();
    problems.iter_mut().for_each(shown);
    let mut warnings = std::mem::take(&mut config.warnings);
    warnings.iter_mut().for_each(shown);
    config.warnings = warnings;
    find_nul(&reading, table.get_ref(), &mut problems);
    if problems.is_empty() {
        Ok(Read { config, known: reading.asked.take() })
    } else {
        Err(in_order(file, problems))
    }
}

/// Records a mistake for texts with a U+0000, which no program, path or server accepts. A line with another mistake is
/// left out.
fn find_nul(reading: &Reading<'_>, table: &DeTable<'_>, problems: &mut Vec<Problem>) {
    for (name, item) in table {
        find_nul_in(reading, (name.get_ref(), item), problems);
    }
}

fn find_nul_in(
    reading: &Reading<'_>,
    (key, item): (&str, &Spanned<DeValue<'_>>),
    problems: &mut Vec<Problem>,
) {
    match item.get_ref() {
        DeValue::String(text) if text.contains('\0') => {
            let line = Some(reading.line(item.span().start));
            if problems.iter().all(|problem| problem.line != line) {
                let text = "this has a U+0000 in it, which no program can be given; take it out".to_owned();
                problems.push(Problem { line, place: String::new(), key: key.to_owned(), text });
            }
        }
        DeValue::Array(list) => list.iter().for_each(|item| find_nul_in(reading, (key, item), problems)),
        DeValue::Table(table) => find_nul(reading, table, problems),
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => {}
    }
}

fn notation(reading: &Reading<'_>, error: &toml::de::Error) -> Problem {
    let line = error.span().map(|span| reading.line(span.start));
    let text = format!("this is not TOML: {}", error.message().replace('\n', ", "));
    Problem { line, place: String::new(), key: String::new(), text }
}

fn in_order(file: &str, mut list: Vec<Problem>) -> Problems {
    list.sort_by_key(|problem| problem.line);
    Problems { file: file.to_owned(), list }
}

fn top(reading: &Reading<'_>, table: &Spanned<DeTable<'_>>) -> Config {
    let top = Section::top(reading, table);
    let name = top.filled("name").map_or_else(|| "herder".to_owned(), |name| name.value);
    let data_dir = top.filled("data_dir").map_or_else(|| super::DATA_DIR.to_owned(), |dir| dir.value);
    let data_dir = top.path(&data_dir);
    if data_dir.join(super::SOCKET).as_os_str().len() > SOCKET_PATH_MAX {
        top.problem("data_dir", "the path is too long for a socket in it; use a shorter one");
    }
    let locale = top.choice("locale", &LOCALES).unwrap_or("en-US").to_owned();
    later_parts(&top);
    let discord = top.table("discord").and_then(discord::discord);
    let irc = irc::networks(&top, &name);
    if let Err(why) = irc::check_nick(&name) {
        // On the embedded server this is the only nick.
        if irc.is_empty() && discord.is_none() {
            top.problem("name", why);
        }
    }
    let forge = top.table("forge").map_or_else(Forge::default, forge::forge);
    let runners = runners::runners(&top);
    let mut agents = agents::agents(&top, &irc, discord.as_ref(), (&data_dir, &runners));
    forge::given(&forge, &mut agents);
    let mut policy = top.table("supervisor").map_or_else(Policy::default, supervisor);
    policy.quota = top.table("quota").map_or_else(QuotaRules::default, quota::quota);
    policy.caps = top.table("limits").map(spending::limits).unwrap_or_default();
    policy.prices = spending::prices(&top);
    spending::warn(&top, &policy, &agents);
    machine::compare(&top, &policy, &agents);
    if let Some(section) = top.table("approvals") {
        approvals(section, &mut policy);
    }
    let history = top.table("history").map_or_else(History::default, history);
    let drain_timeout = top.duration("drain_timeout", SHORTEST_CLOCK).unwrap_or(DRAIN_TIMEOUT);
    let networks = top.table("networks").map_or_else(Networks::default, networks);
    let tools = top.table("tools").map_or_else(Tools::default, tools);
    let files = top.table("files").map_or_else(FileRules::default, files);
    runners::warn(&top, &runners, &agents);
    let cluster = cluster::cluster(&top, &runners);
    cluster::check(&cluster, &top, &agents);
    let evaluator = top.table("evaluator").map_or_else(Evaluator::default, evaluator::evaluator);
    evaluator::hide_credentials(&top, evaluator.judge);
    policy.evaluator = evaluator.rules();
    if let Some(section) = top.table("escalation") {
        policy.escalation = escalation(section, policy.escalation);
    }
    let webhooks = webhook::webhooks(&top);
    let deadman = top.table("deadman").and_then(webhook::deadman);
    let http = top.table("http").map(http::http);
    let telemetry = top.table("telemetry").and_then(telemetry::telemetry);
    policy.evaluator.traced = telemetry.is_some();
    let access = match top.table("access") {
        Some(section) => access::rules(section, discord.is_some(), &irc),
        None => AccessRules::default(),
    };
    policy.people = people::people(&top, &irc);
    if access == AccessRules::default() {
        let example = match (discord.is_some(), irc.first()) {
            (true, _) => "discord:YOUR-USER-ID".to_owned(),
            (false, Some(network)) => format!("irc:{}:YOUR-ACCOUNT", network.name),
            (false, None) => format!("irc:{}:YOU", crate::core::link::EMBEDDED_NETWORK),
        };
        let text = format!(
            "nobody is named, so nobody can command from chat; name yourself under [access], e.g. admins = [\"{example}\"]"
        );
        top.warn("access", text);
    }
    top.finish();
    let secrets = reading.secrets.take();
    Config {
        embedded: irc.is_empty() && discord.is_none(),
        name,
        data_dir,
        locale,
        discord,
        irc,
        access,
        policy,
        history,
        drain_timeout,
        networks,
        tools,
        files,
        runners,
        cluster,
        evaluator,
        webhooks,
        deadman,
        http,
        telemetry,
        agents,
        redactor: Redactor::new(&secrets),
        secrets,
        secret_variables: reading.secret_variables.take(),
        folders: reading.folders.take(),
        warnings: reading.warnings.take(),
    }
}

/// Records a mistake for sections of parts that do not exist yet, unless they are switched off.
fn later_parts(top: &Section<'_>) {
    let says = |table: &DeTable<'_>, key: &str, word: &dyn Fn(&DeValue<'_>) -> bool| {
        table.is_empty() || table.iter().any(|(name, value)| name.get_ref() == key && word(value.get_ref()))
    };
    let disabled = |table: &DeTable<'_>| says(table, "enabled", &|value| value.as_bool() == Some(false));
    top.unsupported("web", "the web page and API are", disabled);
}

/// Minimum of the time before people are reminded of a call or question, so that there is time to answer.
const REMIND_AFTER_MIN: Duration = Duration::from_secs(60);

/// Maximum of the number of reminders; more are not read.
const REMIND_TIMES_MAX: u64 = 100;

/// Maximum of `max_active`; more is a typing mistake.
const ACTIVE_MAX: u64 = 100_000;

fn supervisor(section: Section<'_>) -> Policy {
    let default = Policy::default();
    let clock = |key, default| section.duration(key, SHORTEST_CLOCK).unwrap_or(default);
    let policy = Policy {
        backoff: section.durations("backoff", Duration::ZERO).unwrap_or(default.backoff),
        process_backoff: section
            .table("process_backoff")
            .map_or(default.process_backoff, |table| exponential(table, default.process_backoff)),
        breaker: section
            .table("breaker")
            .map_or(default.breaker, |table| intensity(table, "failures", default.breaker)),
        degraded: section
            .table("degraded")
            .map_or(default.degraded, |table| intensity(table, "restarts", default.degraded)),
        heartbeat_timeout: clock("heartbeat_timeout", default.heartbeat_timeout),
        startup_timeout: clock("startup_timeout", default.startup_timeout),
        silence_timeout: clock("silence_timeout", default.silence_timeout),
        tool_timeout: clock("tool_timeout", default.tool_timeout),
        max_task_duration: clock("max_task_duration", default.max_task_duration),
        stop_grace: section.duration("stop_grace", Duration::ZERO).unwrap_or(default.stop_grace),
        max_active: section
            .number("max_active", 0..=ACTIVE_MAX)
            .and_then(|number| u32::try_from(number).ok())
            .unwrap_or(default.max_active),
        memory: machine::together(&section),
        limits: section
            .choice("limits", &[("require", Enforcement::Require), ("try", Enforcement::Try)])
            .unwrap_or(default.limits),
        memory_pressure: section
            .number("memory_pressure", 0..=100)
            .and_then(|percent| u8::try_from(percent).ok())
            .unwrap_or(default.memory_pressure),
        reassign_after: section.duration("reassign_after", Duration::ZERO).unwrap_or(default.reassign_after),
        // Sections of their own.
        quota: default.quota,
        prices: default.prices,
        caps: default.caps,
        confirm_timeout: default.confirm_timeout,
        always_ask: default.always_ask,
        evaluator: default.evaluator,
        escalation: default.escalation,
        people: default.people,
    };
    section.finish();
    policy
}

fn approvals(section: Section<'_>, policy: &mut Policy) {
    if let Some(timeout) = section.duration("timeout", SHORTEST_CLOCK) {
        policy.confirm_timeout = timeout;
    }
    for pattern in section.texts("always_ask").unwrap_or_default() {
        match AskPattern::new(&pattern.value) {
            Ok(pattern) => policy.always_ask.push(pattern),
            Err(reason) => section.problem_at(pattern.line, "always_ask", reason),
        }
    }
    section.finish();
}

/// Parses `[escalation]`: the rules for calling people.
fn escalation(section: Section<'_>, default: EscalationRules) -> EscalationRules {
    let after = section.duration("remind_after", REMIND_AFTER_MIN).unwrap_or(default.after);
    let times = section.number("remind_times", 0..=REMIND_TIMES_MAX);
    section.finish();
    EscalationRules {
        after,
        times: times.and_then(|times| u32::try_from(times).ok()).unwrap_or(default.times),
    }
}

fn exponential(section: Section<'_>, default: Exponential) -> Exponential {
    // Without any wait only the breaker ends a crash loop.
    let base = section.duration("base", Duration::ZERO).unwrap_or(default.base);
    let cap = section.duration("cap", Duration::ZERO).unwrap_or(default.cap);
    if cap < base {
        section
            .problem("cap", "the longest wait is shorter than the first; make cap at least as long as base");
    }
    section.finish();
    Exponential { base, cap }
}

/// Maximum of the number of failures in a window, as no more times are kept.
const INTENSITY_MAX: u64 = crate::core::breaker::RING as u64 - 1;

fn intensity(section: Section<'_>, count: &'static str, default: Intensity) -> Intensity {
    let number = section.number(count, 1..=INTENSITY_MAX).and_then(|number| u32::try_from(number).ok());
    let window = section.duration("window", SHORTEST_CLOCK).unwrap_or(default.window);
    section.finish();
    Intensity { count: number.unwrap_or(default.count), window }
}

/// Maximum of `reconnect_max`; a longer wait would ignore a network that is back.
const RECONNECT_LONGEST: Duration = Duration::from_secs(3600);

/// Minimum of `backlog_lines`, below which there would be nothing to collapse.
const BACKLOG_LEAST: u64 = crate::outbox::BACKLOG_KEPT as u64;

/// Maximum of `bot_exchanges` and of the posts per minute or hour with tools; more would fill a channel.
const SAYINGS_MAX: u64 = 1000;

fn networks(section: Section<'_>) -> Networks {
    let default = Networks::default();
    let count = |key, range, default| {
        let number = section.number(key, range);
        number.and_then(|number| u32::try_from(number).ok()).unwrap_or(default)
    };
    let exchanges = section.number("bot_exchanges", 1..=SAYINGS_MAX);
    let longest = section.duration("reconnect_max", Duration::from_secs(1)).unwrap_or(default.reconnect_max);
    let networks = Networks {
        reconnect_max: longest.min(RECONNECT_LONGEST),
        attempts: count("attempts", 1..=100, default.attempts),
        backlog_lines: count("backlog_lines", BACKLOG_LEAST..=10_000, default.backlog_lines),
        bot_exchanges: exchanges
            .and_then(|number| usize::try_from(number).ok())
            .unwrap_or(default.bot_exchanges),
    };
    if longest > RECONNECT_LONGEST {
        section.problem(
            "reconnect_max",
            "must be 1h at most, or a network that is back is not noticed".to_owned(),
        );
    }
    section.finish();
    networks
}

fn tools(section: Section<'_>) -> Tools {
    let default = Tools::default();
    let count = |key, default| {
        let number = section.number(key, 0..=SAYINGS_MAX);
        number.and_then(|number| usize::try_from(number).ok()).unwrap_or(default)
    };
    let tools = Tools {
        enabled: section.flag("enabled").unwrap_or(default.enabled),
        sends_per_minute: count("sends_per_minute", default.sends_per_minute),
        notices_per_hour: count("notices_per_hour", default.notices_per_hour),
    };
    section.finish();
    tools
}

/// Minimum of `[files] max_size`: people are told whole mebibytes.
const FILE_SIZE_LEAST: u64 = 1 << 20;

/// Maximum of `[files] max_size`: a file is held in memory while it is passed on.
const FILE_SIZE_MAX: u64 = 32 << 20;

fn files(section: Section<'_>) -> FileRules {
    let default = FileRules::default();
    let max = section.size("max_size").filter(|size| {
        let fits = (FILE_SIZE_LEAST..=FILE_SIZE_MAX).contains(size);
        if !fits {
            section
                .problem("max_size", "the limit is at least 1 MiB and at most 32 MiB; write e.g. \"8MiB\"");
        }
        fits
    });
    let per_hour =
        section.number("per_hour", 0..=SAYINGS_MAX).and_then(|number| usize::try_from(number).ok());
    let files = FileRules {
        max: max.unwrap_or(default.max),
        per_hour: per_hour.unwrap_or(default.per_hour),
        allow_private: section.flag("allow_private").unwrap_or(default.allow_private),
    };
    section.finish();
    files
}

/// Minimum of `keep_events`, so that `history` and `log` have something to show.
const KEEP_EVENTS_MIN: u64 = 1000;

fn history(section: Section<'_>) -> History {
    let default = History::default();
    let daily = section.choice("export", &[("daily", true), ("off", false)]);
    let history = History {
        keep: section.duration("keep", Duration::from_secs(3600)).unwrap_or(default.keep),
        keep_events: section
            .number("keep_events", KEEP_EVENTS_MIN..=100_000_000)
            .unwrap_or(default.keep_events),
        daily_export: daily.unwrap_or(default.daily_export),
        export_copy: section.filled("export_copy").map(|dir| section.path(&dir.value)),
        warn_free: section.size("warn_free").unwrap_or(default.warn_free),
    };
    section.finish();
    history
}

/// Records a mistake for every name that is used twice.
pub(super) fn duplicates<'n>(names: impl Iterator<Item = (&'n str, &'n Section<'n>)>, what: &str) {
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, section) in names {
        if let Some(line) = first.get(name) {
            section.problem(
                "name",
                format!("{what} \"{name}\" is already in line {line}; give this one another name"),
            );
        } else {
            first.insert(name, section.line());
        }
    }
}
