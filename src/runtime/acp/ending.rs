//! The end of a turn of an ACP agent: its outcome, or the next turn.

use serde_json::json;

use super::classify::{self, Failure};
use super::{Acp, Asked, cancel, content, wire};
use crate::core::detail::{Detail, Own};
use crate::core::outcome::{Category, Outcome, Usage};
use crate::runtime::classify::last_known;
use crate::runtime::protocol::Happening;
use crate::runtime::text::{LINE_MAX, Tail, kept_word, one_line, raw_line};

impl Acp {
    /// Handles the agent's response to a prompt, which ends the turn: decides on the outcome, or starts another turn.
    pub(super) fn stopped(&mut self, answer: &wire::Answer<'_>, happened: &mut Vec<Happening>) {
        self.turns += 1;
        let quota = answer.meta.0.as_ref().and_then(|meta| meta.quota.0.as_ref());
        let tokens = answer.usage.0.as_ref().or_else(|| quota.and_then(|quota| quota.token_count.0.as_ref()));
        // The tokens of this turn, as far as the agent counts them (see `Quirks::counts_last_call`); a cancelled
        // turn may precede it.
        if let Some(tokens) = tokens.filter(|_| !self.counts_calls) {
            self.count(tokens);
        }
        if let Some(model) = quota.and_then(|quota| quota.model_usage.0.first()) {
            self.model = one_line(model.model.text_or_empty(), LINE_MAX);
        }
        self.progress(happened);
        if self.broken && self.quirks.fails_as_words {
            let said = std::mem::take(&mut self.words);
            self.failed(&Failure::said(&said), happened);
            return;
        }
        self.flush(happened);
        if self.result.is_some() {
            return;
        }
        if self.last_words.is_none()
            && let Some(plan) = self.plan.take()
        {
            self.words = plan;
            self.flush(happened);
        }
        if self.circles && !self.cancelled {
            return self.circled(happened);
        }
        let reason = answer.stop_reason.text_or_empty();
        // Some agents report a cancelled turn as a normal end. Whether the work is done is decided by the next turn.
        if self.telling.was_cut() && !self.cancelled && matches!(reason, "cancelled" | "end_turn") {
            return self.go_on(happened);
        }
        if self.goes_on_planning(happened) {
            return;
        }
        let cancelled = self.cancelled && self.quirks.cancelled_as_success;
        // The agent has received the prompt of this turn; messages that came too late for it wait for the next session.
        self.telling.arrived(happened);
        let nothing = quota.and_then(|quota| quota.token_count.0.as_ref()).is_some_and(|tokens| {
            (tokens.input_tokens.integer(), tokens.output_tokens.integer()) == (Some(0), Some(0))
        });
        let outcome = match reason {
            "end_turn" if nothing && self.quirks.uncounted_as_success && !self.cancelled => {
                Outcome::new(Category::Transient, Own::AnswerBrokenOff)
            }
            "end_turn" if !cancelled => match self.failed_in_words(tokens.is_some()) {
                Some(failed) if !self.cancelled => failed,
                Some(_) | None if self.proposes(happened) => return,
                Some(_) | None => {
                    Outcome { text: self.last_words.clone(), ..Outcome::new(Category::Success, "") }
                }
            },
            "end_turn" | "cancelled" => Outcome::new(Category::Transient, Own::TurnCancelled),
            "max_tokens" => Outcome::new(Category::Transient, Own::AnswerTooLong),
            "max_turn_requests" => Outcome::new(Category::MaxTurns, Own::AgentsTurnLimit),
            "refusal" => self.refusal(),
            other => Outcome::failed(None, Own::TurnEndedAs { status: kept_word(other, &self.redactor) }),
        };
        self.end(outcome, happened);
    }

    /// Adds the reported tokens of the turn or model call to the session's usage.
    pub(super) fn count(&mut self, tokens: &wire::Tokens<'_>) {
        let (input, output) = (tokens.input_tokens.count(), tokens.output_tokens.count());
        // For some agents the input excludes cached tokens; then the total shows it.
        let input = input.max(tokens.total_tokens.count().saturating_sub(output));
        self.turn = Usage {
            input_tokens: input,
            cached_tokens: tokens.cached_read_tokens.count(),
            output_tokens: output,
            ..Usage::default()
        };
        self.usage.add(self.turn);
    }

    /// Returns the failure of a turn that the agent reports as a normal end: it said and did nothing, or its answer is
    /// an error text. `counted`: it reports the number of tokens.
    fn failed_in_words(&self, counted: bool) -> Option<Outcome> {
        let Some(words) = self.last_words.as_deref().filter(|_| !self.acted) else {
            let idle = self.last_words.is_none() && !self.acted;
            return idle.then(|| Outcome::new(Category::Transient, Own::NothingSaid));
        };
        // A real answer uses tokens, and may mention errors.
        if self.usage.output_tokens > 0 {
            return None;
        }
        // Copilot CLI writes its retries and the final error into one message.
        let error =
            [self.last_piece.as_str(), words].into_iter().find(|said| classify::is_error(said, !counted));
        let outcome = outcome_of(&Failure::said(error?));
        (counted || !outcome.unknown).then_some(outcome)
    }

    /// Returns the outcome of a refused turn: the API error in its text if it contains one, otherwise a refusal by the
    /// model.
    fn refusal(&self) -> Outcome {
        let words = self.last_words.as_deref().unwrap_or_default();
        let known = Some(Failure::said(words)).filter(|_| classify::is_error(words, false));
        let known = known.map(|failure| outcome_of(&failure)).filter(|outcome| !outcome.unknown);
        known.unwrap_or_else(|| Outcome::new(Category::Permanent, Own::ModelRefused.with(raw_line(words))))
    }

    /// Replaces the outcome of a turn without any text by the reason on standard error, if there is one.
    pub(super) fn explained(&self, silent: Outcome, tail: &Tail) -> Outcome {
        last_known(tail, |line| Failure::said(line).category())
            .unwrap_or_else(|| Outcome { detail: Own::NothingSaid.with(tail.reason()), ..silent })
    }

    /// Detects a turn that loops: message after message without any action, because the model's stream ends early, or
    /// because the context window stays full after every compaction. If the cause is not known yet, the turn is
    /// cancelled, and its cost shows the cause.
    pub(super) fn look_for_circles(&mut self, happened: &mut Vec<Happening>) {
        let Some(most) = self.quirks.messages_in_a_row.filter(|_| self.result.is_none()) else { return };
        if self.summaries > 1 {
            self.give_up(Category::ContextOverflow, Own::ConversationFull, happened);
        } else if self.in_a_row > 2 * most {
            self.circled(happened);
        } else if self.in_a_row > most && !self.circles {
            self.circles = true;
            happened.extend(self.session.as_deref().map(cancel).map(Happening::Reply));
        }
    }

    /// Ends a turn that looped. Answers that cost money were complete, which means a full context window; the cost of
    /// earlier answers cannot be told apart.
    pub(super) fn circled(&mut self, happened: &mut Vec<Happening>) {
        if !self.acted && self.usage.cost_usd > 0.0 {
            self.give_up(Category::ContextOverflow, Own::ConversationFull, happened);
        } else {
            self.give_up(Category::Transient, Own::AnswerBrokenOff, happened);
        }
    }

    /// Starts the next turn after a cancelled one, with the messages that it was cancelled for.
    pub(super) fn go_on(&mut self, happened: &mut Vec<Happening>) {
        self.flush(happened);
        self.in_a_row = 0;
        let Some(session) = self.session.clone() else { return };
        let (text, pictures) = self.telling.prompt();
        let prompt = content::prompt(&text, pictures.iter().filter(|_| self.sees));
        let parameters = json!({ "sessionId": session, "prompt": prompt });
        happened.push(Happening::TurnCut);
        happened.push(Happening::Reply(self.requests.ask(Asked::Prompt, "session/prompt", &parameters)));
    }

    /// Ends the session with a failure. An unknown one counts as transient and is shown in full, so that a row can be
    /// added for it.
    pub(super) fn failed(&mut self, failure: &Failure, happened: &mut Vec<Happening>) {
        // Some agents also send the error as a message.
        if !self.words.trim().is_empty() && failure.text.contains(self.words.trim()) {
            self.words.clear();
        }
        self.flush(happened);
        let outcome = outcome_of(failure);
        self.end(outcome, happened);
    }

    pub(super) fn give_up(
        &mut self,
        category: Category,
        detail: impl Into<Detail>,
        happened: &mut Vec<Happening>,
    ) {
        self.end(Outcome::new(category, detail), happened);
    }

    fn end(&mut self, outcome: Outcome, happened: &mut Vec<Happening>) {
        self.result = Some(outcome);
        happened.push(Happening::TurnEnded);
    }
}

pub(super) fn outcome_of(failure: &Failure) -> Outcome {
    let known = failure.category();
    let detail = if known.is_none() { failure.whole() } else { failure.text.clone() };
    Outcome::failed(known, raw_line(&detail))
}
