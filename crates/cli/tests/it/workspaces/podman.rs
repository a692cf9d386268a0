//! Podman, which has the API of Docker: the same workspace on it.

use std::path::Path;

use super::conformance::container_conforms;
use super::{docker, or_skip, podman_server};

#[tokio::test]
async fn a_container_of_podman_conforms_and_is_kept_within_its_limits() {
    let data = Path::new(env!("CARGO_TARGET_TMPDIR")).join("podman");
    let Some(engine) = or_skip(podman_server::start(&data)) else {
        return;
    };
    let podman = docker::tidied(&engine).await;
    container_conforms(&engine).await;
    super::command_line::a_task_runs_in_a_container(&engine).await;
    super::through_server::a_conversation_of_the_server_works_in_a_container(&engine).await;
    super::killed::a_container_goes_on(&engine);
    docker::it_can_do_nothing_but_its_work(&engine).await;
    docker::x3_s2_it_leaves_nothing_that_acts_outside_and_cannot_look_into_the_executor(&engine).await;
    docker::x1_a_link_that_replaces_what_is_kept_does_not_lead_out_of_the_directory(&engine).await;
    docker::it_is_found_paused_and_stopped(&engine).await;
    docker::a_volume_and_a_copied_program_do_as_well(&engine).await;
    docker::orphans_are_collected_by_age(&engine).await;
    assert!(podman.containers("tests").await.unwrap().is_empty());
}
