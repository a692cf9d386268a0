//! The messages of a request, which may be very many.

use std::ops::Deref;
use std::sync::Arc;

use deft_types::Message;

/// Messages, oldest first. Cloning shares them: each request of a conversation is the one before and a little more.
/// Whoever changes them while another has them gets his own list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Messages(Arc<Vec<Arc<Message>>>);

impl Messages {
    /// Appends one.
    pub fn push(&mut self, message: Arc<Message>) {
        self.list().push(message);
    }

    /// The list, to be changed.
    pub fn list(&mut self) -> &mut Vec<Arc<Message>> {
        Arc::make_mut(&mut self.0)
    }
}

impl Deref for Messages {
    type Target = [Arc<Message>];

    fn deref(&self) -> &[Arc<Message>] {
        &self.0
    }
}

impl<'a> IntoIterator for &'a Messages {
    type Item = &'a Arc<Message>;
    type IntoIter = std::slice::Iter<'a, Arc<Message>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl FromIterator<Arc<Message>> for Messages {
    fn from_iter<I: IntoIterator<Item = Arc<Message>>>(messages: I) -> Self {
        Self(Arc::new(messages.into_iter().collect()))
    }
}

impl From<Vec<Arc<Message>>> for Messages {
    fn from(messages: Vec<Arc<Message>>) -> Self {
        Self(Arc::new(messages))
    }
}
