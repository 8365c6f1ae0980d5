//! What tests do to a herder from within: ask its fleet without a network, hold it up, wait for what it notes.

use std::sync::{Mutex, mpsc};
use std::time::Duration;

use herder::core::id::NetworkName;
use herder::core::input::{Control, Input};
use herder::core::work::Actor;
use herder::journal::{AuditEntry, Journal};
use herder::supervisor::{Asked, FaultInjection};

use crate::stage::PATIENCE;

/// Somebody asks, from nowhere that could be answered.
pub(crate) fn asked() -> Asked {
    let by = Actor { network: NetworkName::from("test"), name: "alice".to_owned(), identity: None };
    let (place, verb) = ("test".to_owned(), "test".to_owned());
    Asked {
        audit: AuditEntry { by, place, agent: None, verb, text: String::new() },
        answer: None,
        message: None,
    }
}

/// Whoever is given work decides that only when it is let on, or this is dropped.
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
            // The journal tells nobody what is noted; nothing else is waited for here.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let noted = tokio::time::timeout(PATIENCE, looks).await;
    noted.unwrap_or_else(|_| panic!("waited for notes under {prefix}: {:?}", journal.memos(prefix)));
}
