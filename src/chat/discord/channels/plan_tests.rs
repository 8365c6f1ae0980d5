//! A simulated server that carries out the plan's steps, and people who change it at will.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serenity::all::{
    ChannelId, GuildId, PermissionOverwrite, PermissionOverwriteType, Permissions, RoleId, UserId,
};
use tokio::time::Instant;

use super::super::directory::{Outlook, Purpose};
use super::super::permission::{self, Standing};
use super::plan::{Failure, Plan, Step, Trouble};
use super::seen::{Kind, Snapshot, There};
use crate::config::{Discord, Reach};
use crate::core::id::AgentName;
use crate::core::link::ChannelWanted;
use crate::core::post::Target;

const EVERYONE: u64 = 1;
const OWN_ROLE: u64 = 2;
const ME: u64 = 9;

fn settings() -> Discord {
    Discord {
        token: String::new().into(),
        guild: EVERYONE,
        category: "Agents".to_owned(),
        alerts_channel: "alerts".to_owned(),
        work_channel: "work".to_owned(),
        control_channel: "herder".to_owned(),
        bots: Vec::new(),
        call: crate::config::Call::default(),
        reach: Reach::Internet,
    }
}

fn agent(name: &str) -> AgentName {
    AgentName::new(name).expect("a good name")
}

fn wanted(names: &[&str]) -> Vec<ChannelWanted> {
    let wish = |name: &&str| ChannelWanted {
        target: Target::Agent(agent(name)),
        topic: Some(format!("idle · {name}")),
        network: None,
    };
    names.iter().map(wish).collect()
}

fn text(name: &str, parent: Option<u64>) -> There {
    There {
        name: name.to_owned(),
        kind: Kind::Text,
        parent: parent.map(ChannelId::new),
        topic: None,
        overwrites: Vec::new(),
    }
}

fn category(name: &str) -> There {
    There { kind: Kind::Category, ..text(name, None) }
}

/// A simulated server and the plan for it.
struct World {
    plan: Plan,
    there: BTreeMap<ChannelId, There>,
    granted: Permissions,
    now: Instant,
    next_id: u64,
    /// All steps and changes, as text.
    log: Vec<String>,
}

impl World {
    fn new(there: &[(u64, There)], known: &[(Purpose, u64)], agents: &[&str]) -> Self {
        let known = known.iter().map(|(purpose, id)| (purpose.clone(), ChannelId::new(*id))).collect();
        let mut world = Self {
            plan: Plan::new(&settings(), known),
            there: there.iter().map(|(id, it)| (ChannelId::new(*id), it.clone())).collect(),
            granted: permission::all() | Permissions::MANAGE_ROLES,
            now: Instant::now(),
            next_id: 100,
            log: Vec::new(),
        };
        world.plan.want(&wanted(agents), world.now);
        world
    }

    fn snapshot(&self) -> Snapshot {
        let roles = HashMap::from([
            (RoleId::new(EVERYONE), Permissions::empty()),
            (RoleId::new(OWN_ROLE), self.granted),
        ]);
        let standing = Standing {
            guild: GuildId::new(EVERYONE),
            me: UserId::new(ME),
            roles,
            own: vec![RoleId::new(OWN_ROLE)],
        };
        Snapshot { channels: self.there.clone(), standing: Some(standing) }
    }

    /// Delivers READY: the server describes itself.
    fn ready(&mut self) -> &mut Self {
        self.plan.saw(self.snapshot(), self.now);
        self
    }

    /// Carries out steps until the plan has none.
    fn work(&mut self) -> &mut Self {
        while let Some(step) = self.plan.next(self.now) {
            let result = self.carry_out(&step);
            self.plan.done(&step, result, self.now);
            assert!(self.log.len() < 2000, "the plan never rests: {:#?}", &self.log[1980..]);
        }
        self
    }

    fn carry_out(&mut self, step: &Step) -> Result<Option<(ChannelId, There)>, Failure> {
        match step {
            Step::Look => {
                self.log.push("look".to_owned());
                self.plan.saw(self.snapshot(), self.now);
                Ok(None)
            }
            Step::Create { name, kind, parent, topic, .. } => {
                let inside = self.there.values().filter(|it| it.parent == *parent && parent.is_some());
                if inside.count() >= 50 {
                    return Err(Failure::CategoryFull);
                }
                if self.there.len() >= 500 {
                    return Err(Failure::GuildFull);
                }
                let id = ChannelId::new(self.next_id);
                self.next_id += 1;
                let made = There {
                    name: name.clone(),
                    kind: *kind,
                    parent: *parent,
                    topic: topic.clone(),
                    overwrites: Vec::new(),
                };
                self.there.insert(id, made.clone());
                let place =
                    parent.map_or_else(|| "the top".to_owned(), |parent| self.there[&parent].name.clone());
                self.log.push(format!("make {name} in {place}"));
                Ok(Some((id, made)))
            }
            Step::Move { channel, parent, overwrites, .. } => {
                let place = self.there[parent].name.clone();
                let Some(there) = self.there.get_mut(channel) else { return Err(Failure::Gone) };
                there.parent = Some(*parent);
                let doors = if overwrites.is_some() { ", doors changed" } else { "" };
                if let Some(overwrites) = overwrites {
                    there.overwrites.clone_from(overwrites);
                }
                self.log.push(format!("move {} to {place}{doors}", there.name));
                Ok(None)
            }
        }
    }

    fn deletes(&mut self, name: &str) -> &mut Self {
        let id = self.id(name);
        self.there.remove(&id);
        self.plan.saw_gone(id, self.now);
        let orphans: Vec<ChannelId> =
            self.there.iter().filter(|(_, it)| it.parent == Some(id)).map(|(id, _)| *id).collect();
        for orphan in orphans {
            let there = self.there.get_mut(&orphan).expect("just seen");
            there.parent = None;
            self.plan.saw_channel(orphan, there.clone(), self.now);
        }
        self
    }

    fn id(&self, name: &str) -> ChannelId {
        *self.there.iter().find(|(_, it)| it.name == name).unwrap_or_else(|| panic!("no {name}")).0
    }

    fn later(&mut self, seconds: u64) -> &mut Self {
        self.now += Duration::from_secs(seconds);
        self
    }

    fn log(&mut self) -> String {
        std::mem::take(&mut self.log).join("\n")
    }

    fn troubles(&mut self) -> Vec<String> {
        let troubles = self.plan.troubles();
        let shown = |trouble: &Trouble| match trouble {
            Trouble::Permission { needed, channel: None } => needed.name.to_owned(),
            Trouble::Permission { needed, channel: Some(id) } => {
                format!("{} in {}", needed.name, self.plan.shown(*id))
            }
            Trouble::Full => "full".to_owned(),
        };
        troubles.iter().map(shown).collect()
    }
}

#[test]
fn a_fresh_server_gets_its_category_and_channels_once() {
    let mut world = World::new(&[(3, text("spark", None))], &[], &["nova", "spark"]);
    assert_eq!(world.plan.next(world.now), None, "nothing before the server was seen");
    insta::assert_snapshot!(world.ready().work().log(), @r"
    make Agents in the top
    make alerts in Agents
    make work in Agents
    make herder in Agents
    make nova in Agents
    make spark in Agents
    ");
    assert_eq!(world.there[&world.id("nova")].topic.as_deref(), Some("idle · nova"));
    let changes = world.plan.changes();
    assert_eq!(changes.len(), 6, "each is remembered: {changes:?}");
    assert!(
        !changes.iter().any(|(_, id)| *id == Some(ChannelId::new(3))),
        "what is somebody else's stays theirs"
    );
    assert_eq!(world.ready().work().log(), "", "READY again makes nothing anew");
    assert!(world.plan.changes().is_empty());
}

#[test]
fn known_channels_are_found_by_id_and_others_by_name_in_the_category() {
    let there = [
        (10, category("AGENTS")),
        (11, text("renamed-by-people", Some(4))),
        (4, category("elsewhere")),
        (12, text("nova", Some(10))),
        (13, text("alerts", Some(4))),
        (14, text("work", Some(10))),
    ];
    let mut world = World::new(&there, &[(Purpose::Agent(agent("spark")), 11)], &["nova", "spark"]);
    insta::assert_snapshot!(world.ready().work().log(), @r"
    make alerts in AGENTS
    make herder in AGENTS
    ");
    let mut changes = world.plan.changes();
    changes.sort();
    let of = |purpose: Purpose| changes.iter().find(|(of, _)| *of == purpose).and_then(|(_, id)| *id);
    assert_eq!(of(Purpose::Category(0)), Some(ChannelId::new(10)));
    assert_eq!(of(Purpose::Agent(agent("nova"))), Some(ChannelId::new(12)));
    assert_eq!(of(Purpose::Work), Some(ChannelId::new(14)));
    assert_eq!(of(Purpose::Agent(agent("spark"))), None, "it was known, and moved by people");
}

#[test]
fn what_is_deleted_is_made_again_and_a_quarrel_slows_it_down() {
    let mut world = World::new(&[], &[], &["spark"]);
    world.ready().work().log();
    insta::assert_snapshot!(world.deletes("spark").work().log(), @"make spark in Agents");
    assert_eq!(world.deletes("spark").work().log(), "", "the second time it waits");
    let due = world.plan.deadline(world.now).expect("it is made again later");
    assert_eq!(due - world.now, Duration::from_secs(10));
    insta::assert_snapshot!(world.later(10).work().log(), @"make spark in Agents");
    world.deletes("spark").later(59).work();
    assert_eq!(world.log(), "");
    insta::assert_snapshot!(world.later(1).work().log(), @"make spark in Agents");
}

#[test]
fn what_is_deleted_before_it_is_known_to_be_made_is_made_again() {
    let mut world = World::new(&[], &[], &["spark"]);
    let now = world.now;
    let step = world.ready().plan.next(now).expect("the category is made first");
    let made = world.carry_out(&step);
    // The gateway is ahead of the answer.
    world.deletes("Agents").plan.done(&step, made, now);
    insta::assert_snapshot!(world.work().log(), @r"
    make Agents in the top
    make Agents in the top
    make alerts in Agents
    make work in Agents
    make herder in Agents
    make spark in Agents
    ");
}

#[test]
fn a_deleted_category_is_made_again_and_gets_its_channels_back() {
    let mut world = World::new(&[], &[], &["spark"]);
    world.ready().work().log();
    insta::assert_snapshot!(world.deletes("Agents").work().log(), @r"
    make Agents in the top
    move alerts to Agents
    move work to Agents
    move herder to Agents
    move spark to Agents
    ");
}

#[test]
fn what_was_deleted_while_nobody_looked_is_made_again() {
    let known = [(Purpose::Category(0), 10), (Purpose::Agent(agent("spark")), 11)];
    let mut world = World::new(&[(10, category("Agents"))], &known, &["spark"]);
    insta::assert_snapshot!(world.ready().work().log(), @r"
    make alerts in Agents
    make work in Agents
    make herder in Agents
    make spark in Agents
    ");
}

#[test]
fn removed_agents_are_archived_and_brought_back() {
    let mut world = World::new(&[], &[], &["nova", "spark"]);
    world.ready().work().log();
    let spark = world.id("spark");
    world.plan.want(&wanted(&["nova"]), world.now);
    insta::assert_snapshot!(world.work().log(), @r"
    make Agents-archive in the top
    move spark to Agents-archive, doors changed
    ");
    let everyone = PermissionOverwriteType::Role(RoleId::new(EVERYONE));
    let me = PermissionOverwriteType::Member(UserId::new(ME));
    let (send, none) = (Permissions::SEND_MESSAGES, Permissions::empty());
    let doors = [
        PermissionOverwrite { allow: none, deny: send, kind: everyone },
        PermissionOverwrite { allow: send, deny: none, kind: me },
    ];
    assert_eq!(world.there[&spark].overwrites, doors);
    assert_eq!(world.ready().work().log(), "");
    world.plan.want(&wanted(&["nova", "spark"]), world.now);
    insta::assert_snapshot!(world.work().log(), @"move spark to Agents, doors changed");
    assert_eq!(world.there[&spark].overwrites, []);
    assert_eq!(world.id("spark"), spark, "its history comes back with it");
}

#[test]
fn without_manage_roles_the_archive_is_not_closed() {
    let mut world = World::new(&[], &[], &["spark"]);
    world.granted = permission::all();
    world.ready().work().log();
    world.plan.want(&[], world.now);
    insta::assert_snapshot!(world.work().log(), @r"
    make Agents-archive in the top
    move spark to Agents-archive
    ");
    assert_eq!(world.troubles(), <[String; 0]>::default(), "nothing is missing for that");
}

#[test]
fn a_thousand_agents_fill_categories_and_then_the_server() {
    let names: Vec<String> = (0..1000).map(|number| format!("a{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut world = World::new(&[], &[], &names);
    world.ready().work();
    assert_eq!(world.there.len(), 500);
    let per_category =
        |world: &World, id: ChannelId| world.there.values().filter(|there| there.parent == Some(id)).count();
    let categories: Vec<ChannelId> =
        world.there.iter().filter(|(_, it)| it.kind == Kind::Category).map(|(id, _)| *id).collect();
    assert_eq!(categories.len(), 10);
    assert!(categories.iter().all(|id| per_category(&world, *id) <= 50));
    assert!(world.there.values().any(|it| it.name == "Agents-2"));
    assert_eq!(world.troubles(), ["full"]);
    assert_eq!(world.plan.lacking(), 513);
    world.log();
    assert_eq!(world.work().log(), "", "no more is tried");
    world.later(121).work();
    assert_eq!(world.troubles(), <[String; 0]>::default(), "it is said once");
    world.deletes("a0").work();
    assert_eq!(world.there.len(), 500, "room is used at once");
}

#[test]
fn a_missing_permission_is_named_once_and_nothing_is_tried_without_it() {
    let mut world = World::new(&[(10, category("Agents")), (11, text("spark", Some(10)))], &[], &["spark"]);
    world.granted = permission::all() & !Permissions::MANAGE_CHANNELS;
    assert_eq!(world.ready().work().log(), "");
    assert_eq!(world.troubles(), ["Manage Channels"]);
    assert_eq!(world.ready().work().troubles(), <[String; 0]>::default());
    assert!(world.plan.can_post(&Purpose::Agent(agent("spark"))), "what is there is used");
    world.plan.saw_role(RoleId::new(OWN_ROLE), Some(permission::all()));
    insta::assert_snapshot!(world.work().log(), @r"
    make alerts in Agents
    make work in Agents
    make herder in Agents
    ");
    world.plan.saw_role(RoleId::new(OWN_ROLE), Some(permission::all() & !Permissions::ATTACH_FILES));
    assert_eq!(world.troubles(), ["Attach Files"]);

    // Only the channel that denies herder is named, not its neighbours.
    world.plan.saw_role(RoleId::new(OWN_ROLE), Some(permission::all()));
    assert_eq!(world.troubles(), <[String; 0]>::default());
    let deny = PermissionOverwrite {
        allow: Permissions::empty(),
        deny: Permissions::SEND_MESSAGES,
        kind: PermissionOverwriteType::Role(RoleId::new(EVERYONE)),
    };
    let shut = There { overwrites: vec![deny.clone()], ..text("spark", Some(10)) };
    world.plan.saw_channel(ChannelId::new(11), shut, world.now);
    // The bot's role grants nothing in the channel itself, so that a denial for everybody denies the bot as well.
    assert_eq!(world.troubles(), ["Send Messages in #spark"]);
    assert!(!world.plan.can_post(&Purpose::Agent(agent("spark"))));
    let closed = There { overwrites: vec![deny], ..category("Agents") };
    world.plan.saw_channel(ChannelId::new(10), closed, world.now);
    assert_eq!(
        world.troubles(),
        ["Send Messages in Agents"],
        "what the category takes is said of the category"
    );
}

#[test]
fn what_is_refused_against_all_knowledge_is_looked_at_and_tried_again_later() {
    let mut world = World::new(&[], &[], &[]);
    world.ready();
    let step = world.plan.next(world.now).expect("the category");
    world.plan.done(&step, Err(Failure::Denied), world.now);
    assert_eq!(world.troubles(), ["Manage Channels"]);
    assert_eq!(world.plan.next(world.now), None);
    let due = world.plan.deadline(world.now).expect("it is tried again");
    world.now = due;
    insta::assert_snapshot!(world.work().log(), @r"
    look
    make Agents in the top
    make alerts in Agents
    make work in Agents
    make herder in Agents
    ");
    assert_eq!(world.troubles(), <[String; 0]>::default());
}

#[test]
fn a_channel_whose_answer_was_lost_is_not_made_twice() {
    let mut world = World::new(&[], &[], &["spark"]);
    world.ready();
    let mut unsure = 0;
    while let Some(step) = world.plan.next(world.now) {
        let result = world.carry_out(&step);
        let lost = matches!(step, Step::Create { .. });
        unsure += u32::from(lost);
        world.plan.done(&step, if lost { Err(Failure::Unsure) } else { result }, world.now);
    }
    assert_eq!(unsure, 5, "each was made once");
    assert_eq!(world.there.len(), 5);
    assert_eq!(world.plan.lacking(), 0);
}

/// Discord carries out a request long after herder gave up waiting for the answer.
#[test]
fn a_channel_that_is_made_late_is_not_made_twice() {
    let mut world = World::new(&[(10, category("Agents"))], &[], &["spark"]);
    let now = world.now;
    let step = world.ready().plan.next(now).expect("#alerts is made");
    world.plan.done(&step, Err(Failure::Unsure), now);
    world.work();
    assert_eq!(world.log, ["look"], "nothing is made again at once");
    world.now += Duration::from_secs(2);
    let result = world.carry_out(&step);
    let (id, made) = result.expect("it is made").expect("it says which");
    world.plan.saw_channel(id, made, world.now);
    world.work();
    assert_eq!(world.log.iter().filter(|line| line.contains("alerts")).count(), 1, "{:?}", world.log);
    assert_eq!(world.plan.lacking(), 0);
    // A channel that never appears is created after a while.
    world.deletes("work");
    let step = world.plan.next(world.now).expect("#work is made");
    world.plan.done(&step, Err(Failure::Unsure), world.now);
    world.work();
    assert_eq!(world.plan.lacking(), 1);
    world.now = world.plan.deadline(world.now).expect("it is not waited for for ever");
    world.work();
    assert_eq!(world.plan.lacking(), 0);
}

#[test]
fn what_is_there_is_found_whatever_is_being_made_or_was_refused_before_it() {
    let there = [(10, category("Agents")), (11, text("spark", Some(10)))];
    let mut world = World::new(&there, &[], &["nova", "spark"]);
    let now = world.now;
    let is_nova = |(purpose, _): &(Purpose, Option<ChannelId>)| *purpose == Purpose::Agent(agent("nova"));
    let spark = (Purpose::Agent(agent("spark")), Some(ChannelId::new(11)));
    let step = world.ready().plan.next(now).expect("#alerts is made first");
    assert!(matches!(&step, Step::Create { purpose: Purpose::Alerts, .. }), "{step:?}");
    assert!(world.plan.changes().contains(&spark));
    // Channels that people create meanwhile are adopted too, except the one that herder is creating.
    for (id, name) in [(12, "nova"), (13, "alerts")] {
        world.plan.saw_channel(ChannelId::new(id), text(name, Some(10)), now);
    }
    assert_eq!(world.plan.next(now), None, "something is under way");
    let changes = world.plan.changes();
    assert!(changes.iter().all(is_nova) && changes.len() == 1, "{changes:?}");
    // The answer says that it was not created.
    world.plan.done(&step, Err(Failure::Denied), now);
    assert_eq!(world.plan.next(now), None, "it is not tried again at once");
    assert_eq!(world.plan.changes(), [(Purpose::Alerts, Some(ChannelId::new(13)))]);
}

#[test]
fn channels_are_found_in_every_category_before_any_is_made() {
    let mut there = vec![(10, category("Agents")), (11, category("Agents-2"))];
    there.extend([(12, text("alerts", Some(11))), (13, text("spark", Some(11)))]);
    there.extend((0..50).map(|number| (1000 + number, text(&format!("a{number}"), Some(10)))));
    let mut world = World::new(&there, &[], &["spark"]);
    insta::assert_snapshot!(world.ready().work().log(), @r"
    make work in Agents-2
    make herder in Agents-2
    ");
}

#[test]
fn a_new_channel_may_be_ours_while_one_is_made_and_not_while_that_is_refused() {
    let mut world = World::new(&[(10, category("Agents"))], &[], &["spark"]);
    let now = world.now;
    assert_eq!(world.plan.outlook(now), Outlook::Unseen);
    let step = world.ready().plan.next(now).expect("#alerts is made");
    assert_eq!(world.plan.outlook(now), Outlook::Making);
    // It may have been created.
    world.plan.done(&step, Err(Failure::Unsure), now);
    assert_eq!(world.plan.outlook(now), Outlook::Making);
    let look = world.plan.next(now).expect("a look");
    let result = world.carry_out(&look);
    world.plan.done(&look, result, now);
    assert_eq!((world.plan.next(now), world.plan.outlook(now)), (None, Outlook::Making), "it may come yet");
    world.now = world.plan.deadline(now).expect("it is not waited for for ever");
    let now = world.now;
    let look = world.plan.next(now).expect("another look");
    let result = world.carry_out(&look);
    world.plan.done(&look, result, now);
    let step = world.plan.next(now).expect("#alerts is made again");
    world.plan.done(&step, Err(Failure::Denied), now);
    assert_eq!(world.plan.outlook(now), Outlook::Settled);
    // Until the next attempt.
    world.now = world.plan.deadline(now).expect("it is tried again");
    let now = world.now;
    assert_eq!(world.plan.outlook(now), Outlook::Making);
    world.work();
    assert_eq!(world.plan.outlook(now), Outlook::Settled);
}
