use super::*;

#[test]
fn each_servers_list_is_read() {
    let vllm = json!({ "object": "list", "data": [{ "id": "Qwen/Qwen3-8B", "max_model_len": 32_768 }, { "object": "x" }] });
    assert_eq!(
        open_ai(&vllm),
        Some(vec![free("Qwen/Qwen3-8B", Some(Tokens(32_768)), None)])
    );

    let studio = json!({ "data": [
        { "id": "a", "type": "llm", "max_context_length": 131_072, "loaded_context_length": 8192, "capabilities": ["tool_use"] },
        { "id": "b", "type": "vlm", "max_context_length": 4096, "capabilities": [] },
        { "id": "c", "type": "llm" },
        { "id": "d", "type": "embeddings" },
    ] });
    assert_eq!(
        lm_studio(&studio),
        Some(vec![
            free("a", Some(Tokens(8192)), Some(vec![Ability::Tools])),
            free("b", Some(Tokens(4096)), Some(vec![Ability::Vision])),
            free("c", None, None),
        ])
    );
}

#[test]
fn llama_cpp_knows_how_its_model_runs() {
    let mut model = free("m", None, None);
    add_props(
        &mut model,
        &json!({
            "default_generation_settings": { "n_ctx": 16_384 }, "modalities": { "vision": false, "audio": false },
            "chat_template_caps": { "supports_tool_calls": true },
        }),
    );
    assert_eq!(model, free("m", Some(Tokens(16_384)), Some(vec![Ability::Tools])));
    // An older one says less.
    let mut model = free("m", None, None);
    add_props(
        &mut model,
        &json!({ "default_generation_settings": { "n_ctx": 0 } }),
    );
    assert_eq!(model, free("m", None, None));
}

#[test]
fn other_answers_are_of_other_servers() {
    for answer in [json!({}), json!([]), json!({ "data": "x" })] {
        assert_eq!(open_ai(&answer), None, "{answer}");
        assert_eq!(lm_studio(&answer), None, "{answer}");
    }
}
