//! What can go wrong for a client, in words for people.

use std::io;
use std::time::Duration;

use crate::kafka::ErrorCode;

/// Why a call of the client failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No connection could be made.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// As given.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// The connection broke.
    #[error("the connection to {address} broke: {source}")]
    Io {
        /// As given.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// The broker closed the connection, which is how it answers requests that it cannot read.
    #[error("{address} closed the connection")]
    Closed {
        /// As given.
        address: String,
    },
    /// No answer in time.
    #[error("no answer from {address} within {} s", .after.as_secs_f32())]
    Timeout {
        /// As given.
        address: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// What came back is no answer to what was asked.
    #[error("{address} does not speak Kafka's protocol as expected: {what}")]
    Malformed {
        /// As given.
        address: String,
        /// What is wrong.
        what: String,
    },
    /// The broker does not serve what is needed.
    #[error("the broker does not serve {api} in a version known here")]
    Unsupported {
        /// The API.
        api: &'static str,
    },
    /// The broker refused.
    #[error("{what}: {}", .message.as_deref().unwrap_or(.code.text()))]
    Broker {
        /// What was refused, such as `topic orders`.
        what: String,
        /// Its error.
        code: ErrorCode,
        /// Its words, where the response has room for some.
        message: Option<String>,
    },
}

impl ClientError {
    /// The broker's error code, if it was the broker that refused.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Broker { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// `Ok` for the code 0, else an error about `what`.
    pub(super) fn check(
        number: i16,
        message: Option<&str>,
        what: impl FnOnce() -> String,
    ) -> Result<(), Self> {
        // A code newer than this list is still an error, and its number the best that can be said.
        let code = ErrorCode::from_number(number);
        match code {
            Some(ErrorCode::None) => Ok(()),
            Some(code) => {
                let message = message.filter(|text| !text.is_empty()).map(str::to_owned);
                Err(Self::Broker { what: what(), code, message })
            }
            None => Err(Self::Broker {
                what: what(),
                code: ErrorCode::UnknownServerError,
                message: Some(format!("error code {number}")),
            }),
        }
    }
}
