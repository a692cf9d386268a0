//! Makes Markdown of HTML.
//!
//! It works on tags as they come and builds no tree: a page of any depth and any disorder costs time in proportion to
//! its length and no stack. What is not for reading is left out, and where a page says what its main part is, the rest.

#[cfg(test)]
mod tests;
mod writer;

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};
use reqwest::Url;

use self::writer::Writer;

/// A main part with less text than this is not what the page is about.
const MIN_MAIN_CHARS: usize = 200;

/// Whether the addresses of links and pictures are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    Shown,
    LeftOut,
}

/// A page as text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) title: String,
    pub(crate) text: String,
}

/// Never for reading.
const UNSEEN: [&str; 14] = [
    "script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "select", "textarea",
    "datalist", "math", "video", "audio",
];

/// Around what a page is about.
const AROUND: [&str; 3] = ["nav", "footer", "aside"];

/// Makes Markdown of a page. Links are made whole with the page's own address.
pub(crate) fn convert(html: &str, base: Option<&Url>, links: Links) -> Page {
    let page = run(html, base, links, &AROUND);
    if page.text.chars().count() >= MIN_MAIN_CHARS {
        return page;
    }
    // A page that is hardly more than its menu.
    run(html, base, links, &[])
}

fn run(html: &str, base: Option<&Url>, links: Links, around: &[&str]) -> Page {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true); // scripts and styles hold no tags
    let mut reading = Reading {
        writer: Writer::default(),
        title: String::new(),
        in_title: false,
        skipping: None,
        link: None,
        main: None,
        base,
        show: links,
    };
    for token in Tokenizer::new_with_emitter(html, emitter).flatten() {
        match token {
            Token::StartTag(tag) => reading.start(&tag, around),
            Token::EndTag(tag) => reading.end(&String::from_utf8_lossy(&tag.name)),
            Token::String(text) => reading.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    reading.finish()
}

struct Reading<'a> {
    writer: Writer,
    title: String,
    in_title: bool,
    /// An element that is left out, and how many of its name are open.
    skipping: Option<(String, usize)>,
    /// The open link: where it leads, and where its text begins.
    link: Option<(Option<String>, usize)>,
    /// Where the main part begins and, once it is there, ends.
    main: Option<(usize, Option<usize>)>,
    base: Option<&'a Url>,
    show: Links,
}

impl Reading<'_> {
    fn start(&mut self, tag: &StartTag<()>, around: &[&str]) {
        let name = String::from_utf8_lossy(&tag.name);
        let name = name.as_ref();
        if let Some((skipped, open)) = &mut self.skipping {
            *open += usize::from(skipped == name && !tag.self_closing);
            return;
        }
        let attribute = |key: &str| {
            let value = tag.attributes.get(key.as_bytes())?;
            Some(String::from_utf8_lossy(value).trim().to_owned())
        };
        let hidden = attribute("hidden").is_some() || attribute("aria-hidden").as_deref() == Some("true");
        if UNSEEN.contains(&name) || around.contains(&name) || hidden && !is_void(name) {
            if !tag.self_closing || hidden {
                self.skipping = Some((name.to_owned(), 1));
            }
            return;
        }
        match name {
            "title" => self.in_title = self.title.is_empty(),
            "main" if self.main.is_none() => self.main = Some((self.writer.here(), None)),
            "a" => {
                self.end("a"); // one within another is not possible
                let target = attribute("href").and_then(|href| self.whole(&href));
                self.link = Some((target, self.writer.open("[")));
            }
            "img" => self.picture(attribute("alt"), attribute("src")),
            "ol" => {
                let first = attribute("start").and_then(|start| start.parse().ok());
                self.writer.open_list(Some(first.unwrap_or(1)));
            }
            _ => self.writer.start(name),
        }
    }

    fn end(&mut self, name: &str) {
        if let Some((skipped, open)) = &mut self.skipping {
            if skipped == name {
                *open -= 1;
                if *open == 0 {
                    self.skipping = None;
                }
            }
            return;
        }
        match name {
            "title" => self.in_title = false,
            "main" => {
                if let Some((_, end @ None)) = &mut self.main {
                    *end = Some(self.writer.here());
                }
            }
            "a" => {
                if let Some((target, begin)) = self.link.take() {
                    let close = match target.filter(|_| self.show == Links::Shown) {
                        Some(target) => format!("]({target})"),
                        None => String::new(),
                    };
                    self.writer.close(begin, "[", &close);
                }
            }
            _ => self.writer.end(name),
        }
    }

    fn text(&mut self, text: &str) {
        if self.in_title {
            self.title.push_str(text);
        } else if self.skipping.is_none() {
            self.writer.text(text);
        }
    }

    fn picture(&mut self, alt: Option<String>, source: Option<String>) {
        let Some(alt) = alt.filter(|alt| !alt.is_empty()) else {
            return;
        };
        self.writer
            .text(&match source.and_then(|source| self.whole(&source)) {
                Some(source) if self.show == Links::Shown => format!("![{alt}]({source})"),
                _ => format!("[picture: {alt}]"),
            });
    }

    /// The address of a link, if it leads anywhere.
    fn whole(&self, target: &str) -> Option<String> {
        if target.is_empty() || target.starts_with('#') {
            return None;
        }
        let url = match self.base {
            Some(base) => base.join(target).ok()?,
            None => Url::parse(target).ok()?,
        };
        matches!(url.scheme(), "http" | "https" | "mailto").then(|| url.into())
    }

    fn finish(self) -> Page {
        let text = self.writer.finish();
        let main = self
            .main
            .map(|(begin, end)| text.get(begin..end.unwrap_or(text.len())));
        let text = match main.flatten().map(str::trim) {
            Some(main) if main.chars().count() >= MIN_MAIN_CHARS => main.to_owned(),
            Some(_) | None => text.trim().to_owned(),
        };
        Page {
            title: self.title.split_whitespace().collect::<Vec<_>>().join(" "),
            text,
        }
    }
}

/// Elements that have no end.
fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "br"
            | "col"
            | "embed"
            | "hr"
            | "img"
            | "input"
            | "link"
            | "meta"
            | "source"
            | "track"
            | "wbr"
    )
}
