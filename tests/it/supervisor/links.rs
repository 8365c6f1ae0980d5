//! The root's reaction to the link states of networks.

use herder::core::link::{LinkReport, LinkState};

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn that_services_refuse_the_password_is_an_alert_once_until_they_take_one() {
    let dir = tempfile::tempdir().unwrap();
    let house = House::open(dir.path(), Vec::new(), FaultInjection::default()).await;
    let report = |network: &str, state| {
        house.fleet.report_link(LinkReport { network: NetworkName::from(network), state });
    };
    let up = |said: Option<&str>| LinkState::Up {
        since: herder::clock::now(),
        unidentified: said.map(Into::into),
    };
    let alerts = || {
        let owed = house.owed("test").into_iter().filter(|(to, _)| *to == Target::Alerts);
        owed.map(|(_, body)| body).collect::<Vec<_>>()
    };
    let refused = |said: &str| {
        let network = NetworkName::from("libera");
        Body::Notice(Notice::NickservRefused { network, reason: said.into() })
    };
    let barrier = |network: &str| {
        Body::Notice(Notice::NetworkRefused { network: NetworkName::from(network), reason: "banned".into() })
    };
    for said in [Some("Password incorrect."), Some("Invalid password."), None, Some("Password incorrect.")] {
        report("libera", up(said));
    }
    report("oftc", LinkState::Refused { reason: "banned".into() });
    let told = async {
        while !alerts().contains(&barrier("oftc")) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, told).await.expect("it is told");
    let told = refused("Password incorrect.");
    assert_eq!(alerts(), [told.clone(), told, barrier("oftc")]);
    house.close().await;
}
