//! Discord's published contract: its routes, and the requests that they allow.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::{Value, json};

use super::refusal::Problem;

/// Cut from the published document by `trim_openapi.py`, which stands beside this file.
const DOCUMENT: &str = include_str!("../../fixtures/discord-openapi.json");

#[derive(Debug)]
pub(crate) struct Contract {
    document: Value,
    /// A schema is compiled when it is first needed: a test uses few.
    compiled: Mutex<HashMap<String, Arc<Validator>>>,
}

/// The route of a path, with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) route: String,
    pub(crate) parameters: BTreeMap<String, String>,
}

impl Contract {
    pub(crate) fn load() -> Self {
        let document = serde_json::from_str(DOCUMENT).expect("the fixture is JSON");
        Self { document, compiled: Mutex::default() }
    }

    /// Returns the route of a path below `/api/v10`; of several the one with most words of its own.
    pub(crate) fn route(&self, method: &str, path: &str) -> Option<Match> {
        let parts: Vec<&str> = path.split('/').collect();
        let paths = self.document["paths"].as_object()?;
        let mut best: Option<(usize, Match)> = None;
        for (route, item) in paths {
            if item.get(method.to_lowercase()).is_none() {
                continue;
            }
            let Some((own, found)) = fits(route, &parts) else { continue };
            if best.as_ref().is_none_or(|(most, _)| own > *most) {
                best = Some((own, found));
            }
        }
        best.map(|(_, found)| found)
    }

    fn operation(&self, method: &str, route: &str) -> &Value {
        &self.document["paths"][route][method.to_lowercase()]
    }

    /// Returns the violations of the contract in a body.
    pub(crate) fn body_problems(&self, method: &str, route: &str, body: &Value) -> Vec<Problem> {
        let Some(schema) = self.body_schema(method, route, body) else { return Vec::new() };
        let validator = self.validator(&schema);
        let mut problems: Vec<Problem> =
            validator.iter_errors(body).flat_map(|error| leaves(&error)).collect();
        problems.dedup();
        problems
    }

    /// Fields that the contract does not know: most likely misspelt.
    pub(crate) fn unknown_fields(&self, method: &str, route: &str, body: &Value) -> Vec<String> {
        let Some(schema) = self.body_schema(method, route, body) else { return Vec::new() };
        let mut unknown = Vec::new();
        self.walk(&[&schema], body, "", &mut unknown);
        unknown
    }

    /// Returns the violations of the contract in the parameters of path and query.
    pub(crate) fn parameter_problems(
        &self,
        method: &str,
        route: &str,
        path: &BTreeMap<String, String>,
        query: &BTreeMap<String, String>,
    ) -> Vec<Problem> {
        let shared = self.document["paths"][route]["parameters"].as_array().into_iter().flatten();
        let own = self.operation(method, route)["parameters"].as_array().into_iter().flatten();
        let known: Vec<&Value> = shared.chain(own).collect();
        let given =
            path.iter().map(|(k, v)| ("path", k, v)).chain(query.iter().map(|(k, v)| ("query", k, v)));
        let mut problems = Vec::new();
        for (place, name, value) in given {
            let Some(parameter) = known.iter().find(|known| known["in"] == place && known["name"] == *name)
            else {
                problems.push(Problem::new(name, "is no parameter of this route"));
                continue;
            };
            let schema = &parameter["schema"];
            let value = match schema["type"].as_str() {
                Some("integer" | "boolean") => serde_json::from_str(value).unwrap_or(Value::Null),
                _ => Value::String(value.clone()),
            };
            let validator = self.validator(schema);
            problems.extend(validator.iter_errors(&value).map(|error| Problem::new(name, error.to_string())));
        }
        problems
    }

    /// Returns the schema of a body. Where the document offers several that hardly exclude anything, the one that is
    /// meant.
    fn body_schema(&self, method: &str, route: &str, body: &Value) -> Option<Value> {
        let named = |name: &str| Some(json!({ "$ref": format!("#/components/schemas/{name}") }));
        match (method, route) {
            ("PATCH", "/channels/{channel_id}") => named("UpdateGuildChannelRequestPartial"),
            ("POST", "/webhooks/{webhook_id}/{webhook_token}") => named("IncomingWebhookRequestPartial"),
            ("POST", "/interactions/{interaction_id}/{interaction_token}/callback") => {
                match body["type"].as_u64() {
                    Some(4 | 5) => named("CreateMessageInteractionCallbackRequest"),
                    Some(6 | 7) => named("UpdateMessageInteractionCallbackRequest"),
                    Some(8) => named("ApplicationCommandAutocompleteCallbackRequest"),
                    Some(9) => named("ModalInteractionCallbackRequest"),
                    _ => self.operation(method, route)["body"].get("schema").cloned(),
                }
            }
            _ => self.operation(method, route)["body"].get("schema").cloned(),
        }
    }

    fn validator(&self, schema: &Value) -> Arc<Validator> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let build = || {
            let mut whole = schema.clone();
            whole["components"] = self.document["components"].clone();
            Arc::new(jsonschema::draft202012::new(&whole).expect("the published schemas are schemas"))
        };
        Arc::clone(compiled.entry(schema.to_string()).or_insert_with(build))
    }

    fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let reference = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        reference.and_then(|pointer| self.document.pointer(pointer)).unwrap_or(schema)
    }

    /// Collects every branch of a schema, flat: enough to know which fields exist at all.
    fn branches<'a>(&'a self, schema: &'a Value, found: &mut Vec<&'a Value>) {
        let schema = self.resolve(schema);
        found.push(schema);
        for several in ["oneOf", "anyOf", "allOf"] {
            for branch in schema[several].as_array().into_iter().flatten() {
                self.branches(branch, found);
            }
        }
    }

    fn walk(&self, schemas: &[&Value], value: &Value, at: &str, unknown: &mut Vec<String>) {
        let mut branches = Vec::new();
        for schema in schemas {
            self.branches(schema, &mut branches);
        }
        match value {
            Value::Object(fields) => {
                if branches.iter().all(|branch| branch.get("properties").is_none()) {
                    return;
                }
                let names: BTreeSet<&String> = branches
                    .iter()
                    .filter_map(|branch| branch["properties"].as_object())
                    .flat_map(|p| p.keys())
                    .collect();
                for (name, field) in fields {
                    let at = format!("{at}/{name}");
                    if names.contains(name) {
                        let inner: Vec<&Value> =
                            branches.iter().filter_map(|branch| branch["properties"].get(name)).collect();
                        self.walk(&inner, field, &at, unknown);
                    } else {
                        unknown.push(at);
                    }
                }
            }
            Value::Array(items) => {
                let inner: Vec<&Value> = branches.iter().filter_map(|branch| branch.get("items")).collect();
                for (index, item) in items.iter().enumerate() {
                    self.walk(&inner, item, &format!("{at}/{index}"), unknown);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// Returns the parameters, if a path has the form of a route, and how many parts are the route's own words.
fn fits(route: &str, parts: &[&str]) -> Option<(usize, Match)> {
    let wanted: Vec<&str> = route.split('/').collect();
    if wanted.len() != parts.len() {
        return None;
    }
    let (mut own, mut parameters) = (0, BTreeMap::new());
    for (wanted, part) in wanted.iter().zip(parts) {
        match wanted.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) => {
                let decoded = percent_decoded(part);
                // `@me` is never an id: a route of its own has to exist for it.
                if decoded.starts_with('@') && name.ends_with("_id") {
                    return None;
                }
                parameters.insert(name.to_owned(), decoded);
            }
            None if wanted == part => own += 1,
            None => return None,
        }
    }
    Some((own, Match { route: route.to_owned(), parameters }))
}

pub(crate) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the problems that lie under one: of several schemas that do not fit, those of the one that was most likely
/// meant.
fn leaves(error: &ValidationError<'_>) -> Vec<Problem> {
    let (ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }) =
        error.kind()
    else {
        return vec![Problem::new(error.instance_path().to_string(), error.to_string())];
    };
    let here = error.instance_path().to_string();
    let is_other_kind = |branch: &&Vec<ValidationError<'_>>| {
        branch.iter().any(|error| {
            let at = error.instance_path().to_string();
            at == format!("{here}/type") || (at == here && error.kind().keyword() == "type")
        })
    };
    let meant = context.iter().filter(|branch| !is_other_kind(branch)).min_by_key(|branch| branch.len());
    match meant.or_else(|| context.iter().max_by_key(|branch| branch.len())) {
        Some(branch) => branch.iter().flat_map(leaves).collect(),
        None => vec![Problem::new(here, error.to_string())],
    }
}
