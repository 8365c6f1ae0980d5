//! The page's history over its whole length, into archives.

use herder::core::role::Role;
use serde_json::json;

use super::{House, json as ask, settings};
use crate::stage::{Scene, inside, server, shell};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn history_goes_on_into_archives_and_says_where_it_ends() {
    let server = server().await;
    let options = inside(&server);
    let scene = Scene::open_configured(
        (server, options),
        "alice",
        &["#spark", "#herder"],
        |dir| vec![shell("spark", dir, "cat")],
        |config| {
            config.http = Some(settings());
            config.history.keep_events = 40;
        },
    )
    .await;
    let mut house = House::of(scene);
    let browser = house.log_in().await;
    let pause = json!({ "command": "pause", "agent": "spark" });
    assert_eq!(ask(house.command(Role::Operator, &pause)).await.0, 200);
    const TASKS: usize = 120;
    const QUERIES: [&str; 4] = ["", "agent=spark", "kind=audit", "text=floor"];
    for task in 1..=TASKS {
        let add = json!({ "command": "task add", "agent": "spark", "text": format!("sweep floor {task}.") });
        assert_eq!(ask(house.command(Role::Operator, &add)).await.0, 200);
        // A first page that is kept takes in what is new.
        if task % 45 == 0 {
            for query in QUERIES {
                assert_eq!(house.see(&browser, &format!("/history?{query}")).await.0, 200);
            }
        }
    }
    let journal = house.scene.stage.herder.fleet().journal().clone();
    let done = journal.maintain(herder::clock::now()).await.expect("maintains");
    assert!(done.archived > 100, "{done:?}");
    for query in QUERIES {
        let (mut path, mut seen, mut pages) = (format!("/history?{query}"), Vec::new(), 0);
        loop {
            let (status, page) = house.see(&browser, &path).await;
            assert_eq!(status, 200, "{path}");
            let events = page.split("<ul class=\"events\">").nth(1).expect("a list");
            let (events, end) = events.split_once("</ul>").expect("its end");
            let items: Vec<&str> = events.split("<li ").skip(1).collect();
            assert!(items.len() <= 100, "{path}");
            let floors = items.iter().filter_map(|item| {
                let number = item.split("sweep floor ").nth(1)?.split('.').next()?;
                number.parse::<usize>().ok()
            });
            seen.extend(floors);
            pages += 1;
            let Some(older) = end.split("href=\"/history?").nth(1).filter(|_| end.contains("before=")) else {
                assert!(end.contains("This is the beginning: nothing older is kept."), "{end}");
                break;
            };
            assert!(end.contains("Read back to "), "{end}");
            path = format!("/history?{}", older.split('"').next().expect("an address").replace("&amp;", "&"));
        }
        seen.dedup();
        assert_eq!(seen, (1..=TASKS).rev().collect::<Vec<_>>(), "{query}");
        assert!((2..=6).contains(&pages), "{query}: {pages}");
    }
    // A day is an end as well.
    let (_, page) = house.see(&browser, "/history?from=2999-01-01").await;
    assert!(
        page.contains("Nothing was found.") && page.contains("That is everything since that day."),
        "{page}"
    );
    house.close().await;
}
