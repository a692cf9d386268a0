use super::*;

#[test]
fn counts_are_those_of_the_published_tokenizers() {
    // Each as OpenAI's own library counts it: by `o200k_base`, by `cl100k_base`.
    let cases = [
        ("", 0, 0),
        ("Hello, world!", 4, 4),
        ("  two  blanks\n\n\tand a tab  ", 9, 9),
        ("I'm sure they'll've DON'T", 5, 8),
        ("fn main() { println!(\"{}\", 1234567); }\r\n", 12, 12),
        ("Grüße aus Köln — schön", 7, 8),
        ("Привет, мир", 4, 6),
        ("中A文字Bc", 4, 5),
        ("日本語のテキスト", 6, 8),
        ("हिन्दी में", 4, 9),
        ("e\u{301}te\u{301} \u{301} x", 7, 7),
        ("🙂👩‍👩‍👧", 9, 15),
        ("camelCaseWORDSandXMLHttp", 6, 6),
        ("/usr/local/bin//x\n\n", 6, 6),
        ("\n  ", 2, 2),
        ("a\u{a0}b", 3, 3),
        ("'S 'ſ it'ſ", 6, 8),
        ("١٢٣٤٥ Ⅷ ²", 10, 15),
        ("     ", 1, 1),
        ("ǅabc", 3, 3),
    ];
    for (text, newer, older) in cases {
        let counts = (Tokenizer::O200k.count(text), Tokenizer::Cl100k.count(text));
        assert_eq!(counts, (newer, older), "{text:?}");
    }
}

#[test]
fn a_word_of_any_length_is_counted_in_time() {
    let word = "x".repeat(200_000);
    let tokens = Tokenizer::O200k.count(&word);
    assert!((25_000..26_000).contains(&tokens), "{tokens}");
}

#[test]
fn vocabularies_are_whole() {
    assert_eq!((O200K.len(), CL100K.len()), (199_998, 100_256));
    assert_eq!((O200K[&b"!"[..]], CL100K[&b" the"[..]]), (0, 279));
}

#[test]
fn a_name_tells_the_tokenizer() {
    let cases = [
        ("openai/gpt-4o-mini", Some(Tokenizer::O200k)),
        ("openrouter/openai/gpt-4.1", Some(Tokenizer::O200k)),
        ("openai/gpt-4-turbo", Some(Tokenizer::Cl100k)),
        ("azure/gpt-35-turbo", Some(Tokenizer::Cl100k)),
        ("openai/o3-mini", Some(Tokenizer::O200k)),
        ("ollama/gpt-oss:20b", Some(Tokenizer::O200k)),
        ("anthropic/claude-sonnet-4-5", None),
        ("vllm/EleutherAI/gpt-neox-20b", None),
    ];
    for (name, tokenizer) in cases {
        assert_eq!(Tokenizer::of_model(name), tokenizer, "{name}");
    }
}
