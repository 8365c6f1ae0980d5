//! The API holds what its OpenAPI document says: asked by schemathesis, and looked at with the document's own schemas.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use herder::core::role::Role;
use serde_json::{Value, json};

use super::{House, json as ask, secret};

/// Runs schemathesis against a herder with these options, in a folder of its own.
async fn run(house: &House, dir: &Path, options: &[&str]) -> Output {
    let program = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/test-tools/schemathesis/bin/st");
    assert!(program.exists(), "no {}; run scripts/test, which installs it", program.display());
    let mut command = Command::new(program);
    command
        .args(["run", &format!("{}/api/v1/openapi.json", house.url)])
        .args(["--header", &format!("Authorization: Bearer {}", secret(Role::Admin))])
        // A stream does not end by itself.
        .args(["--header", "Accept: application/json"])
        .args([
            "--seed",
            "1",
            "--request-timeout",
            "60",
            "--suppress-health-check",
            "all",
            "--continue-on-failure",
        ])
        .args(options)
        .current_dir(dir)
        .env("NO_COLOR", "1");
    tokio::task::spawn_blocking(move || command.output().expect("schemathesis runs")).await.expect("it ends")
}

fn assert_well(output: &Output) {
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schemathesis_finds_no_answer_that_is_not_described() {
    let house = House::open("cat").await;
    for (command, text) in [("pause", None), ("task add", Some("sweep")), ("whisper", Some("mind the step"))]
    {
        let body = json!({ "command": command, "agent": "spark", "text": text });
        assert_eq!(ask(house.command(Role::Admin, &body)).await.0, 200);
    }
    let dir = tempfile::tempdir().expect("a folder");
    // A key that was used for another command is refused, though nothing is wrong with the request itself.
    let statuses =
        r#"positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422"]"#;
    std::fs::write(dir.path().join("schemathesis.toml"), format!("[checks]\n{statuses}\n")).expect("written");
    let checks = ["--checks", "all", "--exclude-checks", "ignored_auth"];
    assert_well(&run(&house, dir.path(), &[&checks[..], &["--max-examples", "12"]].concat()).await);
    // Twenty wrong tokens in a minute close the door: that one alone, and few of them.
    let auth = [
        "--checks",
        "ignored_auth",
        "--phases",
        "examples,fuzzing",
        "--max-examples",
        "1",
        "--mode",
        "positive",
    ];
    assert_well(&run(&house, dir.path(), &auth).await);
    house.close().await;
}

/// A schema of the document by its address, with all others beside it.
pub(super) fn schema(document: &Value, of: &Value) -> jsonschema::Validator {
    let mut schema = of.clone();
    schema["components"] = document["components"].clone();
    jsonschema::draft202012::new(&schema).expect("a schema")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn real_answers_are_as_the_document_says() {
    let mut house = House::open("read -r line; echo \"did $line\"; exit 3").await;
    let add = json!({ "command": "task add", "agent": "spark", "text": "sweep the floor" });
    assert_eq!(ask(house.command(Role::Admin, &add)).await.0, 200);
    house.scene.person.hears_in_any_order("#spark", "crashed").await;
    let (status, document) = ask(house.get("/api/v1/openapi.json")).await;
    assert_eq!((status, document["openapi"].as_str()), (200, Some("3.1.0")));
    let mut looked_at = 0;
    for (path, item) in document["paths"].as_object().expect("paths") {
        let Some(answers) = item["get"]["responses"].as_object() else { continue };
        assert!(item["get"]["operationId"].is_string() && item["get"]["summary"].is_string(), "{path}");
        for (status, answer) in answers {
            let headers = answer["headers"].as_object().expect("headers");
            assert!(headers.contains_key("X-Content-Type-Options"), "{path} {status}");
            assert!(answer["description"].as_str().is_some_and(|about| !about.is_empty()), "{path} {status}");
        }
        let (_, tasks) = ask(house.by(Role::Admin, "/tasks")).await;
        let task = tasks["items"][0]["work"]["id"].as_u64().expect("a task");
        let asked = path.replace("{name}", "spark").replace("{id}", &task.to_string());
        let (status, found) = ask(house.by(Role::Admin, &asked)).await;
        let status = status.to_string();
        let schema = schema(&document, &answers[&status]["content"]["application/json"]["schema"]);
        let wrong: Vec<String> =
            schema.iter_errors(&found).map(|error| format!("{error} at {}", error.instance_path())).collect();
        assert!(wrong.is_empty(), "{path}: {wrong:?}\n{found}");
        looked_at += 1;
    }
    assert!(looked_at >= 13, "{looked_at} routes");
    for (request, status) in [
        (house.by(Role::Admin, "/agents/nobody"), "404"),
        (house.by(Role::Admin, "/tasks?limit=0"), "400"),
        (house.get("/api/v1/agents"), "401"),
        (house.by(Role::Viewer, "/audit"), "403"),
    ] {
        let (found, problem) = ask(request).await;
        assert_eq!(found.to_string(), status);
        let schema = schema(&document, &document["components"]["schemas"]["Problem"]);
        assert!(schema.is_valid(&problem), "{problem}");
    }
    house.close().await;
}
