//! Reads commands out of the tree that tree-sitter makes of a script.

use std::ops::Range;

use tree_sitter::Node;

use super::{MAX_INPUT, Origin, Reader, Redirect, Simple, Word};

/// What stands around a command.
#[derive(Clone, Default)]
pub(super) struct Around {
    pub(super) input: Vec<usize>,
    redirects: Vec<Redirect>,
    fed: Vec<Word>,
}

impl Reader<'_> {
    /// What stands around the whole text that is being read.
    pub(super) fn around_all(&self) -> Around {
        Around {
            input: self.input.clone(),
            ..Around::default()
        }
    }

    /// Adds the commands of a node, and says which they are.
    pub(super) fn visit(&mut self, node: Node<'_>, text: &str, around: &Around) -> Range<usize> {
        let start = self.script.commands.len();
        self.nested(|reader| reader.visit_kind(node, text, around));
        start..self.script.commands.len()
    }

    fn visit_kind(&mut self, node: Node<'_>, text: &str, around: &Around) {
        match node.kind() {
            "command" | "declaration_command" | "unset_command" | "variable_assignment" => {
                self.command(node, text, around);
            }
            "redirected_statement" => self.redirected(node, text, around),
            "list" => {
                for part in links(node) {
                    self.visit(part, text, around);
                }
            }
            "subshell" => self.apart(|reader| reader.children(node, text, around)),
            "pipeline" => self.apart(|reader| reader.pipeline(node, text, around)),
            "function_definition" => self.function(node, text, around),
            "for_statement" => {
                if let Some(name) = node.child_by_field_name("variable") {
                    let value = Word {
                        origin: Origin::Open,
                        ..Word::default()
                    };
                    self.variables.insert(source(name, text).to_owned(), value);
                }
                self.children(node, text, around);
            }
            "comment" | "heredoc_body" | "heredoc_start" | "heredoc_end" => {}
            _ if is_word(node) => {
                self.words(source(node, text)); // for the commands in it
            }
            _ => self.children(node, text, around),
        }
    }

    fn children(&mut self, node: Node<'_>, text: &str, around: &Around) {
        for child in named(node) {
            self.visit(child, text, around);
        }
    }

    fn command(&mut self, node: Node<'_>, text: &str, around: &Around) {
        let mut command = Simple {
            input: around.input.clone(),
            redirects: around.redirects.clone(),
            fed: around.fed.clone(),
            ..Simple::default()
        };
        if matches!(node.kind(), "declaration_command" | "unset_command") {
            let verb = source(node, text).split_whitespace().next().unwrap_or_default();
            command.words.push(Word::from(verb.to_owned()));
        }
        let parts = if node.kind() == "variable_assignment" {
            vec![node]
        } else {
            named(node)
        };
        for part in parts {
            match part.kind() {
                "variable_assignment" => self.assignment(part, text, &mut command),
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {
                    let mut here = Around::default();
                    self.redirect(part, text, &mut here);
                    command.redirects.extend(here.redirects);
                    command.fed.extend(here.fed);
                }
                "comment" => {}
                _ => command.words.extend(self.words(source(part, text))),
            }
        }
        self.add(command);
    }

    fn assignment(&mut self, node: Node<'_>, text: &str, command: &mut Simple) {
        let (name, raw) = source(node, text).split_once('=').unwrap_or_default();
        let mut value = self.value(raw);
        if raw.starts_with('(') || name.ends_with(['+', ']']) {
            value.origin = value.origin.max(Origin::Open);
        }
        let name = name.trim_end_matches('+').to_owned();
        self.assign(&name, value.clone());
        command.assignments.push((name, value));
    }

    fn redirected(&mut self, node: Node<'_>, text: &str, around: &Around) {
        let mut here = around.clone();
        let parts = named(node);
        let is_redirect = |part: &Node<'_>| part.kind().ends_with("_redirect");
        for part in parts.iter().filter(|part| is_redirect(part)) {
            self.redirect(*part, text, &mut here);
        }
        let start = self.script.commands.len();
        let mut has_body = false;
        for part in parts.iter().filter(|part| !is_redirect(part)) {
            has_body = true;
            // Of `a && b > c` the grammar takes the redirection for that of both.
            let mut parts = if part.kind() == "list" {
                links(*part)
            } else {
                vec![*part]
            };
            let last = parts.pop();
            for earlier in parts {
                self.visit(earlier, text, around);
            }
            if let Some(last) = last {
                self.visit(last, text, &here);
            }
        }
        if !has_body {
            self.add(Simple {
                redirects: here.redirects,
                ..Simple::default()
            });
        }
        let body: Vec<usize> = (start..self.script.commands.len()).collect();
        // The grammar puts what follows `<<END` on its line into the redirection.
        for part in parts.iter().filter(|part| part.kind() == "heredoc_redirect") {
            for follower in named(*part)
                .into_iter()
                .filter(|child| !child.kind().starts_with("heredoc_"))
            {
                let input = if follower.kind() == "pipeline" {
                    body.clone()
                } else {
                    Vec::new()
                };
                if !is_redirect(&follower) && !is_word(follower) {
                    self.visit(
                        follower,
                        text,
                        &Around {
                            input,
                            ..Around::default()
                        },
                    );
                }
            }
        }
    }

    fn redirect(&mut self, node: Node<'_>, text: &str, here: &mut Around) {
        match node.kind() {
            "heredoc_redirect" => {
                let raw_start = named(node)
                    .into_iter()
                    .find(|child| child.kind() == "heredoc_start")
                    .map_or("", |start| source(start, text));
                for child in named(node) {
                    match child.kind() {
                        "heredoc_body" if raw_start.contains(['\'', '"', '\\']) => {
                            here.fed.push(Word::from(source(child, text).to_owned()));
                        }
                        "heredoc_body" => {
                            let body = self.quoted(source(child, text));
                            here.fed.push(body);
                        }
                        kind if kind.ends_with("_redirect") => self.redirect(child, text, here),
                        _ => {}
                    }
                }
            }
            "herestring_redirect" => {
                let fed = self.value(source(node, text).trim_start_matches('<'));
                here.fed.push(fed);
            }
            _ => {
                let Some(target) = node.child_by_field_name("destination") else {
                    return;
                };
                let operator = &text[node.start_byte()..target.start_byte()];
                let target = self.value(source(target, text));
                if operator.contains('&')
                    && target
                        .text
                        .chars()
                        .all(|char| char.is_ascii_digit() || char == '-')
                {
                    return; // one stream joined to another
                }
                let writes = operator.contains('>');
                here.redirects.push(Redirect { writes, target });
            }
        }
    }

    fn pipeline(&mut self, node: Node<'_>, text: &str, around: &Around) {
        let mut here = around.clone();
        for stage in named(node) {
            let added = self.visit(stage, text, &here);
            here.input.extend(added);
            here.input.truncate(MAX_INPUT + 1); // one too many is told
            here.fed.clear();
        }
    }

    fn function(&mut self, node: Node<'_>, text: &str, around: &Around) {
        let name = node
            .child_by_field_name("name")
            .map_or("", |name| source(name, text));
        if let Some(body) = node.child_by_field_name("body") {
            let range = self.visit(body, text, around);
            let calls = self.script.commands[range]
                .iter()
                .filter(|command| command.verb() == name);
            self.script.fork_bomb |= calls.count() > 1 && source(body, text).contains('&');
        }
    }
}

/// The parts of `a && b && c`, which the grammar nests to the left, however many there are.
fn links(node: Node<'_>) -> Vec<Node<'_>> {
    let mut parts = Vec::new();
    let mut at = node;
    loop {
        let mut children = named(at);
        children.reverse();
        match children.pop() {
            Some(first) if first.kind() == "list" => {
                parts.extend(children);
                at = first;
            }
            first => {
                parts.extend(children.into_iter().chain(first));
                parts.reverse();
                return parts;
            }
        }
    }
}

/// Kinds of nodes that are words, wherever they stand.
fn is_word(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "word"
            | "string"
            | "raw_string"
            | "ansi_c_string"
            | "concatenation"
            | "expansion"
            | "simple_expansion"
            | "command_substitution"
            | "process_substitution"
            | "arithmetic_expansion"
            | "array"
    )
}

fn named(node: Node<'_>) -> Vec<Node<'_>> {
    node.named_children(&mut node.walk()).collect()
}

fn source<'t>(node: Node<'_>, text: &'t str) -> &'t str {
    text.get(node.byte_range()).unwrap_or_default()
}
