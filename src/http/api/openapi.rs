//! The OpenAPI document, made from the table of routes ([`super::routes::ROUTES`]): a route that is not described is none.

use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{OperationBuilder, Parameter, ParameterBuilder, ParameterIn, ParameterStyle};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{ArrayBuilder, ComponentsBuilder, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    ContentBuilder, HttpMethod, InfoBuilder, OpenApi, OpenApiBuilder, PathItem, PathsBuilder, Ref, RefOr,
    Required, ServerBuilder,
};

use super::routes::{Answer, KEY_PATTERN, Param, ROUTES, Route};
use super::{LIMIT, shapes};
use crate::core::id::AGENT_NAME_MAX;
use crate::journal::encoding;

/// The largest number that every reader of JSON keeps whole.
const WHOLE_MAX: usize = (1 << 53) - 1;

/// Problems that any request can end with.
const COMMON: [(u16, &str); 9] = [
    (400, "the request cannot be read; `detail` says where"),
    (401, "no token, or one that is not known"),
    (403, "the role does not suffice, or the request came from another site's page"),
    (404, "there is no such agent, task or path"),
    (405, "the path is asked by another method"),
    (408, "the request took longer than 30 s"),
    (421, "herder is not called so"),
    (429, "too many wrong tokens"),
    (503, "too many connections or streams, or the journal cannot be read"),
];

/// Problems of requests that change something.
const OF_COMMANDS: [(u16, &str); 4] = [
    (409, "refused as things are, as in chat; or the first command with this key is still being carried out"),
    (413, "the body is longer than 64 KiB"),
    (415, "the body is not JSON"),
    (422, "the key was used for another command"),
];

/// Builds the document.
pub(super) fn document() -> OpenApi {
    let mut paths = PathsBuilder::new();
    for route in ROUTES {
        paths = paths.path(route.path, PathItem::new(method(route), operation(route)));
    }
    let mut components = ComponentsBuilder::new().security_scheme(
        "token",
        SecurityScheme::Http({
            let mut token = Http::new(HttpAuthScheme::Bearer);
            token.description = Some("the secret of a `[[http.token]]`; or the page's cookie".to_owned());
            token
        }),
    );
    for (name, schema) in shapes::all() {
        components = components.schema(name, schema);
    }
    let info = InfoBuilder::new().title("herder").version(env!("CARGO_PKG_VERSION")).description(Some(
        "What `herder … --json` prints, and the commands of chat. Times are milliseconds since 1970, in UTC.",
    ));
    OpenApiBuilder::new()
        .info(info.build())
        .servers(Some([ServerBuilder::new().url("/api/v1").build()]))
        .paths(paths.build())
        .components(Some(components.build()))
        .security(Some([SecurityRequirement::new("token", [] as [&str; 0])]))
        .build()
}

fn method(route: &Route) -> HttpMethod {
    if matches!(route.answer, Answer::Done) { HttpMethod::Post } else { HttpMethod::Get }
}

fn operation(route: &Route) -> utoipa::openapi::path::Operation {
    let mut operation = OperationBuilder::new()
        .operation_id(Some(route.id))
        .summary(Some(route.about))
        .parameters(Some(route.params.iter().map(|param| parameter(*param))));
    operation = operation.response("200", answer(route));
    let mut problems = COMMON.to_vec();
    match route.answer {
        Answer::Done => {
            problems.extend(OF_COMMANDS);
            problems.push((500, "herder failed over the command; its log has the cause"));
            let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Command"))).build();
            let body =
                RequestBodyBuilder::new().content("application/json", content).required(Some(Required::True));
            operation = operation.request_body(Some(body.build()));
        }
        Answer::Events => {
            problems.push((409, "the journal ends before `after`: it is another one, or was restored"))
        }
        Answer::Document => problems.retain(|(status, _)| ![401, 403, 404, 429].contains(status)),
        Answer::One(_) | Answer::List(_) => {}
    }
    if matches!(route.answer, Answer::Document) {
        operation = operation.securities(Some([SecurityRequirement::default()]));
    }
    problems.sort_unstable();
    for (status, about) in problems {
        operation = operation.response(status.to_string(), problem(status, about));
    }
    operation.build()
}

/// The answer of a route that has one.
fn answer(route: &Route) -> Response {
    let json = |schema: RefOr<Schema>| ContentBuilder::new().schema(Some(schema)).build();
    let named = |name: &str| RefOr::Ref(Ref::from_schema_name(name));
    let response = with_headers(ResponseBuilder::new());
    let response = match route.answer {
        Answer::One(name) => response.description("as it is now").content("application/json", json(named(name))),
        Answer::List(name) => response
            .description("a page of the list")
            .content("application/json", json(shapes::list(named(name)))),
        Answer::Document => {
            response.description("this document").content("application/json", json(shapes::anything("OpenAPI 3.1")))
        }
        Answer::Done => response
            .description("it was done")
            .header(
                "Idempotency-Replayed",
                HeaderBuilder::new()
                    .schema(Some(shapes::text()))
                    .description(Some("`true`: this is the answer to the first command with this key"))
                    .build(),
            )
            .content("application/json", json(named("Done"))),
        Answer::Events => response
            .description("a page; or with `Accept: text/event-stream` a stream whose `id` is the number of the event and whose `data` is one of the items")
            .content("application/json", json(named("Events")))
            .content("text/event-stream", json(shapes::text().into())),
    };
    response.build()
}

/// Adds the headers that every answer carries.
fn with_headers(response: ResponseBuilder) -> ResponseBuilder {
    let header = |about: &str| {
        HeaderBuilder::new().schema(Some(shapes::text())).description(Some(about.to_owned())).build()
    };
    [
        ("Cache-Control", "`no-store`"),
        ("Content-Security-Policy", "nothing but herder's own files"),
        ("X-Content-Type-Options", "`nosniff`"),
        ("X-Frame-Options", "`DENY`"),
        ("Referrer-Policy", "`no-referrer`"),
    ]
    .into_iter()
    .fold(response, |response, (name, about)| response.header(name, header(about)))
}

fn problem(status: u16, about: &str) -> Response {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    let mut response = with_headers(ResponseBuilder::new()).description(about);
    let header = |schema: ObjectBuilder, about: &str| {
        HeaderBuilder::new().schema(Some(schema)).description(Some(about.to_owned())).build()
    };
    let whole = || ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0));
    let string = || ObjectBuilder::new().schema_type(Type::String);
    match status {
        401 => response = response.header("WWW-Authenticate", header(string(), "`Bearer`")),
        405 => response = response.header("Allow", header(string(), "the methods that there are")),
        409 | 429 | 503 => {
            response = response
                .header("Retry-After", header(whole(), "seconds after which it is worth trying again"));
        }
        _ => {}
    }
    response.content("application/problem+json", content).build()
}

fn parameter(param: Param) -> Parameter {
    let whole = |least: usize, most: usize| {
        ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(least)).maximum(Some(most))
    };
    let text = |pattern: String| ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern));
    let name = || text(format!("^[a-z]([a-z0-9-]{{0,{}}}[a-z0-9])?$", AGENT_NAME_MAX - 2));
    let (at, key, about) = match param {
        Param::Name => (ParameterIn::Path, "name", "an agent"),
        Param::Id => (ParameterIn::Path, "id", "a task"),
        Param::Limit => (ParameterIn::Query, "limit", "items of a page"),
        Param::Next => (ParameterIn::Query, "next", "`next` of the page before"),
        Param::NextEvent => {
            (ParameterIn::Query, "next", "`next` of the page before; it counts for more than `after`")
        }
        Param::Agent => (ParameterIn::Query, "agent", "of this agent alone"),
        Param::Agents => (ParameterIn::Query, "agent", "of these agents alone"),
        Param::Kinds => (ParameterIn::Query, "kind", "of these kinds alone"),
        Param::After => (ParameterIn::Query, "after", "only events behind this number"),
        Param::LastEventId => (
            ParameterIn::Header,
            "Last-Event-ID",
            "where a stream broke off; it counts for more than `after`",
        ),
        Param::Key => (
            ParameterIn::Header,
            "Idempotency-Key",
            "a repeat with the same key within 24 h is answered as the first one was, and not carried out",
        ),
    };
    let list = |items: ObjectBuilder| -> RefOr<Schema> {
        ArrayBuilder::new().items(items).min_items(Some(1)).max_items(Some(100)).into()
    };
    let schema: RefOr<Schema> = match param {
        Param::Name | Param::Agent => name().into(),
        Param::Id => whole(0, WHOLE_MAX).into(),
        Param::Limit => whole(1, LIMIT.1).default(Some(LIMIT.0.into())).into(),
        Param::Next => text("^n[0-9]{1,4}$".to_owned()).into(),
        Param::NextEvent => text("^n[0-9]{1,15}$".to_owned()).into(),
        Param::Agents => list(name()),
        Param::Kinds => {
            list(ObjectBuilder::new().schema_type(Type::String).enum_values(Some(encoding::kinds())))
        }
        Param::After => whole(0, WHOLE_MAX).into(),
        Param::LastEventId => text("^[0-9]{1,15}$".to_owned()).into(),
        Param::Key => text(KEY_PATTERN.to_owned()).into(),
    };
    let mut parameter = ParameterBuilder::new()
        .name(key)
        .parameter_in(at.clone())
        .description(Some(about))
        .schema(Some(schema));
    if matches!(param, Param::Agents | Param::Kinds) {
        parameter = parameter.style(Some(ParameterStyle::Form)).explode(Some(false));
    }
    let required = if matches!(at, ParameterIn::Path) { Required::True } else { Required::False };
    parameter.required(required).build()
}

/// The type of a value that may be missing.
pub(super) fn or_null(kind: Type) -> SchemaType {
    SchemaType::from_iter([kind, Type::Null])
}
