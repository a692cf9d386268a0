//! The languages, and the servers that know them.

use std::path::{Path, PathBuf};

/// A language, or a family that one server knows.
#[derive(Debug)]
pub(crate) struct Language {
    pub(crate) name: &'static str,
    /// What files' names end in, and what the protocol calls them.
    extensions: &'static [(&'static str, &'static str)],
    /// What the root of a project has in it.
    roots: &'static [&'static str],
    /// Servers, the best first.
    pub(crate) commands: &'static [&'static [&'static str]],
    /// What the servers are told at first, as JSON.
    pub(crate) options: Option<&'static str>,
}

const LANGUAGES: &[Language] = &[
    Language {
        name: "Rust",
        extensions: &[("rs", "rust")],
        roots: &["Cargo.toml", "rust-project.json"],
        commands: &[&["rust-analyzer"]],
        options: None,
    },
    Language {
        name: "Python",
        extensions: &[("py", "python"), ("pyi", "python")],
        roots: &[
            "pyproject.toml",
            "pyrightconfig.json",
            "setup.py",
            "setup.cfg",
            "requirements.txt",
        ],
        commands: &[
            &["basedpyright-langserver", "--stdio"],
            &["pyright-langserver", "--stdio"],
            &["pylsp"],
        ],
        options: None,
    },
    Language {
        name: "TypeScript and JavaScript",
        extensions: &[
            ("ts", "typescript"),
            ("mts", "typescript"),
            ("cts", "typescript"),
            ("tsx", "typescriptreact"),
            ("js", "javascript"),
            ("mjs", "javascript"),
            ("cjs", "javascript"),
            ("jsx", "javascriptreact"),
        ],
        roots: &["tsconfig.json", "jsconfig.json", "package.json"],
        commands: &[&["typescript-language-server", "--stdio"]],
        // Without it, it answers before it knows of other files.
        options: Some(r#"{"tsserver": {"useSyntaxServer": "never"}}"#),
    },
    Language {
        name: "Go",
        extensions: &[("go", "go")],
        roots: &["go.work", "go.mod"],
        commands: &[&["gopls"]],
        options: None,
    },
    Language {
        name: "C and C++",
        extensions: &[
            ("c", "c"),
            ("h", "c"),
            ("cc", "cpp"),
            ("cpp", "cpp"),
            ("cxx", "cpp"),
            ("hh", "cpp"),
            ("hpp", "cpp"),
        ],
        roots: &["compile_commands.json", "compile_flags.txt", ".clangd"],
        commands: &[&["clangd", "--background-index=false"]],
        options: None,
    },
];

impl Language {
    /// The language of a file.
    pub(crate) fn of(path: &Path) -> Option<&'static Self> {
        LANGUAGES.iter().find(|language| language.id(path).is_some())
    }

    /// What the protocol calls the language of a file.
    pub(crate) fn id(&self, path: &Path) -> Option<&'static str> {
        let extension = path.extension()?.to_str()?;
        let found = self.extensions.iter().find(|(known, _)| *known == extension);
        found.map(|(_, id)| *id)
    }

    /// The project of a file: the nearest directory that looks like the root of one, within the workspace.
    pub(crate) fn root(&self, path: &Path, workspace: &Path) -> PathBuf {
        path.ancestors()
            .skip(1)
            .take_while(|directory| directory.starts_with(workspace))
            .find(|directory| self.roots.iter().any(|name| directory.join(name).exists()))
            .unwrap_or(workspace)
            .to_owned()
    }

    /// What to install.
    pub(crate) fn programs(&self) -> String {
        let names: Vec<_> = self
            .commands
            .iter()
            .filter_map(|argv| argv.first().copied())
            .collect();
        names.join(" or ")
    }
}
