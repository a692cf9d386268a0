//! One writer a conversation.

use deft_store::{Owner, Store, StoreError};
use deft_types::Seq;

use super::sample::{Sample, create, message};

#[tokio::test]
async fn a_conversation_that_is_written_to_is_refused_with_the_name_of_its_writer() {
    let sample = Sample::new();
    let lease = sample.conversation().await;
    let another = sample.another();
    let refused = another
        .acquire(lease.conversation(), &Owner::this_process())
        .await
        .unwrap_err();
    let StoreError::Busy { pid, ref host, .. } = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(pid, std::process::id());
    assert!(
        refused.to_string().contains(&format!("process {pid} on {host}")),
        "{refused}"
    );

    // Another conversation is another matter.
    let free = create(&another).await;
    drop(another.acquire(free, &Owner::this_process()).await.unwrap());
}

#[tokio::test]
async fn a_lease_given_back_or_dropped_is_free_at_once_and_its_number_is_not_used_again() {
    let sample = Sample::new();
    let first = sample.conversation().await;
    let (id, number) = (first.conversation(), first.fencing());
    sample.store.release(first).await.unwrap();
    let second = sample.store.acquire(id, &Owner::this_process()).await.unwrap();
    assert!(second.fencing() > number);
    let number = second.fencing();
    drop(second);
    let third = sample.store.acquire(id, &Owner::this_process()).await.unwrap();
    assert!(third.fencing() > number);
    assert_eq!(
        sample.store.append(&third, vec![message("a")]).await,
        Ok(Seq(0)..Seq(1))
    );
}

#[tokio::test]
async fn the_writer_that_lost_its_lease_can_write_no_more() {
    for moment in ["0", "9223372036854775807"] {
        let sample = Sample::new();
        let stale = sample.conversation().await;
        let id = stale.conversation();
        sample.store.append(&stale, vec![message("a")]).await.unwrap();
        // As after a long pause, or after the clock was set back.
        sample
            .raw()
            .execute(&format!("UPDATE leases SET expires_at = {moment}"), [])
            .unwrap();

        let another = sample.another();
        let lease = another.acquire(id, &Owner::this_process()).await.unwrap();
        assert!(lease.fencing() > stale.fencing());
        assert_eq!(
            another.append(&lease, vec![message("b")]).await,
            Ok(Seq(1)..Seq(2))
        );
        assert_eq!(
            sample.store.append(&stale, vec![message("c")]).await,
            Err(StoreError::Fenced(id))
        );
        assert_eq!(sample.store.renew(&stale).await, Err(StoreError::Fenced(id)));
        sample.store.release(stale).await.unwrap();
        another.renew(&lease).await.unwrap();
        assert_eq!(
            another.append(&lease, vec![message("d")]).await,
            Ok(Seq(2)..Seq(3))
        );
    }
}

#[tokio::test]
async fn a_late_lease_that_nobody_has_taken_still_writes_and_renewing_prolongs_it() {
    let sample = Sample::new();
    let lease = sample.conversation().await;
    sample
        .raw()
        .execute("UPDATE leases SET expires_at = 0", [])
        .unwrap();
    sample.store.append(&lease, vec![message("a")]).await.unwrap();
    sample.store.renew(&lease).await.unwrap();
    let refused = sample
        .store
        .acquire(lease.conversation(), &Owner::this_process())
        .await;
    assert!(matches!(refused, Err(StoreError::Busy { .. })));
}

#[tokio::test]
async fn the_same_owner_takes_its_own_lease_over() {
    let sample = Sample::new();
    let id = create(&sample.store).await;
    let owner = Owner::this_process();
    let first = sample.store.acquire(id, &owner).await.unwrap();
    let second = sample.store.acquire(id, &owner).await.unwrap();
    assert_eq!(
        sample.store.append(&first, vec![message("a")]).await,
        Err(StoreError::Fenced(id))
    );
    sample.store.append(&second, vec![message("a")]).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lease_renews_itself() {
    let sample = Sample::new();
    let lease = sample.conversation().await;
    sample
        .raw()
        .execute("UPDATE leases SET expires_at = 0", [])
        .unwrap();
    let expires = || -> i64 {
        sample
            .raw()
            .query_row("SELECT expires_at FROM leases", [], |row| row.get(0))
            .unwrap()
    };
    while expires() == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    drop(lease);
}
