//! Forms that are refused, before they are opened and after they were filled in.

use serde_json::json;

use super::{Rig, manager, plain};

/// Returns the label and the value of a form's field.
fn field<'a>(modal: &'a crate::simulated_discord::asked::Modal, name: &str) -> (&'a str, &'a str) {
    let field = modal.fields.iter().find(|field| field.custom_id == name);
    let field = field.unwrap_or_else(|| panic!("no field {name}: {modal:?}"));
    (&field.label, &field.value)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_with_mistakes_is_opened_again_as_it_was_with_each_mistake_at_its_field() {
    let mut rig = Rig::open().await;
    let (alice, anna) = (manager(&rig.sim, "alice"), manager(&rig.sim, "anna"));
    let asked = alice.slash("general", "agent add", json!({ "name": "owl", "runtime": "command" }));
    let wrong = [
        ("workspace", "/nowhere/at/all"),
        ("model", "fine"),
        ("instructions", "be kind\nand quick"),
        ("settings", "rest=soon max_turns=7"),
    ];
    let refused = alice.submits_modal(&asked, &wrong).await.answer().await;
    assert!(refused.is_ephemeral());
    for line in ["workspace: no such folder", "rest: write it like", "command: an agent of runtime command"] {
        assert!(refused.content.contains(line), "{line}: {}", refused.content);
    }
    let again = alice.clicks(refused.id, &refused.button("Correct it").custom_id);
    let modal = again.modal().await;
    assert_eq!(modal.title, "New agent owl");
    assert_eq!(
        field(&modal, "workspace"),
        ("⚠ workspace: no such folder on this machine;…", "/nowhere/at/all")
    );
    assert_eq!(field(&modal, "model"), ("Model", "fine"));
    let (label, value) = field(&modal, "command");
    assert!(label.starts_with("⚠ command: an agent of runtime command") && value.is_empty(), "{modal:?}");
    assert_eq!(field(&modal, "instructions"), ("Standing instructions", "be kind\nand quick"));
    assert_eq!(field(&modal, "settings"), ("⚠ rest: write it like rest=90s", "rest=soon max_turns=7"));

    // The rest of what was typed goes along; nobody else has it.
    let folder = rig.dir.path().display().to_string();
    let mended =
        [("workspace", folder.as_str()), ("command", "sh -c 'sleep 600'"), ("settings", "max_turns=7")];
    let added = alice.submits_modal(&again, &mended).await.answer().await;
    assert!(plain(&added).contains("owl is here, running command"), "{}", added.content);
    let view = rig.until("owl", |view| view.agent.spec.is_some()).await;
    let spec = view.agent.spec.as_ref().expect("it has one");
    assert_eq!((spec.model.as_str(), spec.instructions.as_str()), ("fine", "be kind\nand quick"));
    assert_eq!(spec.max_turns, 7);

    // An edit keeps what the form was opened with: what was not touched is not meant.
    let asked = alice.slash("general", "agent edit", json!({ "agent": "owl" }));
    let refused = alice.submits_modal(&asked, &[("settings", "rest='1m")]).await.answer().await;
    let again = alice.clicks(refused.id, &refused.button("Correct it").custom_id);
    let modal = again.modal().await;
    assert_eq!(field(&modal, "instructions").1, "be kind\nand quick");
    assert!(field(&modal, "settings").0.starts_with("⚠"), "{modal:?}");
    let edit = json!({ "agent": "owl", "settings": "model=other" });
    anna.slash("general", "agent edit", edit).answer().await;
    let changed = alice.submits_modal(&again, &[("settings", "rest=1m")]).await.answer().await;
    assert!(plain(&changed).contains("changed"), "{}", changed.content);
    let view =
        rig.until("owl", |view| view.agent.spec.as_ref().is_some_and(|spec| spec.rest.as_secs() == 60));
    assert_eq!(view.await.agent.spec.as_ref().map(|spec| spec.model.clone()), Some("other".to_owned()));

    // After a restart it is said that nothing is left of it.
    let asked = alice.slash("general", "agent edit", json!({ "agent": "owl" }));
    let refused = alice.submits_modal(&asked, &[("settings", "rest=soon")]).await.answer().await;
    let sessions = rig.sim.gateway().identifies();
    rig.stop().await;
    rig.start().await;
    rig.sim.gateway().identified(sessions + 1).await;
    let gone = alice.clicks(refused.id, &refused.button("Correct it").custom_id).answer().await;
    assert!(
        gone.is_ephemeral() && gone.content.starts_with("What you typed is not kept"),
        "{}",
        gone.content
    );
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_no_agent_can_have_is_refused_before_a_form_is_filled_in() {
    let mut rig = Rig::open().await;
    let alice = manager(&rig.sim, "alice");
    let long = "a".repeat(31);
    for (name, reason) in [
        ("Bad Name!", "“Bad Name!” cannot name an agent: use small letters"),
        (long.as_str(), "cannot name an agent: use small letters, digits and hyphens inside"),
        ("pause", "“pause” cannot name an agent: herder uses that word itself."),
        ("alerts", "“alerts” cannot name an agent: herder uses that word itself."),
        ("spark", "There is already an agent spark"),
    ] {
        let asked = alice.slash("general", "agent add", json!({ "name": name, "runtime": "codex" }));
        let told = asked.answer().await;
        assert!(told.is_ephemeral() && plain(&told).contains(reason), "{name}: {}", told.content);
    }
    rig.stop().await;
}
