use super::*;

fn text(html: &str) -> String {
    convert(html, None, Links::Shown).text
}

#[test]
fn what_people_read_becomes_markdown() {
    for (html, expected) in [
        (
            "<h2>A  b</h2><p>One\n two</p><p>Three</p>",
            "## A b\n\nOne two\n\nThree",
        ),
        ("<p>a <b>bold</b>, <em>it</em>.</p>", "a **bold**, *it*."),
        ("<p>a<b> </b>b</p>", "a b"),
        (
            "<ul><li>x<li>y<ol><li>1st</li><li>2nd</li></ol></ul>z",
            "- x\n- y\n  1. 1st\n  2. 2nd\n\nz",
        ),
        ("<ol start=4><li>x<li>y</ol>", "4. x\n5. y"),
        ("<p>a<br>b</p>", "a\nb"),
        (
            "<pre>fn  main() {\n  x\n}</pre>after",
            "```\nfn  main() {\n  x\n}\n```\n\nafter",
        ),
        ("<pre><code>a *b*</code></pre>", "```\na *b*\n```"),
        ("use <code>x</code> now", "use `x` now"),
        ("<blockquote><p>q</p></blockquote><p>r</p>", "> q\n\nr"),
        (
            "<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td><p>2</p></td></tr></table>",
            "| A | B |\n| --- | --- |\n| 1 | 2 |",
        ),
        ("<a href='https://x.y/z'>go</a>", "[go](https://x.y/z)"),
        ("<a href='https://x.y/z'></a>", ""),
        ("<a href='javascript:x()'>go</a> on", "go on"),
        ("<a href='https://x.y/'><div>a</div><div>b</div></a>", "a\nb"),
        (
            "<img alt='Cat' src='https://x.y/c.png'>",
            "![Cat](https://x.y/c.png)",
        ),
        ("a &amp; b &lt;tag&gt; &eacute;", "a & b <tag> é"),
        ("<script>if (a < b) '</div>'</script><style>p{}</style>x", "x"),
        (
            "<p hidden>no</p><div aria-hidden='true'><div>no</div></div>yes<br hidden>!",
            "yes\n!",
        ),
        ("<textarea>no</textarea><select><option>no</select>yes", "yes"),
        ("</p></b></ul>stray", "stray"),
    ] {
        assert_eq!(text(html), expected, "{html}");
    }
}

#[test]
fn links_are_made_whole_or_left_out() {
    let base = Url::parse("https://site.org/docs/a.html").unwrap();
    let html = "<title> My\n page </title><a href='b.html'>B</a> <a href='#x'>X</a>";
    let page = convert(html, Some(&base), Links::Shown);
    assert_eq!(page.title, "My page");
    assert_eq!(page.text, "[B](https://site.org/docs/b.html) X");
    assert_eq!(convert(html, Some(&base), Links::LeftOut).text, "B X");
}

#[test]
fn the_main_part_is_taken_where_there_is_one() {
    let long = "word ".repeat(100);
    let page = format!("<nav>menu</nav><div>banner</div><main><h1>T</h1>{long}</main><footer>end</footer>");
    assert_eq!(
        text(&page),
        format!("# T{}", format!(" {long}").trim_end()).replace("# T ", "# T\n\n")
    );
    let page = format!("<nav>menu</nav><p>{long}</p><aside>ads</aside>");
    assert_eq!(text(&page), long.trim());
    assert_eq!(text("<nav>only a menu</nav>"), "only a menu");
}

#[test]
fn hostile_pages_cost_no_stack_and_little_time() {
    let begun = std::time::Instant::now();
    for (open, close) in [
        ("<div>x", "</div>"),
        ("<ul><li>x", "</ul>"),
        ("<blockquote>x", "</blockquote>"),
        ("<b>x", "</b>"),
        ("<b>", "</b>"),
        ("<a href=x><div>x", "</div></a>"),
        ("<table><tr><td>x", "</table>"),
        ("<pre>x", "</pre>"),
        ("<p hidden>x", "</p>"),
    ] {
        let page = open.repeat(20_000) + &close.repeat(20_000);
        let text = text(&page);
        assert!(text.len() <= 40 * page.len(), "{open}: {}", text.len());
    }
    assert!(begun.elapsed() < std::time::Duration::from_secs(60));
}
