//! Links of a person's identities on several networks.

use serde::{Deserialize, Serialize};

use crate::id::NetworkName;

/// The link of a person's Discord user and account with a network's services, made by `link`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tie {
    /// Id of the Discord user.
    pub user: String,
    /// The network of the services account.
    pub network: NetworkName,
    /// Name of the services account.
    pub account: String,
}

impl Tie {
    /// Returns true if the link is with this services account. Services compare names without case.
    #[must_use]
    pub fn is_of(&self, network: &NetworkName, account: &str) -> bool {
        self.network == *network && self.account.eq_ignore_ascii_case(account)
    }
}
