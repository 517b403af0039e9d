//! From bytes to messages and back: the generated codec behind the guard, hand-written ones on the hot paths.

use bytes::{Bytes, BytesMut};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};

use super::handler::{Disconnect, Outcome, Request, Response};

/// Decodes the body of `request` with the generated decoder. The connection has checked the body with the guard before the
/// handler was called. Strings and bytes of the message are slices that keep the whole frame alive: copy what is kept.
pub fn decode<M: Decodable>(request: &Request) -> Result<M, Disconnect> {
    decode_body(request.body.clone(), request.version)
}

/// As [`decode`], for a body that is at hand.
pub fn decode_body<M: Decodable>(mut body: Bytes, version: i16) -> Result<M, Disconnect> {
    M::decode(&mut body, version).map_err(|error| Disconnect(format!("malformed body: {error:#}")))
}

/// Encodes `message` into one buffer of exactly its size. An error means that the handler set a field that `version` does not
/// have: a fault of ours, answered by closing the connection.
pub fn encode<M: Encodable>(message: &M, version: i16) -> Result<Response, Disconnect> {
    let unencodable =
        |error| Disconnect(format!("{} v{version} cannot be encoded: {error:#}", type_name::<M>()));
    let mut buffer = BytesMut::with_capacity(message.compute_size(version).map_err(unencodable)?);
    message.encode(&mut buffer, version).map_err(unencodable)?;
    Ok(Response::from(buffer))
}

/// [`encode`] as the outcome of a handler whose answer is ready.
pub fn reply<M: Encodable>(message: &M, version: i16) -> Outcome {
    match encode(message, version) {
        Ok(response) => Outcome::Ready(response),
        Err(disconnect) => Outcome::Close(disconnect),
    }
}

/// A protocol string with a copy of `text`.
pub fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn type_name<M>() -> &'static str {
    let name = std::any::type_name::<M>();
    name.rsplit("::").next().unwrap_or(name)
}
