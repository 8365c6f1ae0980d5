//! Rendered views, shared by all open pages that show the same.
//!
//! A [`Screen`] belongs to a view, a role and a language. It keeps the HTML of each piece of the view with the version
//! at which the piece came to look so. A page is made of the pieces; a stream sends those that are newer than its
//! page, then each change. While nobody looks there is no task, and nothing is rendered.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{Mutex as AsyncMutex, broadcast, watch};

use super::page::{self, Charts, Filter, Sought, View};
use super::{App, Shared};
use crate::clock;
use crate::core::id::{AgentName, WorkId};
use crate::core::role::Role;
use crate::core::time::Timestamp;
use crate::supervisor::View as Seen;

/// Time for which changes are gathered before they are rendered.
const GATHER: Duration = Duration::from_millis(100);

/// Interval of renderings without a change: times pass, and sessions end.
const LOOK_AGAIN: Duration = Duration::from_secs(15);

/// Changes that a page may be behind. One that reads more slowly is cut off, and comes back for the whole.
const BEHIND_MAX: usize = 64;

/// Time for which a screen is kept for the stream of a page that was just made.
const KEPT_FOR: Duration = Duration::from_secs(60);

/// Time for which a screen of a filter is kept: while somebody types, each letter makes one that nobody looks at again.
const FILTER_KEPT_FOR: Duration = Duration::from_secs(5);

/// Screens at one time: twice the streams, since a page is made before its stream is opened.
const SCREENS_MAX: usize = 128;

/// Changed rows beyond this many are sent as one table body: a browser takes that faster.
const ROWS_MAX: usize = 50;

/// A view, as its address names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Look {
    /// All agents that pass the filter.
    Fleet(Filter),
    /// One agent.
    Agent(AgentName),
    /// The task board.
    Board,
    /// One task.
    Task(WorkId),
    /// Spending.
    Money(Charts),
    /// The newest entries that are sought in the history.
    History(Sought),
    /// A view of which nothing but the top line changes.
    Still,
}

/// Key of a screen.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    pub(super) look: Look,
    pub(super) role: Role,
    pub(super) language: &'static str,
}

/// A piece of HTML that takes the place of the one with its id.
#[derive(Debug, Clone)]
struct Piece {
    html: Arc<str>,
    /// The version of the screen since which it looks so.
    version: u64,
}

/// A row of the fleet's table.
#[derive(Debug)]
struct Row {
    seen: Seen,
    piece: Piece,
}

/// A change on its way to open pages.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) html: Arc<str>,
    /// The version of the screen and the screen's number, which a page gives back when it returns.
    pub(super) id: Arc<str>,
}

/// State of a screen.
#[derive(Debug, Default)]
struct State {
    version: u64,
    /// Pieces by their ids, and what each was compared by.
    pieces: BTreeMap<&'static str, (String, Piece)>,
    rows: BTreeMap<AgentName, Row>,
    /// The version since which the table has these rows and no others.
    listed: u64,
    /// When rows were last rendered because time had passed.
    aged: Option<Timestamp>,
    past: page::Past,
    /// Whether a task renders it.
    is_followed: bool,
}

/// See the module's text.
#[derive(Debug)]
pub(super) struct Screen {
    kind: Kind,
    /// A number that no other screen has, of no other herder either.
    number: u64,
    state: AsyncMutex<State>,
    changes: broadcast::Sender<Change>,
    /// When a page was last made of it.
    used: AtomicI64,
}

/// All screens.
#[derive(Debug)]
pub(super) struct Screens {
    known: Mutex<HashMap<Kind, Arc<Screen>>>,
    next: AtomicU64,
}

impl Default for Screens {
    fn default() -> Self {
        let first = u64::try_from(clock::now().as_millis()).unwrap_or_default();
        // Microseconds of the start: no herder makes a thousand screens in a millisecond.
        Self { known: Mutex::default(), next: AtomicU64::new(first.saturating_mul(1000)) }
    }
}

impl Screens {
    /// Forgets what no page follows, so that nothing is kept once the last one is closed. A page whose stream is not open
    /// yet is sent everything anew.
    fn forget_unfollowed(&self) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, screen| screen.changes.receiver_count() > 0);
    }

    /// The screen of a kind, which is made if there is none.
    fn of(&self, kind: &Kind) -> Arc<Screen> {
        let now = clock::now();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, screen| screen.is_wanted(now));
        if let Some(screen) = known.get(kind) {
            screen.used.store(now.as_millis(), Ordering::Relaxed);
            return Arc::clone(screen);
        }
        if known.len() >= SCREENS_MAX {
            let unused = known.iter().filter(|(_, screen)| screen.changes.receiver_count() == 0);
            let oldest = unused.min_by_key(|(_, screen)| screen.used.load(Ordering::Relaxed));
            if let Some(kind) = oldest.map(|(kind, _)| kind.clone()) {
                known.remove(&kind);
            }
        }
        let screen = Arc::new(Screen {
            kind: kind.clone(),
            number: self.next.fetch_add(1, Ordering::Relaxed),
            state: AsyncMutex::default(),
            changes: broadcast::channel(BEHIND_MAX).0,
            used: AtomicI64::new(now.as_millis()),
        });
        known.insert(kind.clone(), Arc::clone(&screen));
        screen
    }
}

/// Contents of a page at one version.
#[derive(Debug)]
pub(super) struct Shown {
    pieces: BTreeMap<&'static str, Arc<str>>,
    /// The table's rows.
    pub(super) rows: String,
    /// Version, which the page's stream is asked for.
    pub(super) id: Arc<str>,
}

impl Shown {
    /// A piece, as HTML.
    pub(super) fn piece(&self, id: &str) -> maud::PreEscaped<&str> {
        maud::PreEscaped(self.pieces.get(id).map_or("", |html| html))
    }
}

/// Changes for one stream.
#[derive(Debug)]
pub(super) struct Followed {
    /// Changes since the page was made.
    pub(super) missed: Vec<Change>,
    pub(super) changes: broadcast::Receiver<Change>,
}

impl App {
    /// Renders a page of this kind, if it has changed.
    pub(super) async fn shown(&self, kind: &Kind) -> Shown {
        let screen = self.screens.of(kind);
        let mut state = screen.state.lock().await;
        screen.render(self, &mut state).await;
        Shown {
            pieces: state.pieces.iter().map(|(id, (_, piece))| (*id, in_place(&piece.html))).collect(),
            rows: state.rows.values().map(|row| &*row.piece.html).collect(),
            id: screen.id(state.version),
        }
    }
}

/// Follows a screen from the version on that a page shows. `since`: the id that the page was made with.
pub(super) async fn follow(app: &Shared, kind: &Kind, since: &str) -> Followed {
    let screen = app.screens.of(kind);
    let mut state = screen.state.lock().await;
    screen.render(app, &mut state).await;
    let changes = screen.changes.subscribe();
    if !state.is_followed {
        state.is_followed = true;
        app.tasks.spawn(keep_rendering(Arc::downgrade(app), Arc::clone(&screen)));
    }
    let since = since.split_once('.').and_then(|(number, version)| {
        let number: u64 = number.parse().ok()?;
        version.parse().ok().filter(|_| number == screen.number)
    });
    let missed = screen.since(&state, since.unwrap_or(0));
    Followed { missed, changes }
}

/// Waits until the journal has grown; for ever where that is no change.
async fn grows(journal: &mut Option<watch::Receiver<()>>) {
    let is_open = match journal {
        Some(grown) => grown.changed().await.is_ok(),
        None => false,
    };
    if !is_open {
        std::future::pending().await
    }
}

async fn keep_rendering(app: Weak<App>, screen: Arc<Screen>) {
    let Some((mut fleet, journal, shutdown)) =
        app.upgrade().map(|app| (app.setup.fleet.changes(), app.setup.journal.grown(), app.shutdown.clone()))
    else {
        return;
    };
    // Entries are written of which no agent's view tells, as those of the audit trail.
    let mut journal = Some(journal).filter(|_| matches!(screen.kind.look, Look::History(_)));
    // The first rendering includes every change from before this task began.
    fleet.mark_changed();
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = screen.changes.closed() => {
                let mut state = screen.state.lock().await;
                if screen.changes.receiver_count() == 0 {
                    state.is_followed = false;
                    drop(state);
                    if let Some(app) = app.upgrade() {
                        app.screens.forget_unfollowed();
                    }
                    return;
                }
            }
            changed = fleet.changed() => {
                if changed.is_err() {
                    return;
                }
                tokio::time::sleep(GATHER).await;
                fleet.borrow_and_update();
            }
            () = grows(&mut journal) => tokio::time::sleep(GATHER).await,
            () = tokio::time::sleep(LOOK_AGAIN) => {}
        }
        let Some(app) = app.upgrade() else { return };
        let mut state = screen.state.lock().await;
        screen.render(&app, &mut state).await;
    }
}

impl Screen {
    fn is_wanted(&self, now: Timestamp) -> bool {
        let used = Timestamp::from_millis(self.used.load(Ordering::Relaxed));
        let is_typed = matches!(&self.kind.look, Look::Fleet(filter) if !filter.is_none());
        let kept_for = if is_typed { FILTER_KEPT_FOR } else { KEPT_FOR };
        self.changes.receiver_count() > 0 || now.since(used) < kept_for
    }

    fn id(&self, version: u64) -> Arc<str> {
        format!("{}.{version}", self.number).into()
    }

    /// Renders what has changed, and sends it to the pages that are open.
    async fn render(&self, app: &App, state: &mut State) {
        let before = state.version;
        state.version += 1;
        let locale = app.locale(self.kind.language);
        let view = app.view(self.kind.role, locale);
        // An age that grew by less than a minute is no change: a new rendering would discard a half-written answer.
        let still = page::View { voice: page::Voice { now: minute(view.voice.now), ..view.voice }, ..view };
        let agents = app.setup.fleet.agents();
        // Looked for once: the rows and their counts are of the same agents.
        let fitting = match &self.kind.look {
            Look::Fleet(filter) => filter.fitting(&view, &agents),
            Look::Agent(_)
            | Look::Board
            | Look::Task(_)
            | Look::Money(_)
            | Look::History(_)
            | Look::Still => Vec::new(),
        };
        let agents = (&*agents, &*fitting);
        let pieces = page::pieces(&self.kind.look, (&view, &still), agents, &mut state.past).await;
        let mut changed = false;
        for mut piece in pieces {
            if state.pieces.get(piece.id).is_none_or(|(before, _)| *before != piece.compared) {
                let rendered = Piece { html: piece.html().into(), version: state.version };
                state.pieces.insert(piece.id, (piece.compared, rendered));
                changed = true;
            }
        }
        if let Look::Fleet(filter) = &self.kind.look {
            let listed = fitting.into_iter().filter(|seen| filter.is_phase(&view, seen));
            changed |= state.render_rows(&view, listed);
        }
        if !changed {
            state.version = before;
        } else if self.changes.receiver_count() > 0 {
            for change in self.since(state, before) {
                // A send without receivers is no error.
                let _ = self.changes.send(change);
            }
        }
    }

    /// Changes since a version. Rows of a table are a message of their own: beside anything else a browser reads them
    /// as no rows, or the forms after them as empty.
    fn since(&self, state: &State, version: u64) -> Vec<Change> {
        let mut html: String = String::new();
        for (_, piece) in state.pieces.values().filter(|(_, piece)| piece.version > version) {
            html.push_str(&piece.html);
        }
        let newer = || state.rows.values().filter(|row| row.piece.version > version);
        let rows = if matches!(self.kind.look, Look::Fleet(_))
            && (state.listed > version || newer().count() > ROWS_MAX)
        {
            let rows: String = state.rows.values().map(|row| &*row.piece.html).collect();
            page::table_body(&rows).into_string()
        } else {
            newer().map(|row| row.piece.html.replacen("<tr ", "<tr hx-swap-oob=\"true\" ", 1)).collect()
        };
        let id = self.id(state.version);
        let all = [rows, html].into_iter().filter(|html| !html.is_empty());
        all.map(|html| Change { html: html.into(), id: Arc::clone(&id) }).collect()
    }
}

impl State {
    /// Renders the rows of agents that look otherwise than they did. Answers whether any does.
    fn render_rows<'a>(&mut self, view: &View<'_>, listed: impl Iterator<Item = &'a Seen>) -> bool {
        let now = view.voice.now;
        let is_aged = self.aged.is_none_or(|aged| now.since(aged) >= LOOK_AGAIN);
        if is_aged {
            self.aged = Some(now);
        }
        let (mut changed, count) = (false, self.rows.len());
        let mut before = std::mem::take(&mut self.rows);
        let mut added = false;
        for seen in listed {
            let known = before.remove(&seen.name);
            added |= known.is_none();
            // Idle times and countdowns are part of what is shown of those that work or wait.
            let ages = is_aged && (seen.agent.session().is_some() || seen.agent.countdown().is_some());
            let row = match known {
                Some(row) if !ages && !page::changed(&row.seen, seen) => row,
                known => {
                    let html = page::row(view, seen).into_string();
                    match known.filter(|row| *row.piece.html == *html) {
                        Some(row) => Row { seen: seen.clone(), ..row },
                        None => {
                            changed = true;
                            Row {
                                seen: seen.clone(),
                                piece: Piece { html: html.into(), version: self.version },
                            }
                        }
                    }
                }
            };
            self.rows.insert(row.seen.name.clone(), row);
        }
        if added || self.rows.len() != count {
            self.listed = self.version;
            changed = true;
        }
        changed
    }
}

/// Takes the mark of a change off the root of a piece. In a page that is asked for by a filter, a marked piece would be
/// swapped into the old page, and be missing in the part that replaces it.
fn in_place(html: &str) -> Arc<str> {
    html.replacen(" hx-swap-oob=\"true\"", "", 1).replacen(" hx-swap-oob=\"outerMorph\"", "", 1).into()
}

/// The beginning of the minute.
fn minute(at: Timestamp) -> Timestamp {
    Timestamp::from_millis(at.as_millis().div_euclid(60_000).saturating_mul(60_000))
}
