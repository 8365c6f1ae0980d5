//! A channel as a person sees it: rendered from the simulator as Discord's client shows it, and kept as a page and a picture of it.
//!
//! `HERDER_BLESS=1` writes both anew.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use herder::config::Subject;
use herder::run::Options;

use crate::simulated_discord::state::{Id, Message, components};
use crate::simulated_discord::{Discord, State, permission};
use crate::stage::{self, Door, Stage};

/// Paths of the page and its picture in the project.
const PAGE: &str = "docs/images/discord.html";
const PICTURE: &str = "docs/images/discord.png";

/// Discord's own colours and sizes, as far as they matter for what is read first.
const STYLE: &str = "body{margin:0;background:#313338;color:#dbdee1;font:16px/1.375 'Noto Sans','DejaVu Sans',sans-serif;\
width:860px;min-height:100vh}header{padding:12px 16px;border-bottom:1px solid #26282c;color:#f2f3f5;font-weight:600}\
header small{color:#949ba4;font-weight:400;margin-left:12px}main{padding:8px 0 16px}\
article{position:relative;padding:4px 16px 4px 72px;margin-top:12px}.face{position:absolute;left:16px;top:6px;width:40px;\
height:40px;border-radius:50%;color:#fff;text-align:center;line-height:40px;font-weight:600}.who{color:#f2f3f5;\
font-weight:500}.app{background:#5865f2;color:#fff;border-radius:3px;font-size:10px;padding:1px 4px;margin-left:4px;\
vertical-align:2px}.quoted{color:#b5bac1;font-size:14px}.quoted b{color:#f2f3f5}.edited{color:#949ba4;font-size:10px}\
code{background:#1e1f22;border-radius:4px;padding:1px 4px;font:14px 'DejaVu Sans Mono',monospace}pre{background:#2b2d31;\
border:1px solid #1e1f22;border-radius:4px;padding:8px;margin:4px 0;font:14px 'DejaVu Sans Mono',monospace;\
white-space:pre-wrap}blockquote{border-left:4px solid #4e5058;margin:2px 0;padding-left:12px}small.sub{color:#949ba4}\
.marks span{display:inline-block;background:#2b2d31;border:1px solid #3f4147;border-radius:8px;padding:1px 8px;\
margin:4px 4px 0 0}.row{margin-top:8px}.row span{display:inline-block;border-radius:8px;padding:4px 14px;margin-right:8px;\
font-size:14px;color:#fff;background:#4e5058}.row .s1{background:#5865f2}.row .s3{background:#248046}\
.row .s4{background:#da373c}.row .off{opacity:.5}";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Takes out durations, which differ from run to run.
fn without_times(text: &str) -> String {
    let pattern = regex::Regex::new(r"completed in [0-9.]+ ?m?s").expect("a pattern");
    pattern.replace_all(text, "completed in 2s").into_owned()
}

/// Renders the marks of one line: code, bold, and escaped characters.
fn inline(text: &str) -> String {
    let (mut html, mut bold, mut code) = (String::new(), false, false);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let two = rest.starts_with("**");
        match c {
            '`' => {
                code = !code;
                html += if code { "<code>" } else { "</code>" };
            }
            '*' if two && !code => {
                bold = !bold;
                html += if bold { "<b>" } else { "</b>" };
                rest = &rest[1..];
            }
            '\\' if !code && rest[1..].starts_with(|c: char| c.is_ascii_punctuation()) => {
                rest = &rest[1..];
                html += &escaped(&rest[..1]);
            }
            c => html += &escaped(c.encode_utf8(&mut [0; 4])),
        }
        rest = &rest[rest.chars().next().map_or(0, char::len_utf8)..];
    }
    html
}

/// Renders the text of a message.
fn markdown(text: &str) -> String {
    let (mut html, mut block) = (String::new(), false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            block = !block;
            html += if block { "<pre>" } else { "</pre>\n" };
        } else if block {
            html += &(escaped(line) + "\n");
        } else if let Some(small) = line.strip_prefix("-# ") {
            html += &format!("<div><small class=\"sub\">{}</small></div>\n", inline(small));
        } else if let Some(quoted) = line.strip_prefix("> ") {
            html += &format!("<blockquote>{}</blockquote>\n", inline(quoted));
        } else {
            html += &format!("<div>{}</div>\n", inline(line));
        }
    }
    html
}

fn name(state: &State, id: Id) -> (String, bool) {
    state.users.get(&id).map_or_else(|| ("somebody".to_owned(), false), |user| (user.name.clone(), user.bot))
}

fn message(state: &State, message: &Message) -> String {
    let (who, is_bot) = name(state, message.author);
    let mut html = "<article>".to_owned();
    if let Some(quoted) = message.reply_to.and_then(|id| state.messages.get(&id)) {
        let whose = escaped(&name(state, quoted.author).0);
        let line = quoted.content.lines().next().unwrap_or_default();
        let _ = writeln!(html, "<div class=\"quoted\">↱ <b>{whose}</b> {}</div>", inline(line));
    }
    let colour = if is_bot { "#5865f2" } else { "#3ba55c" };
    let letter = who.chars().next().unwrap_or('?').to_uppercase();
    let app = if is_bot { "<span class=\"app\">APP</span>" } else { "" };
    let _ = writeln!(html, "<span class=\"face\" style=\"background:{colour}\">{letter}</span>");
    let _ = writeln!(html, "<div><span class=\"who\">{}</span>{app}</div>", escaped(&who));
    html += &markdown(&without_times(&message.content));
    for file in &message.attachments {
        let _ = writeln!(html, "<div>📎 {}</div>", escaped(&file.name));
    }
    if !message.reactions.is_empty() {
        let marks =
            message.reactions.iter().map(|it| format!("<span>{} {}</span>", it.emoji, it.users.len()));
        let _ = writeln!(html, "<div class=\"marks\">{}</div>", marks.collect::<String>());
    }
    let buttons: Vec<String> = components(&message.components)
        .into_iter()
        .filter(|component| component["type"] == 2)
        .map(|button| {
            let emoji = button["emoji"]["name"].as_str().map(|emoji| format!("{emoji} ")).unwrap_or_default();
            let label = escaped(button["label"].as_str().unwrap_or_default());
            let (style, off) = (&button["style"], if button["disabled"] == true { " off" } else { "" });
            format!("<span class=\"s{style}{off}\">{emoji}{label}</span>")
        })
        .collect();
    if !buttons.is_empty() {
        let _ = writeln!(html, "<div class=\"row\">{}</div>", buttons.concat());
    }
    html + "</article>\n"
}

/// Renders a channel of the server as a page.
fn page(state: &State, channel: &str) -> String {
    let id = state.channel(channel).map(|channel| channel.id);
    let messages =
        state.messages.values().filter(|it| Some(it.channel) == id && !it.deleted && !it.is_ephemeral());
    let messages: String = messages.map(|it| message(state, it)).collect();
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>#{channel}</title>\n<style>{STYLE}</style>\n\
         <header># {channel}</header>\n<main>\n{messages}</main>\n"
    )
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Takes the picture, by the command that `docs/inside/tests.md` names.
fn takes_picture() {
    let script = root().join("scripts/picture");
    let status = Command::new(script).args([PAGE, PICTURE]).current_dir(root()).status();
    assert!(status.expect("scripts/picture is there").success(), "chromium is needed (package chromium)");
}

/// Asked for something that needs a person's word, answered by a button, paused and let go on: what the README shows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_channel_looks_as_the_readme_shows_it() {
    let sim = Discord::start().await;
    sim.role("manager", permission::MANAGE_GUILD);
    let ann = sim.user("ann").roles(["manager"]);
    let dir = tempfile::tempdir().expect("a folder");
    let spark = stage::asking("spark", dir.path(), "git push origin main");
    let mut config = stage::config(dir.path(), Vec::new(), vec![spark]);
    config.discord = Some(stage::discord(&sim, Door::Plain));
    config.access.operators = vec![Subject::DiscordUser(ann.id.to_string())];
    let sessions = sim.gateway().identifies();
    let stage = Stage::open(config, Options::default()).await;
    sim.gateway().identified(sessions + 1).await;
    sim.channel("spark").await;

    let work = ann.says("#spark", "The release notes are done: publish them.");
    sim.reaction(work, "⏳").await;
    let asked = sim.message_in("spark", |post| post.buttons().len() == 3).await;
    ann.clicks(asked.id, &asked.button("Approve").custom_id).answer().await;
    sim.message_in("spark", |post| post.content.contains("was told yes")).await;
    sim.message_in("spark", |post| post.content.contains("completed")).await;
    sim.reaction(work, "✅").await;
    let pause = ann.says("#spark", "pause");
    sim.message_in("spark", |post| post.reply_to == Some(pause)).await;
    let later = ann.says("#spark", "And tell me tomorrow what people say of it.");
    sim.message_in("spark", |post| post.reply_to == Some(later)).await;
    sim.reaction(later, "👀").await;
    let shown = sim.look(|state| page(state, "spark"));
    stage.close().await;

    let kept: PathBuf = root().join(PAGE);
    if std::env::var_os("HERDER_BLESS").is_some() {
        std::fs::write(&kept, &shown).expect("the page can be written");
        takes_picture();
    }
    let before = std::fs::read_to_string(&kept).unwrap_or_default();
    is_the_same(&before, &shown);
    assert!(root().join(PICTURE).exists(), "HERDER_BLESS=1 makes the picture");
}

/// Compares two pages, and names the first line that differs.
fn is_the_same(kept: &str, shown: &str) {
    let differs = kept.lines().zip(shown.lines()).find(|(kept, shown)| kept != shown);
    assert_eq!(differs, None, "{PAGE} is another one; HERDER_BLESS=1 writes it anew");
    assert_eq!(kept.lines().count(), shown.lines().count(), "{PAGE} is another one:\n{shown}");
}
