//! Placeholder.
pub fn become_subreaper() -> std::io::Result<()> {
    Ok(())
}
pub fn kill_descendants_of() {}
