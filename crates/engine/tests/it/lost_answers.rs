//! A store that does what it is told, while nobody learns of it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use deft_engine::{Conversation, load};
use deft_types::ConfirmationPolicy;
use serde_json::Value;

use crate::hostile::{ID, parts_on, simulated};
use crate::simulation::log::Logs;
use crate::simulation::scene::Scene;

#[test]
fn what_a_store_did_unheard_counts_once_it_answers_also_where_a_run_was_wanted_meanwhile() {
    simulated(async {
        let (scene, logs) = (Arc::new(Scene::new(0)), Arc::new(Logs::default()));
        logs.create(ID, Value::Null).unwrap();
        let parts = parts_on(scene.clone(), logs).await;
        let store = parts.store.clone();
        let conversation = Conversation::open(parts).await.unwrap();
        crate::desk::say(&conversation, "do it").await;

        scene.deaf.store(true, Ordering::Relaxed);
        let policy = ConfirmationPolicy::AlwaysConfirm;
        conversation.set_policy(policy.clone()).await.unwrap_err();
        conversation.run().await.unwrap_err();
        scene.deaf.store(false, Ordering::Relaxed);

        conversation.label(Some("later".to_owned()), None).await.unwrap();
        let state = conversation.inspect().await.unwrap();
        assert_eq!(state.policy, Some(policy));
        assert_eq!(state, load(store.as_ref(), ID).await.unwrap());
    });
}
