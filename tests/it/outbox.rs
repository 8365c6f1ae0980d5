//! The outbox: order, lanes, fairness, windows, long backlogs, and delivery without loss.

mod absence;
mod discord;
mod model;
mod posts;
mod queue;
mod render;
mod stored;
mod waiting;

/// Returns an agent's words without the bar that each line of them carries.
fn bare(line: &str) -> &str {
    line.strip_prefix("│ ").unwrap_or(line)
}
