//! Packages of skills and plugins: what is installed, and installing it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::app::App;
use crate::extract::{JsonBody, Name};
use crate::failure::Failure;
use crate::packages::{Existing, Package, PackageError, PackageKind, PackageSource};
use crate::plugins::keeper;
use crate::request::{given, object};
use crate::router::{Access, Route};
use crate::validation::Issue;

pub(crate) fn table() -> Vec<Route> {
    let skills = Paths {
        kind: PackageKind::Skill,
        install: "/api/skills/install",
        installed: "/api/skills/installed",
        one: "/api/skills/installed/{skill_name}",
        refresh: "/api/skills/installed/{skill_name}/refresh",
    };
    let plugins = Paths {
        kind: PackageKind::Plugin,
        install: "/api/plugins/install",
        installed: "/api/plugins/installed",
        one: "/api/plugins/installed/{plugin_name}",
        refresh: "/api/plugins/installed/{plugin_name}/refresh",
    };
    [skills, plugins].iter().flat_map(routes).collect()
}

/// Both kinds have the same routes under other names.
struct Paths {
    kind: PackageKind,
    install: &'static str,
    installed: &'static str,
    one: &'static str,
    refresh: &'static str,
}

fn routes(paths: &Paths) -> Vec<Route> {
    let kind = paths.kind;
    vec![
        Route::post(paths.install, move |State(app), body| install(app, kind, body)),
        Route::get(
            paths.installed,
            Access::Key,
            move |State(app): State<Arc<App>>| std::future::ready(list(&app, kind)),
        ),
        Route::get(
            paths.one,
            Access::Key,
            move |State(app): State<Arc<App>>, Name(name): Name| {
                std::future::ready(installed(&app, kind, &name).map(|package| Json(shown(&package))))
            },
        ),
        Route::patch(
            paths.one,
            move |State(app): State<Arc<App>>, Name(name): Name, body| {
                std::future::ready(enable(&app, kind, &name, &body))
            },
        ),
        Route::delete(paths.one, move |State(app): State<Arc<App>>, Name(name): Name| {
            std::future::ready(uninstall(&app, kind, &name))
        }),
        Route::post(paths.refresh, move |State(app), Name(name): Name| {
            refresh(app, kind, name)
        }),
    ]
}

impl PackageKind {
    /// The word of the contract.
    fn word(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::Plugin => "plugin",
        }
    }
}

fn list(app: &App, kind: PackageKind) -> Json<Value> {
    let packages = app.users.composition.packages();
    let all = packages.map_or_else(Vec::new, |packages| packages.list(kind));
    let all: Vec<_> = all.iter().map(shown).collect();
    Json(json!({ format!("{}s", kind.word()): all }))
}

fn installed(app: &App, kind: PackageKind, name: &str) -> Result<Package, Failure> {
    let packages = app.users.composition.packages();
    let all = packages.map_or_else(Vec::new, |packages| packages.list(kind));
    let found = all.into_iter().find(|package| package.name == name);
    found.ok_or_else(|| failure(PackageError::NotInstalled, kind, name))
}

async fn install(app: Arc<App>, kind: PackageKind, JsonBody(body): JsonBody) -> Result<Json<Value>, Failure> {
    let packages = keeper(&app)?;
    let fields = object(&body)?;
    let from = source_of(&body)?;
    let existing = match given(fields, "force").and_then(Value::as_bool) {
        Some(true) => Existing::Replaced,
        Some(false) | None => Existing::Kept,
    };
    let installed = packages.install(kind, &from, existing).await;
    let installed = installed.map_err(|error| failure(error, kind, &from.source))?;
    Ok(Json(shown(&installed)))
}

/// Where a package is to come from.
pub(super) fn source_of(body: &Value) -> Result<PackageSource, Failure> {
    let fields = object(body)?;
    let text = |name: &str| given(fields, name).and_then(Value::as_str).map(str::to_owned);
    let source = text("source").filter(|source| !source.is_empty());
    Ok(PackageSource {
        source: source.ok_or_else(|| Issue::missing(&["body", "source"], body))?,
        reference: text("ref"),
        repo_path: text("repo_path"),
    })
}

fn enable(app: &App, kind: PackageKind, name: &str, body: &JsonBody) -> Result<Json<Value>, Failure> {
    let found = installed(app, kind, name)?;
    let enabled = object(&body.0)?.get("enabled").and_then(Value::as_bool);
    let enabled = enabled.ok_or_else(|| Issue::missing(&["body", "enabled"], &body.0))?;
    let changed = keeper(app)?.enable(kind, &found.name, enabled);
    changed.map_err(|error| failure(error, kind, name))?;
    Ok(Json(json!({"name": name, "enabled": enabled})))
}

fn uninstall(app: &App, kind: PackageKind, name: &str) -> Result<Json<Value>, Failure> {
    let found = installed(app, kind, name)?;
    let removed = keeper(app)?.uninstall(kind, &found.name);
    removed.map_err(|error| failure(error, kind, name))?;
    Ok(Json(json!({"message": format!("{name} was uninstalled")})))
}

/// The same source once more. Whether agents have it stays as it was.
async fn refresh(app: Arc<App>, kind: PackageKind, name: String) -> Result<Json<Value>, Failure> {
    let found = installed(&app, kind, &name)?;
    let packages = keeper(&app)?;
    let failed = |error| failure(error, kind, &name);
    let mut anew = packages
        .install(kind, &found.from, Existing::Replaced)
        .await
        .map_err(failed)?;
    if !found.enabled {
        packages.enable(kind, &anew.name, false).map_err(failed)?;
        anew.enabled = false;
    }
    Ok(Json(
        json!({"message": format!("{name} is up to date"), kind.word(): shown(&anew)}),
    ))
}

fn failure(error: PackageError, kind: PackageKind, name: &str) -> Failure {
    let (status, sentence) = match error {
        PackageError::NotInstalled => {
            let what = match kind {
                PackageKind::Skill => "Skill",
                PackageKind::Plugin => "Plugin",
            };
            (StatusCode::NOT_FOUND, format!("{what} '{name}' is not installed"))
        }
        PackageError::Exists(sentence) => (StatusCode::CONFLICT, sentence),
        PackageError::Refused(sentence)
        | PackageError::Unreachable(sentence)
        | PackageError::TooSlow(sentence) => (StatusCode::BAD_REQUEST, sentence),
    };
    Failure::new(status, sentence)
}

/// As the contract writes it.
fn shown(package: &Package) -> Value {
    let installed_at = jiff::Timestamp::try_from(package.installed_at).unwrap_or_default();
    json!({
        "name": package.name,
        "version": package.version,
        "description": package.description,
        "enabled": package.enabled,
        "source": package.from.source,
        "resolved_ref": package.resolved_ref,
        "repo_path": package.from.repo_path,
        "installed_at": installed_at.to_string(),
        "install_path": package.install_path,
    })
}
