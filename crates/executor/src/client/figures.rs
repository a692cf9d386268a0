//! How much a workspace uses, as a client asks for it.

use super::Client;
use crate::figures::Figures;
use crate::request_error::RequestError;
use crate::work::Work;

impl Client {
    /// What the programs of the workspace use now.
    pub async fn figures(&self) -> Result<Figures, RequestError> {
        self.ask(Work::Figures).await
    }

    /// Lets what commands have left running sleep until somebody asks for anything; gives whether it does. While a call
    /// runs it does not.
    pub async fn sleep(&self) -> Result<bool, RequestError> {
        self.ask(Work::Sleep).await
    }
}
