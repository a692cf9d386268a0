//! Asks at the terminal for hosts that programs of the workspace wait for.

use std::io::{BufRead, IsTerminal, stderr, stdin};
use std::time::{Duration, Instant};

use deft_engine::{Attendant, Conversation, HOST_QUESTIONS, HostAnswer};
use deft_types::{Event, EventBody};
use deft_workspace::egress::AskedHost;
use serde::Deserialize;
use tokio::sync::mpsc;

use crate::output::one_line;
use crate::screen::Format;

/// Lines that were typed and wait to be understood.
const BACKLOG: usize = 16;
/// How long it takes to see that another question is asked.
const READING_TIME: Duration = Duration::from_secs(1);

/// Somebody at a terminal who is asked.
pub(crate) struct HostPrompt<'a> {
    conversation: &'a Conversation,
    _attendant: Attendant,
    open: Vec<AskedHost>,
    is_unanswered: bool,
    /// When a question took the place of one that was not answered.
    changed: Option<Instant>,
    /// What is typed, from the first question on: nobody else is deprived of it.
    typed: Option<mpsc::Receiver<String>>,
}

impl<'a> HostPrompt<'a> {
    /// None where nobody could read the question or answer it.
    pub(crate) fn of_person(conversation: &'a Conversation, format: Format) -> Option<Self> {
        let is_there = format == Format::Human && stdin().is_terminal() && stderr().is_terminal();
        is_there.then(|| Self {
            conversation,
            _attendant: conversation.attend(),
            open: Vec::new(),
            is_unanswered: false,
            changed: None,
            typed: None,
        })
    }

    /// Asks what an event says is to be asked.
    pub(crate) fn saw(&mut self, event: &Event) {
        let EventBody::StateUpdate(update) = &event.body else {
            return;
        };
        if update.key != HOST_QUESTIONS {
            return;
        }
        let before = self.open.first().cloned();
        self.open = Vec::deserialize(&update.value).unwrap_or_default();
        if self.open.first() != before.as_ref() {
            let changed = Instant::now();
            self.changed = self.is_unanswered.then_some(changed);
            self.ask();
        }
    }

    #[allow(clippy::print_stderr)] // this is the command line
    fn ask(&mut self) {
        if let Some(asked) = self.open.first() {
            anstream::eprintln!(
                "\nA program wants to reach {}. Allow it: o (once), c (in this conversation), p (in this project), or d \
                 (deny)? Then press Enter.",
                one_line(&asked.to_string())
            );
            self.is_unanswered = true;
            self.typed.get_or_insert_with(read_lines);
        }
    }

    /// Waits for a line to be typed, for ever where nothing is asked.
    pub(crate) async fn typed(&mut self) -> String {
        let line = match &mut self.typed {
            Some(typed) => typed.recv().await,
            None => None,
        };
        match line {
            Some(line) => line,
            None => std::future::pending().await,
        }
    }

    /// Answers the first question by what was typed.
    pub(crate) async fn answer(&mut self, line: &str) {
        let Some(asked) = self.open.first().cloned() else {
            return;
        };
        let answer = match line.trim().to_lowercase().as_str() {
            "o" | "once" => HostAnswer::Once,
            "c" | "conversation" => HostAnswer::Conversation,
            "p" | "project" => HostAnswer::Project,
            "d" | "deny" => HostAnswer::Deny,
            _ => return self.ask(),
        };
        // What is typed just when one question takes the place of another may have been meant for that one.
        if self
            .changed
            .is_some_and(|changed| changed.elapsed() < READING_TIME)
        {
            return self.ask();
        }
        self.is_unanswered = false;
        // One that was withdrawn meanwhile needs no answer.
        let _ = self.conversation.answer_host(asked, answer).await;
    }
}

/// Reads what is typed, in a thread that ends with the process: nothing else can end it.
fn read_lines() -> mpsc::Receiver<String> {
    let (lines, typed) = mpsc::channel(BACKLOG);
    std::thread::spawn(move || {
        for line in stdin().lock().lines().map_while(Result::ok) {
            if lines.blocking_send(line).is_err() {
                return;
            }
        }
    });
    typed
}
