//! Names that groups and transactions are known by.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Copies `text`: names out of a request must not keep its frame alive.
            pub fn new(text: &str) -> Self {
                Self(text.into())
            }

            /// As text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}

name!(
    /// Name of a group, `group.id` of its members. Cheap to clone.
    GroupId
);
name!(
    /// Name of a member within its group, made by the coordinator or, in the new protocol, by the member. Cheap to clone.
    MemberId
);
name!(
    /// Name that a static member keeps across restarts, `group.instance.id` (KIP-345). Cheap to clone.
    InstanceId
);

name!(
    /// Name of a transactional producer that it keeps across restarts, `transactional.id` (KIP-98). Cheap to clone.
    TransactionalId
);
