//! Checks the statements of a script, in the order in which a shell runs them.

use tree_sitter::Node;

use super::expand::{Source, children};
use super::names::ARGUMENTS;
use super::programs::assignment;
use super::texts::sql;
use super::words::{ARGUMENT, DOCUMENT, HOLE, PLACE, Word};
use super::{Asked, Function, PIPE, Reader, UNREADABLE};

/// Maximum depth of syntax nodes in a script; a deeper one is asked about.
const NESTING_MAX: usize = 150;

/// The pipes and redirections around a command.
#[derive(Debug, Clone, Default)]
pub(super) struct Around {
    /// True if the command's standard input is another command's output.
    pub(super) piped: bool,
    /// Text that the command reads from standard input through a here-document or a file; `None` if there is none or it
    /// is unknown.
    pub(super) given: Option<String>,
    /// The file that the command's output goes to, and nowhere else.
    pub(super) written: Option<String>,
    /// True if another command reads the command's output.
    pub(super) feeds: bool,
}

/// The syntax nodes of a simple command, by their role.
#[derive(Default)]
struct Parts<'t> {
    words: Vec<Node<'t>>,
    assignments: Vec<Node<'t>>,
    redirects: Vec<Node<'t>>,
    rest: Vec<Node<'t>>,
}

impl<'t> Parts<'t> {
    fn of(node: Node<'t>) -> Self {
        let mut parts = Self::default();
        parts.add(node);
        parts
    }

    fn add(&mut self, node: Node<'t>) {
        for child in children(node) {
            match child.kind() {
                "variable_assignment" => self.assignments.push(child),
                "file_redirect" => {
                    self.redirects.push(child);
                    // The grammar takes arguments after a redirection for further files.
                    let files = children(child)
                        .into_iter()
                        .filter(|it| it.is_named() && it.kind() != "file_descriptor");
                    self.words.extend(files.skip(1));
                }
                "subshell" | "comment" => self.rest.push(child),
                "ERROR" => self.add(child),
                _ => self.words.push(child),
            }
        }
    }
}

/// Returns the words of a command without assignments and redirections.
pub(super) fn words_of(node: Node<'_>) -> Vec<Node<'_>> {
    Parts::of(node).words
}

impl Reader {
    fn statements(&mut self, source: Source<'_>, node: Node<'_>, around: &Around) -> Asked {
        for child in children(node) {
            if child.is_named() {
                self.statement(source, child, around)?;
            }
        }
        Ok(())
    }

    pub(super) fn statement(&mut self, source: Source<'_>, node: Node<'_>, around: &Around) -> Asked {
        self.step(1)?;
        if self.nesting >= NESTING_MAX {
            return Err(UNREADABLE);
        }
        self.nesting += 1;
        let read = self.read(source, node, around);
        self.nesting -= 1;
        read
    }

    fn read(&mut self, source: Source<'_>, node: Node<'_>, around: &Around) -> Asked {
        match node.kind() {
            "list" => {
                // The tree of a chain of lists leans to the left.
                let (mut left, mut chain) = (node, Vec::new());
                while left.kind() == "list" {
                    let mut parts =
                        children(left).into_iter().filter(Node::is_named).rev().collect::<Vec<_>>();
                    let Some(first) = parts.pop() else { break };
                    chain.extend(parts);
                    left = first;
                }
                chain.push(left);
                chain.into_iter().rev().try_for_each(|part| self.statement(source, part, around))
            }
            "pipeline" => {
                let parts: Vec<Node<'_>> = children(node).into_iter().filter(Node::is_named).collect();
                let last = parts.len().saturating_sub(1);
                for (at, part) in parts.into_iter().enumerate() {
                    let mut inner = around.clone();
                    if at > 0 {
                        (inner.piped, inner.given) = (true, None);
                    }
                    if at < last {
                        (inner.written, inner.feeds) = (None, true);
                    }
                    self.statement(source, part, &inner)?;
                }
                Ok(())
            }
            "redirected_statement" => self.redirected(source, node, around),
            "command" => self.command(source, &Parts::of(node), around),
            "variable_assignment" => {
                self.substitutions(source, node, around.piped)?;
                self.assigned(source, node)
            }
            "declaration_command" | "unset_command" => self.declared(source, node, around),
            "for_statement" => self.repeated(source, node, around),
            "while_statement" => {
                // A later round sees the values of an earlier one.
                self.statements(source, node, around)?;
                self.statements(source, node, around)
            }
            "case_item" => {
                let mut cursor = node.walk();
                let mut more = cursor.goto_first_child();
                while more {
                    if cursor.field_name() == Some("value") {
                        self.substitutions(source, cursor.node(), around.piped)?;
                    } else if cursor.node().is_named() {
                        self.statement(source, cursor.node(), around)?;
                    }
                    more = cursor.goto_next_sibling();
                }
                Ok(())
            }
            "function_definition" => {
                let name = node.child_by_field_name("name").map_or("", |name| source.of(name));
                let body = node.child_by_field_name("body").ok_or(UNREADABLE)?;
                let function = Function {
                    body: source.of(body).to_owned(),
                    documents: source.documents.clone(),
                    called: false,
                };
                self.functions.insert(name.replace('\\', ""), function);
                Ok(())
            }
            "program"
            | "subshell"
            | "compound_statement"
            | "do_group"
            | "if_statement"
            | "elif_clause"
            | "else_clause"
            | "negated_command"
            | "case_statement"
            | "variable_assignments"
            | "c_style_for_statement" => self.statements(source, node, around),
            "ERROR" => {
                let mut inner = around.clone();
                for child in children(node) {
                    match child.kind() {
                        "|" | "|&" => inner.piped = true,
                        _ if child.is_named() => self.statement(source, child, &inner)?,
                        _ => {}
                    }
                }
                Ok(())
            }
            // The here-documents were removed before.
            "heredoc_redirect" | "herestring_redirect" => Err(UNREADABLE),
            _ => self.substitutions(source, node, around.piped),
        }
    }

    /// Checks the commands in substitutions anywhere below a syntax node.
    pub(super) fn substitutions(&mut self, source: Source<'_>, node: Node<'_>, piped: bool) -> Asked {
        let mut cursor = node.walk();
        let mut depth = 0_usize;
        loop {
            let inner = cursor.node();
            let piped = match inner.kind() {
                "command_substitution" => Some(piped),
                "process_substitution" => Some(source.of(inner).starts_with('>')),
                _ => None,
            };
            // The grammar does not parse these inside `${…}`.
            let text = if inner.kind() == "expansion" { source.of(inner) } else { "" };
            if let Some((_, script)) = text.split_once("<(").or_else(|| text.split_once(">(")) {
                self.nested(script.trim_end_matches('}').trim_end_matches(')'), &Around::default(), false)?;
            }
            if let Some(piped) = piped {
                self.nesting += 1;
                let around = Around { piped, ..Around::default() };
                if self.nesting >= NESTING_MAX {
                    return Err(UNREADABLE);
                }
                let read = self.statements(source, inner, &around);
                self.nesting -= 1;
                read?;
            } else if cursor.goto_first_child() {
                depth += 1;
                continue;
            }
            loop {
                if depth == 0 {
                    return self.step(1);
                }
                if cursor.goto_next_sibling() {
                    break;
                }
                cursor.goto_parent();
                depth -= 1;
            }
        }
    }

    fn redirected(&mut self, source: Source<'_>, node: Node<'_>, around: &Around) -> Asked {
        let mut parts = Parts::default();
        let mut body = None;
        for child in children(node).into_iter().filter(Node::is_named) {
            match child.kind() {
                "command" => parts.add(child),
                "file_redirect" => {
                    parts.redirects.push(child);
                    let files = children(child)
                        .into_iter()
                        .filter(|it| it.is_named() && it.kind() != "file_descriptor");
                    parts.words.extend(files.skip(1));
                }
                "ERROR" => parts.add(child),
                _ => body = Some(child),
            }
        }
        match body {
            Some(body) => {
                let inner = self.redirects(source, &parts.redirects, around)?;
                self.statement(source, body, &inner)
            }
            None => self.command(source, &parts, around),
        }
    }

    /// Returns the pipes and redirections of a command, given its redirection nodes and those around it.
    fn redirects(
        &mut self,
        source: Source<'_>,
        nodes: &[Node<'_>],
        around: &Around,
    ) -> Result<Around, &'static str> {
        let mut inner = around.clone();
        for node in nodes {
            self.substitutions(source, *node, around.piped)?;
            let parts = children(*node);
            let operator = parts.iter().find(|part| !part.is_named()).map_or("", |part| part.kind());
            let descriptor =
                parts.first().filter(|part| part.kind() == "file_descriptor").map(|part| source.of(*part));
            let Some(file) = parts.iter().find(|part| part.is_named() && part.kind() != "file_descriptor")
            else {
                continue;
            };
            let text = self.text_of(source, *file)?;
            match operator {
                "<" if text.starts_with(DOCUMENT) => {
                    inner.given = self.given_by(source, std::slice::from_ref(node))?;
                    inner.piped = false;
                }
                "<" if descriptor.is_none_or(|descriptor| descriptor == "0") => {
                    let known = self.files.get(&text).cloned();
                    inner.piped = text.starts_with("/dev/fd/")
                        || known == Some(None)
                        || (text.starts_with("/dev/stdin") && around.piped);
                    inner.given = known.flatten();
                }
                "<&" => inner.piped |= !matches!(text.as_str(), "0" | "1" | "2"),
                ">" | ">|" | ">>" | "&>" | "&>>" if descriptor.is_none_or(|descriptor| descriptor == "1") => {
                    inner.written = Some(text);
                }
                _ => {}
            }
        }
        Ok(inner)
    }

    /// Returns the text of the last here-document or here-string among redirections; `None` if there is none.
    pub(super) fn given_by(
        &mut self,
        source: Source<'_>,
        redirects: &[Node<'_>],
    ) -> Result<Option<String>, &'static str> {
        let mut given = None;
        for node in redirects.iter().filter(|node| node.kind() == "file_redirect") {
            let files =
                children(*node).into_iter().filter(|it| it.is_named() && it.kind() != "file_descriptor");
            let Some(file) = files.into_iter().next() else { continue };
            if !source.of(file).starts_with(DOCUMENT) {
                continue;
            }
            let number = source.of(file).trim_matches(DOCUMENT).parse::<usize>().ok();
            let document =
                number.filter(|_| source.of(file).ends_with(DOCUMENT) && source.of(file).chars().count() > 2);
            given = Some(match document {
                Some(at) => {
                    let (body, raw) = source.documents.get(at).cloned().ok_or(UNREADABLE)?;
                    if raw || !body.contains(['$', '`', '\\']) { body } else { self.document(&body)? }
                }
                None => self.text_of(source, file)?.trim_start_matches(DOCUMENT).to_owned(),
            });
        }
        Ok(given)
    }

    fn command(&mut self, source: Source<'_>, parts: &Parts<'_>, around: &Around) -> Asked {
        for node in parts.words.iter().chain(&parts.assignments) {
            self.substitutions(source, *node, around.piped)?;
        }
        let mut redirects = parts.redirects.clone();
        redirects.sort_by_key(Node::start_byte);
        let given: Vec<Node<'_>> = parts.words.iter().chain(&redirects).copied().collect();
        for way in self.ways(source, &given) {
            let before = self.names.choose(way);
            let read = self.one_way(source, &parts.words, &redirects, around);
            self.names.choose(before);
            read?;
        }
        for node in &parts.assignments {
            self.assigned(source, *node)?;
        }
        parts.rest.iter().try_for_each(|node| self.statement(source, *node, around))
    }

    fn one_way(
        &mut self,
        source: Source<'_>,
        nodes: &[Node<'_>],
        redirects: &[Node<'_>],
        around: &Around,
    ) -> Asked {
        let inner = self.redirects(source, redirects, around)?;
        let words = self.words(source, nodes)?;
        if !words.is_empty() {
            return self.simple(&words, &inner);
        }
        match inner.written {
            Some(file) => self.writes(&file, None),
            None => Ok(()),
        }
    }

    fn assigned(&mut self, source: Source<'_>, node: Node<'_>) -> Asked {
        let Some(name) = node.child_by_field_name("name") else { return Ok(()) };
        let value = node.child_by_field_name("value");
        let elements = value
            .filter(|value| value.kind() == "array")
            .map(|array| children(array).into_iter().filter(|child| child.is_named()).collect::<Vec<_>>());
        let nodes: Vec<Node<'_>> = elements.clone().unwrap_or_else(|| value.into_iter().collect());
        let subscript = name.kind() == "subscript";
        let bare = if subscript {
            name.child_by_field_name("name").map_or("", |name| source.of(name))
        } else {
            source.of(name)
        };
        let index =
            source.of(name).strip_prefix(bare).unwrap_or_default().trim_matches(['[', ']', '"', '\'']);
        let adds = source.text.get(name.end_byte()..).is_some_and(|rest| rest.starts_with("+="));
        for way in self.ways(source, &nodes) {
            let before = self.names.choose(way);
            let value = if elements.is_some() {
                self.words(source, &nodes).map(|words| words.into_iter().map(|word| word.text).collect())
            } else {
                nodes
                    .first()
                    .map_or(Ok(String::new()), |node| self.text_of(source, *node))
                    .map(|text| vec![text])
            };
            self.names.choose(before);
            let value: Vec<String> = value?;
            self.step(value.iter().map(String::len).sum::<usize>() / super::STEP_LETTERS)?;
            if matches!(bare, "BASH_ENV" | "ENV" | "PROMPT_COMMAND") {
                // A shell runs the file or command by itself.
                self.nested(&format!(". {0}; {0}", value.concat()), &Around::default(), true)?;
            }
            if bare == "IFS" && !subscript {
                self.separators.push_str(&value.concat());
            }
            for element in &value {
                if let Some((key, text)) = element.strip_prefix('[').and_then(|rest| rest.split_once("]=")) {
                    self.names.assign(&format!("{bare}[{key}]"), vec![text.to_owned()]);
                }
            }
            if subscript {
                self.names.assign(&format!("{bare}[{index}]"), value.clone());
                self.names.append(bare, &value, true);
            } else if adds {
                self.names.append(bare, &value, elements.is_some());
            } else {
                self.names.assign(bare, value);
            }
        }
        Ok(())
    }

    /// Records the variables that `export`, `local` and similar builtins set.
    fn declared(&mut self, source: Source<'_>, node: Node<'_>, around: &Around) -> Asked {
        self.substitutions(source, node, around.piped)?;
        let refers = source.of(node).contains(" -n");
        for child in children(node).into_iter().filter(Node::is_named) {
            if child.kind() == "variable_assignment" {
                self.assigned(source, child)?;
                let name = child.child_by_field_name("name").map_or("", |name| source.of(name));
                if refers {
                    self.names.assign(name, vec![HOLE.to_string()]);
                }
                let values = self.names.values(name).iter().map(|value| value.concat()).collect::<Vec<_>>();
                if let Some(found) = values.iter().find_map(|value| sql(&[value])) {
                    return Err(found);
                }
            } else {
                for way in self.ways(source, &[child]) {
                    let before = self.names.choose(way);
                    let words = self.words(source, &[child]);
                    self.names.choose(before);
                    self.declares(&words?);
                }
            }
        }
        Ok(())
    }

    /// Records the variables that words of the form `name=value` set.
    pub(super) fn declares(&mut self, words: &[Word]) {
        for word in words {
            if let Some(assigned) = assignment(&word.text) {
                self.names.assign(assigned.name, vec![assigned.value.to_owned()]);
            }
        }
    }

    fn repeated(&mut self, source: Source<'_>, node: Node<'_>, around: &Around) -> Asked {
        let mut cursor = node.walk();
        let values: Vec<Node<'_>> = node.children_by_field_name("value", &mut cursor).collect();
        let name = node.child_by_field_name("variable").map_or("", |name| source.of(name));
        for value in &values {
            self.substitutions(source, *value, around.piped)?;
        }
        for way in self.ways(source, &values) {
            let before = self.names.choose(way);
            let words = self.words(source, &values);
            self.names.choose(before);
            for word in words? {
                let text = if word.glob {
                    word.text.replace(['*', '?', '['], &PLACE.to_string())
                } else {
                    word.text
                };
                self.names.assign(name, vec![text]);
            }
        }
        if values.is_empty() {
            let given: Vec<String> = self.names.values(ARGUMENTS).iter().flatten().cloned().collect();
            let given = if given.is_empty() { vec![PLACE.to_string()] } else { given };
            given.into_iter().for_each(|value| self.names.assign(name, vec![value]));
        }
        let Some(body) = node.child_by_field_name("body") else { return Ok(()) };
        self.statement(source, body, around)?;
        self.statement(source, body, around)
    }

    /// Checks the bodies of functions that the script defines and never calls.
    pub(super) fn uncalled(&mut self) -> Asked {
        let names: Vec<String> = self.functions.keys().cloned().collect();
        for name in names {
            if self.functions.get(&name).is_some_and(|function| !function.called) {
                self.call(&name, vec![ARGUMENT.to_string()], &Around::default())?;
            }
        }
        Ok(())
    }

    /// Checks the body of a function that is called with these arguments.
    pub(super) fn call(&mut self, name: &str, arguments: Vec<String>, around: &Around) -> Asked {
        let Some(function) = self.functions.get_mut(name) else { return Ok(()) };
        function.called = true;
        let (body, documents) = (function.body.clone(), function.documents.clone());
        let call = (body.clone(), arguments.clone());
        if self.calls.contains(&call) {
            return Ok(());
        }
        self.calls.push(call);
        let outer = self.names.replace(ARGUMENTS, Some(vec![arguments]));
        let choice = self.names.choose(std::collections::BTreeMap::new());
        let read = self.parsed(&body, &documents, around, true);
        self.names.choose(choice);
        self.names.replace(ARGUMENTS, outer);
        self.calls.pop();
        read
    }

    /// Records that a file is written; `None` as text is output that is only known at run time.
    pub(super) fn writes(&mut self, file: &str, text: Option<String>) -> Asked {
        if file.starts_with("/dev/fd/") && text.is_none() {
            return Ok(());
        }
        if self.files.len() > 200 {
            return Err(PIPE);
        }
        self.files.insert(file.trim_start_matches("./").to_owned(), text);
        Ok(())
    }
}
