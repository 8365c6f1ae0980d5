//! Access to a herder from within: tests ask its fleet without a network, hold it up, and wait for its records.

use std::sync::{Mutex, mpsc};
use std::time::Duration;

use herder::core::id::NetworkName;
use herder::core::input::{Control, Input};
use herder::core::work::Actor;
use herder::journal::{AuditEntry, Journal};
use herder::supervisor::{Asked, FaultInjection};

use crate::stage::PATIENCE;

/// Returns a command from a person who cannot be answered.
pub(crate) fn asked() -> Asked {
    let by = Actor { network: NetworkName::from("test"), name: "alice".to_owned(), identity: None };
    let (place, verb) = ("test".to_owned(), "test".to_owned());
    Asked {
        audit: AuditEntry { by, place, agent: None, verb, text: String::new() },
        answer: None,
        message: None,
    }
}

/// Returns a fault that holds an agent's decision on new work until it is released or the sender is dropped.
pub(crate) fn giving_is_held() -> (mpsc::Sender<()>, FaultInjection) {
    let (release, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let fault = FaultInjection::new(move |_, input| {
        if matches!(input, Input::Control { control: Control::Give { .. }, .. }) {
            held.lock().expect("it is there").recv().ok();
        }
    });
    (release, fault)
}

/// Waits until what is noted under keys that begin with `prefix` is so.
pub(crate) async fn until_noted(
    journal: &Journal,
    prefix: &str,
    holds: impl Fn(Vec<(String, String)>) -> bool,
) {
    let looks = async {
        while !holds(journal.memos(prefix).expect("it can be read")) {
            // The journal does not announce memos; nothing else is waited for here.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let noted = tokio::time::timeout(PATIENCE, looks).await;
    noted.unwrap_or_else(|_| panic!("waited for notes under {prefix}: {:?}", journal.memos(prefix)));
}
